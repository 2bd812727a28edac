// How does a request wait until something has changed?
import { DroverError } from "../shared/errors.ts";
import { ACKNOWLEDGE_MS } from "../shared/limits.ts";
import type { Millis } from "../shared/machine.ts";

/**
 * Calls back after `ms` milliseconds, unless the returned function is called first. The simulator has another
 * timer.
 */
export type Timer = (ms: Millis, happen: () => void) => () => void;

/** The platform's timer. */
export const platformTimer: Timer = (ms, happen) => {
  const timer = setTimeout(happen, ms);
  return () => clearTimeout(timer);
};

/** Anything that calls listeners after changes, such as an actor. */
export interface Watchable {
  watch(listener: () => void): () => void;
}

/**
 * Resolves to true as soon as `holds()` is true, or to false after `waitMs`. The condition is checked after
 * each change, without polling.
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
    // An error here belongs to the waiting request, not to the event that called the listener.
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

/**
 * Waits until another object has confirmed something. Throws `not_acknowledged` with this text if this takes
 * too long.
 */
export async function acknowledged(source: Watchable, holds: () => boolean, text: string): Promise<void> {
  if (await until(source, holds, ACKNOWLEDGE_MS)) return;
  throw new DroverError("not_acknowledged", text, { retryAfterMs: 1_000 });
}
