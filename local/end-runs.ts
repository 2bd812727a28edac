import type { Client } from "../client/client.ts";

const REASON = "drover up was stopped";
/** How long runs may take to end, before their machines end with them. */
const WITHIN_MS = 10_000;
/** From then on they are not asked any more, but killed. */
const POLITE_MS = 7_000;
/** How long one look waits for their end. */
const LOOK_MS = 500;

/** The runs of a `drover up` that is to end: those on machines that end with it. */
export interface RunsToEnd {
  client: Client;
  /** The machines, as their provider names them. */
  machines: ReadonlySet<string>;
  /** Told how many runs there are, before they are asked to end. */
  onRuns(count: number): void;
}

/**
 * Aborts all runs on these machines, and resolves when none is left on them; rejects if that takes too long.
 * The machines drain first, so that none of the queue comes onto them. A queued run stays in the queue.
 */
export async function endRuns({ client, machines, onRuns }: RunsToEnd): Promise<void> {
  const signal = AbortSignal.timeout(WITHIN_MS);
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
    const force = performance.now() - began > POLITE_MS;
    await client.runs.abortMany({ ids, reason: REASON, force }, { signal });
    await client.runs.query({ runs: ids, states: ["done"], all: true }, { signal, waitMs: LOOK_MS });
  }
}

/** How many runs there are, in words. */
export function countText(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}
