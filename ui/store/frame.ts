// When do changes that arrive become visible? Once per frame, however many there are (ui.md#d14).
import { batch } from "@preact/signals";

const waiting: (() => void)[] = [];
let isAsked = false;
let fallback: ReturnType<typeof setTimeout> | undefined;

/** A hidden page has no frames, and must not collect changes without end. */
const HIDDEN_MS = 1_000;

/** Applies a change with all others of this frame: what they lead to is drawn once. */
export function onFrame(change: () => void): void {
  waiting.push(change);
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(apply);
  fallback = setTimeout(apply, HIDDEN_MS);
}

/** Changes are the first pass, and what they lead to is drawn in the second one. */
const PASSES = 2;

function apply(): void {
  if (!isAsked) return;
  clearTimeout(fallback);
  try {
    for (let pass = 0; pass < PASSES; pass += 1) {
      const changes = waiting.splice(0);
      batch(() => {
        for (const change of changes) change();
      });
    }
  } finally {
    // A fault in one frame must not stop the others.
    isAsked = false;
    for (const change of waiting.splice(0)) onFrame(change);
  }
}
