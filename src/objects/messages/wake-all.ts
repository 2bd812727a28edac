import type { PoolState } from "../../core/pool/state.ts";
import type { Mailboxes } from "./post.ts";

/** How many are woken together: each that was not in memory is loaded for it. */
const WOKEN_AT_ONCE = 100;

/** Pokes each live run and worker of a pool, since no alarm of theirs can be relied on. */
export async function wakeAll({ runs, workers }: PoolState, mailboxes: Mailboxes): Promise<void> {
  const pokes: (() => Promise<unknown>)[] = [
    ...[...workers.live()].map(
      ({ worker }) =>
        () =>
          mailboxes.worker(worker).deliver({ type: "poke_worker", body: { worker } }),
    ),
    ...[...runs.live()].map(
      ({ run, submittedAt }) =>
        () =>
          mailboxes.allocation(run).deliver({ type: "poke_run", body: { run, submittedAt } }),
    ),
  ];
  for (let from = 0; from < pokes.length; from += WOKEN_AT_ONCE) {
    const some = pokes.slice(from, from + WOKEN_AT_ONCE);
    await Promise.allSettled(some.map((poke) => poke())); // whom this does not reach is asked after a lease
  }
}
