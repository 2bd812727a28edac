// How does something get to the clipboard? By a button that says what it has copied.
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

const SAID_MS = 2_000;

/** A button that copies a text. */
export function Copy({ text, label }: { text: string; label: string }) {
  const said = useMemo(() => signal(label), [label]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "Copied";
    } catch {
      // Without a secure context, or if the reader forbids it.
      said.value = "Not allowed: select the text";
    }
    setTimeout(() => {
      said.value = label;
    }, SAID_MS);
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      {said}
    </button>
  );
}

/** A command to copy, shown as it is or, if it is very long, by a part of it. */
export function Command({ text, shown = text, label }: { text: string; shown?: string; label: string }) {
  return (
    <div class="command">
      <code>{shown}</code>
      <Copy text={text} label={label} />
    </div>
  );
}
