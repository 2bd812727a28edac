// How is a call repeated while the system is short of file descriptors or memory?
import { setTimeout as sleep } from "node:timers/promises";
import { isStarved } from "../../../posix/errors.ts";
import type { Millis } from "../../../src/shared/machine.ts";

const RETRY_MS: Millis = 100;

/** Retries `ask` while it fails for lack of file descriptors or memory. */
export async function retryWhileStarved<Answer>(ask: () => Answer): Promise<Answer> {
  for (;;) {
    try {
      return ask();
    } catch (error) {
      if (!isStarved(error)) throw error;
      await sleep(RETRY_MS);
    }
  }
}
