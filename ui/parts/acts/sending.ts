// What becomes of an action once it is sent? It is sent once, and its end is said where it was asked.
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { UnawaitedError } from "../unsure.ts";

/** An action on its way. */
export interface Sending {
  isSent: Signal<boolean>;
  /** Why the latest try did not end well. */
  error: Signal<unknown>;
  /**
   * Sends, unless something is being sent already: two clicks are one act. `work` gets a signal that is
   * aborted when nobody waits for its end any more; what has left the page by then still arrives. Resolves
   * with whether the work ended well.
   */
  start(work: (ending: AbortSignal) => Promise<void>): Promise<boolean>;
  /** Waits no longer for the answer, and says so. */
  leave(): void;
}

/** One for each question. Once its component is gone, nobody waits (ui.md#acts). */
export function useSending(): Sending {
  const sending = useMemo(sendingOf, []);
  useEffect(() => sending.leave, []);
  return sending;
}

function sendingOf(): Sending {
  const isSent = signal(false);
  const error = signal<unknown>(undefined);
  let leaving = new AbortController();
  return {
    isSent,
    error,
    async start(work) {
      if (isSent.peek()) return false;
      leaving = new AbortController();
      isSent.value = true;
      error.value = undefined;
      try {
        await unlessLeft(work(leaving.signal), leaving.signal);
        return true;
      } catch (caught) {
        error.value = caught;
        return false;
      } finally {
        isSent.value = false;
      }
    },
    leave: () => leaving.abort(new UnawaitedError()),
  };
}

/** The end of the work, or a rejection with the signal's reason as soon as it is aborted. */
function unlessLeft(work: Promise<void>, ending: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    ending.addEventListener("abort", () => fail(ending.reason));
    work.then(done, fail);
  });
}
