// How is a secret shown that Drover shows once? Until the reader puts it away, or goes elsewhere.
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { place } from "../router/place.ts";
import { Copy } from "./copy.tsx";

/** What is shown: what it is, and its text. */
export interface Shown {
  what: string;
  text: string;
}

/** Something to show once. It is in memory alone, and forgotten with the address (ui.md#forms). */
export function useOnce(): Signal<Shown | undefined> {
  const once = useMemo(() => signal<Shown | undefined>(undefined), []);
  const { path, query } = place.value;
  const at = `${path}?${query}`;
  useEffect(
    () => () => {
      once.value = undefined;
    },
    [at],
  );
  return once;
}

/** The place for it. */
export function Once({ once }: { once: Signal<Shown | undefined> }) {
  const box = useRef<HTMLElement>(null);
  const shown = once.value;
  useEffect(() => {
    if (shown !== undefined) box.current?.focus();
  }, [shown]);
  if (shown === undefined) return null;
  return (
    <section ref={box} class="once" aria-label={shown.what} tabIndex={-1}>
      <p>{shown.what}. Nothing shows it again: copy it now.</p>
      <div class="command">
        <code>{shown.text}</code>
        <Copy text={shown.text} label="Copy" />
        <button
          type="button"
          class="small"
          onClick={() => {
            once.value = undefined;
          }}
        >
          I have it
        </button>
      </div>
    </section>
  );
}
