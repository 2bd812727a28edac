// How do runs end before `drover up` ends?
import type { Client } from "../client/client.ts";

const REASON = "drover up was stopped";
/** After this long, runs are killed without further grace. */
const GRACE_MS = 7_000;
/** How long runs may then take to end before their machines are destroyed anyway. */
const KILL_MS = 20_000;
/** How long one query waits for the end of the runs. */
const QUERY_WAIT_MS = 500;

/** What `endRuns` needs to know. */
export interface RunsToEnd {
  client: Client;
  /** The machines that end with `drover up`, by the ids of their provider. */
  machines: ReadonlySet<string>;
  /** Called with the number of runs before they are aborted. */
  onRuns(count: number): void;
}

/**
 * Aborts all runs on these machines, and resolves when none is left; rejects if that takes too long. The
 * machines drain first, so that they get no runs from the queue. Queued runs stay queued.
 */
export async function endRuns({ client, machines, onRuns }: RunsToEnd): Promise<void> {
  const signal = AbortSignal.timeout(GRACE_MS + KILL_MS);
  const began = performance.now();
  const workersHere = async () => {
    const { items } = await client.workers.list({}, { signal });
    return items.filter(({ instance }) => instance !== null && machines.has(instance));
  };
  const workers = await workersHere();
  await Promise.all(workers.map(({ id }) => client.workers.drain(id, { signal })));
  for (let isFirst = true; ; isFirst = false) {
    const ids = (await workersHere()).flatMap(({ runs }) => runs).slice(0, 1_000);
    if (ids.length === 0) return;
    if (isFirst) onRuns(ids.length);
    const force = performance.now() - began > GRACE_MS;
    await client.runs.abortMany({ ids, reason: REASON, force }, { signal });
    await client.runs.query({ runs: ids, states: ["done"], all: true }, { signal, waitMs: QUERY_WAIT_MS });
  }
}

/** A number of runs, in words. */
export function countText(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}
