// How does a pool wake all its live runs and workers?
import type { PoolState } from "../../core/pool/state.ts";
import type { Mailboxes } from "./post.ts";

/** How many objects are woken at a time. Waking an object may load it into memory. */
const WOKEN_AT_ONCE = 100;

/** Pokes each live run and worker of a pool, since their alarms may come at the wrong time. */
export async function wakeAll({ runs, workers }: PoolState, mailboxes: Mailboxes): Promise<void> {
  const pokes: (() => Promise<unknown>)[] = [];
  for (const { worker } of workers.live()) {
    pokes.push(() => mailboxes.worker(worker).deliver({ type: "poke_worker", body: { worker } }));
  }
  for (const { run, submittedAt } of runs.live()) {
    pokes.push(() => mailboxes.allocation(run).deliver({ type: "poke_run", body: { run, submittedAt } }));
  }
  for (let from = 0; from < pokes.length; from += WOKEN_AT_ONCE) {
    const some = pokes.slice(from, from + WOKEN_AT_ONCE);
    await Promise.allSettled(some.map((poke) => poke())); // failed pokes are repeated after one lease
  }
}
