// What does the browser say of itself? A script that watches the page from its first moment.
import type { Page } from "playwright-core";

/** Something that took time: when it began on the page's clock, and how long it took, both in ms. */
export interface Took {
  at: number;
  ms: number;
}

/** What the probe has seen since it was asked last. */
export interface Seen {
  /** The page's clock, in ms. */
  now: number;
  /**
   * From each key or click to the next paint. Each stands here once as the page measures it, up to the end
   * of the work for the frame that follows, and again as the browser reports it, up to when the frame is
   * shown. A report may come late, and an interaction of less than 16 ms has none.
   */
  interactions: Took[];
  /** Tasks of over 50 ms. */
  longTasks: Took[];
  /** The time between two frames. */
  frames: Took[];
  /** How often rows of tables were changed, for each frame in which they were. */
  draws: number[];
}

/** Put it into the page before its own scripts (`addInitScript`). */
export const PROBE = `(() => {
  const empty = () => ({ interactions: [], longTasks: [], frames: [], draws: [] });
  let seen = empty();
  const watch = (type, options, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, ...options });
  const took = (at, ms) => ({ at, ms });
  watch("event", { durationThreshold: 16 }, ({ interactionId, startTime, duration }) => {
    if (interactionId > 0) seen.interactions.push(took(startTime, duration));
  });
  watch("longtask", {}, ({ startTime, duration }) => seen.longTasks.push(took(startTime, duration)));
  const onInteraction = ({ timeStamp }) => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => seen.interactions.push(took(timeStamp, performance.now() - timeStamp));
      port2.postMessage(null);
    });
  };
  for (const type of ["keydown", "pointerdown", "click"]) addEventListener(type, onInteraction, true);
  let last = performance.now();
  let draws = 0;
  let drawsSince = last;
  const endDraws = () => {
    if (draws > 0) seen.draws.push(draws);
    draws = 0;
    drawsSince = performance.now();
  };
  const onFrame = (at) => {
    seen.frames.push(took(last, at - last));
    last = at;
    endDraws();
    requestAnimationFrame(onFrame);
  };
  requestAnimationFrame(onFrame);
  new MutationObserver((changes) => {
    if (!changes.some(({ target }) => (target.parentElement ?? target).closest?.("tbody"))) return;
    // Without a frame for a second, the page draws by a timer. That counts as a frame of its own.
    if (performance.now() - drawsSince >= 1_000) endDraws();
    draws += 1;
  }).observe(document, { subtree: true, childList: true, characterData: true });
  window.takeSeen = () => {
    const taken = { now: performance.now(), ...seen };
    seen = empty();
    return taken;
  };
})()`;

/** What the probe has seen since the last call. */
export async function takeSeen(page: Page): Promise<Seen> {
  return await page.evaluate<Seen>("takeSeen()");
}
