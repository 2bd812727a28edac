import { setTimeout as sleep } from "node:timers/promises";
import { isStarved } from "../../../posix/errors.ts";
import type { Millis } from "../../../src/shared/machine.ts";

const AGAIN_MS: Millis = 100;

/** Asks the system until it has the files and the memory to answer. */
export async function patiently<Answer>(ask: () => Answer): Promise<Answer> {
  for (;;) {
    try {
      return ask();
    } catch (error) {
      if (!isStarved(error)) throw error;
      await sleep(AGAIN_MS);
    }
  }
}
