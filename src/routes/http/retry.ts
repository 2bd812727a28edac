// How does a running stream survive the restart of an object? It repeats failed reads.
import { backOffMs } from "../../shared/time/backoff.ts";
import { asDroverError } from "./problem.ts";

/** The most tries of one read, and the pauses between the tries: about 4 s in all. */
const TRIES = 5;
const WAITS = { firstMs: 250, longestMs: 2_000 };

/**
 * Repeats a read after temporary failures, so that a stream survives the restart of an object. Objects
 * restart a few times a week (platform.md#lifetime). Throws the last error when all tries have failed. Never
 * repeats a read after an error that is not temporary.
 */
export async function withRetries<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (tries >= TRIES || !asDroverError(error).temporary) throw error;
      await new Promise((resolve) => setTimeout(resolve, backOffMs(WAITS, tries)));
    }
  }
}
