// The way through the list from which a run was opened (ui.md#d15).
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { wordsOf } from "../../parts/problem.tsx";
import { go } from "../../router/place.ts";
import { listQuery, runHref } from "../runs/in-list.ts";
import type { Step } from "./neighbors.ts";

const STEPS: readonly { step: Step; word: string }[] = [
  { step: "before", word: "Newer" },
  { step: "next", word: "Older" },
  { step: "failed", word: "Next failed" },
];

/** Back to the list, and on to other runs of it. */
export function InList({ id }: { id: string }) {
  const said = useMemo(() => signal(""), []);
  const ending = useMemo(() => new AbortController(), []);
  useEffect(() => () => ending.abort(), [ending]);
  const list = listQuery();
  const move = async (step: Step) => {
    said.value = "";
    try {
      const { neighborOf } = await import("./neighbors.ts");
      const found = await neighborOf(id, step, list, ending.signal);
      if (ending.signal.aborted) return;
      if (typeof found === "string") said.value = found;
      else go(runHref(found.id, found.list));
    } catch (error) {
      if (!ending.signal.aborted) said.value = wordsOf(error).what;
    }
  };
  return (
    <nav class="pages" aria-label="Runs of the list">
      <a href={list.size === 0 ? "/ui/runs" : `/ui/runs?${list}`}>List of runs</a>
      {STEPS.map(({ step, word }) => (
        <button key={step} type="button" class="small" data-step={step} onClick={() => void move(step)}>
          {word}
        </button>
      ))}
      <span role="status">{said}</span>
    </nav>
  );
}
