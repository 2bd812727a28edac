// What is going on now: what waits and why, what runs, what holds pools back, what it costs, and what failed.
import type { PoolView, QueuedRun, RunSummary } from "../../src/generated/api.ts";
import { ask } from "../api/send.ts";
import { Scroll } from "../parts/lists/scroll.tsx";
import { Heads } from "../parts/lists/table.tsx";
import { perHour } from "../parts/price.ts";
import { Nothing, Settled, Trouble } from "../parts/problem.tsx";
import { Moment, took } from "../parts/time.tsx";
import { itemHref } from "../router/place.ts";
import { runs } from "../store/entities.ts";
import { changes } from "../store/live.ts";
import { useLoad } from "../store/load.ts";
import { useChosenPool } from "../store/pools.ts";
import { useRate } from "../store/rate.ts";
import { HoldOffs } from "./hold-offs.tsx";
import { Ended } from "./now/ended.tsx";
import { countsOf } from "./pools.tsx";
import { RunTable } from "./runs/table.tsx";

const LAST_FAILED = 10;
const FIRST_WAITING = 5;

/** What the page shows: each part is one answer of the API. */
interface Picture {
  pools: { pool: PoolView; waiting: readonly QueuedRun[] }[];
  failed: readonly RunSummary[];
}

/** The page `/ui`. */
export function Now() {
  const { pool, everyMs } = useChosenPool();
  const version = useRate(changes.runs) + useRate(changes.workers);
  const picture = useLoad({ key: `now ${pool}`, version, everyMs, ask: (signal) => look(pool, signal) });
  const { pools = [], failed = [] } = picture.value ?? {};
  return (
    <>
      <h1>Now</h1>
      <Trouble error={picture.error} again={picture.again} />
      <Settled isStale={picture.isStale}>
        {picture.value !== undefined && pools.length === 0 && (
          <Nothing why="There is no pool yet: no run can start." type="drover pools create" />
        )}
        {pools.map(({ pool: one, waiting }) => (
          <PoolNow key={one.name} pool={one} waiting={waiting} />
        ))}
        <Ended pools={pools.map(({ pool: one }) => one.name)} />
        <h2>Last failed</h2>
        {failed.length > 0 ? (
          <RunTable items={failed} />
        ) : (
          picture.value && <p>No run that is kept has failed.</p>
        )}
      </Settled>
    </>
  );
}

async function look(chosen: string, signal: AbortSignal): Promise<Picture> {
  const pool = chosen === "" ? undefined : chosen;
  const [pools, failed] = await Promise.all([
    pool === undefined
      ? ask("listPools", {}, signal).then(({ items }) => items)
      : ask("getPool", { path: { name: pool } }, signal).then((one) => [one]),
    runs.ask(() => ask("listRuns", { query: { failed: "1", limit: LAST_FAILED, pool } }, signal)),
  ]);
  const withQueues = pools.map(async (one) => {
    if (one.queue.depth === 0) return { pool: one, waiting: [] };
    const input = { path: { name: one.name }, query: { limit: FIRST_WAITING } };
    return { pool: one, waiting: (await ask("listQueue", input, signal)).items };
  });
  return { pools: await Promise.all(withQueues), failed: failed.items };
}

function PoolNow({ pool, waiting }: { pool: PoolView; waiting: readonly QueuedRun[] }) {
  const { name, queue, runs, workers, spend } = pool;
  const inPool = `pool=${encodeURIComponent(name)}`;
  return (
    <section aria-label={`Pool ${name}`}>
      <h2>
        <a href={itemHref("pools", name)}>{name}</a>
      </h2>
      <ul class="figures">
        <li>
          <a href={`/ui/runs?${inPool}&state=pending`}>
            <b>{queue.depth}</b> waiting
          </a>
          {queue.oldestAgeMs !== null && <small>the oldest for {took(queue.oldestAgeMs)}</small>}
        </li>
        <li>
          <a href={`/ui/runs?${inPool}&state=running`}>
            <b>{runs.running}</b> running
          </a>
        </li>
        <li>
          <a href={`/ui/workers?${inPool}`}>
            <b>{Object.values(workers).reduce((sum, count) => sum + count, 0)}</b> machines
          </a>
          <small>{countsOf(workers)}</small>
        </li>
        <li>
          <b>{perHour(spend?.perHour)}</b> now
          <small>limit {perHour(spend?.worstPerHour)}</small>
          <small>
            <a href={`${itemHref("pools", name)}?range=24h&show=table&sort=cost`}>
              Cost by machine, 24 hours
            </a>
          </small>
        </li>
      </ul>
      <HoldOffs pool={pool} />
      {waiting.length > 0 && <Waiting runs={waiting} />}
    </section>
  );
}

function Waiting({ runs }: { runs: readonly QueuedRun[] }) {
  return (
    <>
      <h3>First in the queue</h3>
      <Scroll label="First in the queue">
        <table>
          <Heads of={["Run", "Waiting", "Why", "Next"]} />
          <tbody>
            {runs.map(({ id, ageMs, reason, next }) => (
              <tr key={id}>
                <td>
                  <a href={itemHref("runs", id)}>{id}</a>
                </td>
                <td>{took(ageMs)}</td>
                <td>{reason.text}</td>
                <td>
                  {next.action} {next.at !== null && <Moment at={next.at} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
