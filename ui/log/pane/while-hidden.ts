// When does a view of output stop reading because nobody can see it?
import { isVisible } from "../../store/clock.ts";

/** A hidden page stops reading after this time (ui.md#d13). */
const HIDDEN_MS = 60_000;

/** Pauses a pane once the page has been hidden for a minute. Returns what ends this. */
export function whileHidden(pane: { pause(): void; unpause(): void }): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = isVisible.subscribe((visible) => {
    clearTimeout(timer);
    if (visible) pane.unpause();
    else timer = setTimeout(() => pane.pause(), HIDDEN_MS);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
