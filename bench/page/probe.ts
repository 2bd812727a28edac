// What does the browser say of itself? A script that watches the page from its first moment.
import type { Page } from "playwright-core";

/** What the probe has seen since it was asked last. */
export interface Seen {
  /** From each key or click to the frame that shows its effect, in ms; shorter than 16: not reported. */
  interactions: number[];
  /** Tasks of over 50 ms, in ms. */
  longTasks: number[];
  /** The time between two frames, in ms. */
  frames: number[];
  /** How often rows of tables were changed, for each frame in which they were. */
  draws: number[];
}

/** Put it into the page before its own scripts (`addInitScript`). */
export const PROBE = `(() => {
  const empty = () => ({ interactions: [], longTasks: [], frames: [], draws: [] });
  let seen = empty();
  const watch = (type, options, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, ...options });
  watch("event", { durationThreshold: 16 }, ({ interactionId, duration }) => {
    if (interactionId > 0) seen.interactions.push(duration);
  });
  watch("longtask", {}, ({ duration }) => seen.longTasks.push(duration));
  let last = performance.now();
  let draws = 0;
  const onFrame = (at) => {
    seen.frames.push(at - last);
    last = at;
    if (draws > 0) seen.draws.push(draws);
    draws = 0;
    requestAnimationFrame(onFrame);
  };
  requestAnimationFrame(onFrame);
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => (target.parentElement ?? target).closest?.("tbody"))) draws += 1;
  }).observe(document, { subtree: true, childList: true, characterData: true });
  window.takeSeen = () => {
    const taken = seen;
    seen = empty();
    return taken;
  };
})()`;

/** What the probe has seen since the last call. */
export async function takeSeen(page: Page): Promise<Seen> {
  return await page.evaluate<Seen>("takeSeen()");
}
