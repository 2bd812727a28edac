// When does something write to the files of an attempt, so that it is worth a look?
import { type FSWatcher, watch } from "node:fs";
import type { Millis } from "../../src/shared/machine.ts";

/** After a look, the next one that an event causes comes no sooner. */
export const LOOK_AGAIN_MS: Millis = 10;

/** The files that are looked at. The agent itself writes others beside them. */
const LOGS: readonly (string | null)[] = ["stdout", "stderr"];

/**
 * Calls `look` soon after the logs of an attempt have grown. Between two looks nothing listens, so a command
 * that writes without a pause causes a hundred looks a second and no more. Where the system has no events
 * left to give, nothing is called.
 */
export class Wakes {
  readonly #look: (id: string) => void;
  readonly #waiting = new Map<string, { root: string; watcher?: FSWatcher; again?: NodeJS.Timeout }>();

  constructor(look: (id: string) => void) {
    this.#look = look;
  }

  /** Begins to wait for writes to the logs in an attempt's folder. */
  watch(id: string, root: string): void {
    this.unwatch(id);
    this.#waiting.set(id, { root });
    this.#listen(id);
  }

  /** Ends the wait. */
  unwatch(id: string): void {
    const waiting = this.#waiting.get(id);
    waiting?.watcher?.close();
    clearTimeout(waiting?.again);
    this.#waiting.delete(id);
  }

  #listen(id: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    try {
      const watcher = watch(waiting.root, { persistent: false }, (_event, name) => {
        if (LOGS.includes(name)) this.#wake(id, watcher);
      });
      watcher.on("error", () => watcher.close());
      waiting.watcher = watcher;
    } catch {
      // Too many watchers on this machine, or the folder is gone: the looks at fixed times remain.
    }
  }

  #wake(id: string, watcher: FSWatcher): void {
    const waiting = this.#waiting.get(id);
    if (waiting?.watcher !== watcher) return;
    watcher.close();
    this.#look(id);
    waiting.again = setTimeout(() => {
      this.#listen(id);
      this.#look(id);
    }, LOOK_AGAIN_MS).unref();
  }
}
