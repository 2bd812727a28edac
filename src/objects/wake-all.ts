import type { PoolState } from "../core/pool/state.ts";
import type { Env } from "./env.ts";
import { peersOf } from "./stubs.ts";

/** How many are woken together: each that was not in memory is loaded for it. */
const AT_ONCE = 100;

/** Pokes each live run and worker of a pool, since no alarm of theirs can be relied on. */
export async function wakeAll({ runs, workers }: PoolState, env: Env): Promise<void> {
  const { allocation, worker } = peersOf(env);
  const pokes: (() => Promise<unknown>)[] = [
    ...[...workers.live()].map((row) => () => worker(row.worker).poke()),
    ...[...runs.live()].map((row) => () => allocation(row.run).poke()),
  ];
  for (let from = 0; from < pokes.length; from += AT_ONCE) {
    const some = pokes.slice(from, from + AT_ONCE);
    await Promise.allSettled(some.map((poke) => poke())); // whom this does not reach is asked after a lease
  }
}
