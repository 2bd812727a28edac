import type { Millis } from "../shared/machine.ts";

/**
 * Calls back after so many milliseconds, unless what it returns is called before. The simulator has its own.
 */
export type Timer = (ms: Millis, happen: () => void) => () => void;

/** The platform's timer. */
export const platformTimer: Timer = (ms, happen) => {
  const timer = setTimeout(happen, ms);
  return () => clearTimeout(timer);
};

/** What can be watched: an actor, or whatever else calls its listeners when something has changed. */
export interface Watchable {
  watch(listener: () => void): () => void;
}

/**
 * Resolves as soon as `holds`, or after `waitMs`; what it resolves to is whether it held. Nothing is polled:
 * it looks again when something has changed.
 */
export async function until(
  source: Watchable,
  holds: () => boolean,
  waitMs: Millis,
  timer: Timer = platformTimer,
): Promise<boolean> {
  if (holds()) return true;
  if (waitMs <= 0) return false;
  return new Promise((resolve, reject) => {
    // What throws here belongs to whoever waits, never to whoever has brought the change about.
    const look = (timeIsUp: boolean) => {
      try {
        const held = holds();
        if (!held && !timeIsUp) return;
        resolve(held);
      } catch (error) {
        reject(error);
      }
      stopTimer();
      unwatch();
    };
    const stopTimer = timer(waitMs, () => look(true));
    const unwatch = source.watch(() => look(false));
  });
}
