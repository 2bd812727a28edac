// How is something done to many runs? A few at a time, on to the end, whatever happens to one of them.
import { signal } from "@preact/signals";
import { UnreachableError } from "../../../../client/errors.ts";

/** How far it is. A failure names its run and the reason; without an answer it may have been done. */
export interface Progress {
  done: number;
  of: number;
  failed: readonly { id: string; error: unknown }[];
}

/** A browser has six connections to a server, and the page itself needs some. */
const AT_ONCE = 3;

/**
 * Does `act` for each id, until all are done, `ending` is aborted, or there is no answer: then no other one
 * is begun, since another try could do it twice. Returns the
 * progress, and a promise for when nothing of it is on its way any more. `done` counts failures, too.
 */
export function doEach(ids: readonly string[], act: (id: string) => Promise<unknown>, ending: AbortSignal) {
  const progress = signal<Progress>({ done: 0, of: ids.length, failed: [] });
  const waiting = [...ids];
  let isBroken = false;
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined && !ending.aborted && !isBroken; id = waiting.shift()) {
      const failures = await act(id).then(
        () => [],
        (error: unknown) => {
          isBroken ||= error instanceof UnreachableError;
          return [{ id, error }];
        },
      );
      const { done, of, failed } = progress.peek();
      progress.value = { done: done + 1, of, failed: [...failed, ...failures] };
    }
  };
  const ended = Promise.all(Array.from({ length: AT_ONCE }, work));
  return { progress, ended };
}
