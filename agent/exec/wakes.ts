// When does something write to the files of an attempt, so that it is worth a look?
import { type FSWatcher, watch } from "node:fs";
import type { Millis } from "../../src/shared/machine.ts";

/** After a look, the next one of the same attempt that an event causes comes no sooner. */
export const LOOK_AGAIN_MS: Millis = 10;
/** And the next one of any attempt comes no sooner than this: the looks of all share one thread. */
export const LOOK_EVERY_MS: Millis = 1;

/** The files that are looked at. The agent itself writes others beside them. */
const LOGS: readonly (string | null)[] = ["stdout", "stderr"];

/**
 * Calls `look` soon after the logs of an attempt have grown, and once more before it listens again. Between
 * two looks nothing listens, so a command that writes without a pause is listened to a hundred times a second
 * and no more, and all commands of the host together a thousand times (host-protocol.md#stamps). Where the
 * system has no events left to give, nothing is called.
 */
export class Wakes {
  readonly #look: (id: string) => void;
  /** When the next attempt may be listened to again, if others wait for that. */
  #freeAt = 0;
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
      const watcher = watch(waiting.root, { persistent: false }, (event, name) => {
        // A file that is new has no bytes yet. The next write to it is a `change`.
        if (event === "change" && LOGS.includes(name)) this.#wake(id, watcher);
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
    }, this.#pauseMs()).unref();
  }

  /** How long the next attempt is not listened to: each is given its own turn. */
  #pauseMs(): Millis {
    const now = performance.now();
    this.#freeAt = Math.max(now, this.#freeAt) + LOOK_EVERY_MS;
    return Math.max(LOOK_AGAIN_MS, this.#freeAt - now);
  }
}
