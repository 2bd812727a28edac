import { asDroverError } from "./problem.ts";

/**
 * Tries of one read of a stream, and the wait after the first failure: it doubles with each. In all about 4
 * s.
 */
const TRIES = 5;
const FIRST_DELAY_MS = 250;

/**
 * Repeats a read that failed for a while only: a stream that has begun outlives the restart of an object (a
 * few a week, platform.md#lifetime). Throws the last error when the tries are over, and any other error at
 * once.
 */
export async function patiently<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (tries >= TRIES || !asDroverError(error).temporary) throw error;
      const delayMs = FIRST_DELAY_MS * 2 ** (tries - 1);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}
