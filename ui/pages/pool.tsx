// The page of one pool: its queue, its machines, what holds it back, its costs, and its configuration.
import type { PoolView } from "../../src/generated/api.ts";
import { PRESENT_STATES } from "../../src/shared/run-state.ts";
import { ask } from "../api/send.ts";
import { Fleet } from "../fleet/fleet.tsx";
import { Long } from "../parts/lists/scroll.tsx";
import { perHour } from "../parts/price.ts";
import { Settled, Trouble } from "../parts/problem.tsx";
import { took } from "../parts/time.tsx";
import { workers } from "../store/entities.ts";
import { changes } from "../store/live.ts";
import { useLoad } from "../store/load.ts";
import { useFollowed } from "../store/pools.ts";
import { useRate } from "../store/rate.ts";
import { historyHref } from "./events/filter.ts";
import { HoldOffs } from "./hold-offs.tsx";
import { countsOf } from "./pools.tsx";
import { WorkerTable } from "./workers.tsx";

const MOST = 50;

/** The page `/ui/pools/{name}`. */
export function Pool({ item: name = "" }: { item: string | undefined }) {
  useFollowed(name);
  const version = useRate(changes.workers) + useRate(changes.runs);
  const loaded = useLoad({
    key: name,
    version,
    ask: async (signal) => {
      const [pool, machines] = await Promise.all([
        ask("getPool", { path: { name } }, signal),
        workers.ask(() =>
          ask("listWorkers", { query: { pool: name, limit: MOST, state: PRESENT_STATES } }, signal),
        ),
      ]);
      return { pool, machines };
    },
  });
  const { pool, machines } = loaded.value ?? {};
  return (
    <>
      <h1 class="name">{name}</h1>
      <Trouble error={loaded.error} again={loaded.again} />
      {pool && machines && (
        <Settled isStale={loaded.isStale}>
          <Facts pool={pool} />
          <HoldOffs pool={pool} />
          <Fleet pool={pool} />
          <h2>Machines now</h2>
          {machines.items.length === 0 ? <p>None.</p> : <WorkerTable items={machines.items} />}
          {machines.next !== null && (
            <a href={`/ui/workers?pool=${encodeURIComponent(name)}`}>All machines</a>
          )}
          <h2>Configuration</h2>
          <Long label="Configuration" text={JSON.stringify(pool.config, null, 2)} />
        </Settled>
      )}
    </>
  );
}

function Facts({ pool: { name, queue, runs, workers, spend, leaving } }: { pool: PoolView }) {
  const inPool = `pool=${encodeURIComponent(name)}`;
  return (
    <dl class="facts">
      {leaving && (
        <>
          <dt>Leaving</dt>
          <dd>it takes no more runs, and is deleted once it is empty</dd>
        </>
      )}
      <dt>Queue</dt>
      <dd>
        <a href={`/ui/runs?${inPool}&state=pending`}>{queue.depth} waiting</a>
        {queue.oldestAgeMs !== null && `, the oldest for ${took(queue.oldestAgeMs)}`}
      </dd>
      <dt>Running</dt>
      <dd>
        <a href={`/ui/runs?${inPool}&state=running`}>{runs.running}</a>
      </dd>
      <dt>Machines</dt>
      <dd>{countsOf(workers) || "none"}</dd>
      <dt>Costs</dt>
      <dd>
        {perHour(spend?.perHour)}
        {(spend?.unpriced ?? 0) > 0 && `, ${spend?.unpriced} machines of unknown price`}, limit{" "}
        {perHour(spend?.worstPerHour)}
      </dd>
      <dt>History</dt>
      <dd>
        <a href={historyHref({ pool: name })}>Who did what in it</a>
      </dd>
    </dl>
  );
}
