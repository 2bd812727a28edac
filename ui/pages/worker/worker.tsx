// The page of one worker: its state and why, its boot, its runs, its prices, and what to do.
import type { WorkerStatus } from "../../../src/generated/api.ts";
import { engineText } from "../../../src/shared/containers/engine-text.ts";
import { ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { InUse } from "../../parts/in-use.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { perHour } from "../../parts/price.ts";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { WorkerStateMark } from "../../parts/state.tsx";
import { Moment } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";
import { changes } from "../../store/live.ts";
import { useLoad } from "../../store/load.ts";
import { useFollowed } from "../../store/pools.ts";
import { useRate } from "../../store/rate.ts";
import { historyHref } from "../events/filter.ts";
import { actionsOf } from "./actions.ts";
import { Boot, History } from "./boot.tsx";
import { Console } from "./console.tsx";
import { Devices } from "./devices.tsx";

/** The page `/ui/workers/{id}`. */
export function Worker({ item: id = "" }: { item: string | undefined }) {
  const version = useRate(changes.workers);
  const loaded = useLoad({
    key: id,
    version,
    ask: async (signal) => {
      const path = { path: { id } };
      const [worker, why] = await Promise.all([
        ask("getWorker", path, signal),
        ask("explainWorker", path, signal),
      ]);
      return { worker, why };
    },
    isLast: ({ worker }) => worker.state === "gone",
  });
  const { worker, why } = loaded.value ?? {};
  useFollowed(worker === undefined || worker.state === "gone" ? undefined : worker.pool);
  return (
    <>
      <h1 class="name">{id}</h1>
      <Trouble error={loaded.error} again={loaded.again} />
      {worker && why && (
        <Settled isStale={loaded.isStale}>
          <p>
            <WorkerStateMark state={worker.state} />
          </p>
          <section class="why" aria-label="Why, and what comes next">
            <p>{why.reason.text}</p>
            <p>
              Next: {why.next.action} {why.next.at !== null && <Moment at={why.next.at} />}
            </p>
          </section>
          <Facts worker={worker} />
          <Actions actions={actionsOf(worker, loaded.again)} />
          <Devices worker={worker} />
          <RunsOn worker={worker} />
          <Prices worker={worker} />
          <Boot worker={worker} />
          <Console worker={worker} />
          <History events={worker.events} />
        </Settled>
      )}
    </>
  );
}

function Facts({ worker }: { worker: WorkerStatus }) {
  return (
    <dl class="facts">
      <dt>Pool</dt>
      <dd>
        <a href={itemHref("pools", worker.pool)}>{worker.pool}</a>
      </dd>
      <dt>Type</dt>
      <dd>
        {worker.instanceType}
        {worker.providerType !== null && ` (${worker.providerType})`}
      </dd>
      <dt>Machine</dt>
      <dd>{worker.own ? "self-hosted" : (worker.instance ?? "none yet")}</dd>
      <dt>In use</dt>
      <dd>
        <InUse of={worker} />
      </dd>
      <dt>Containers</dt>
      <dd>{engineText(worker.engine) ?? "no engine"}</dd>
      <dt>Price</dt>
      <dd>{perHour(worker.price)}</dd>
      <dt>When idle</dt>
      <dd>{worker.idleBehavior}</dd>
      <dt>Asked</dt>
      <dd>
        <Moment at={worker.askedAt} />
      </dd>
      <dt>Ready</dt>
      <dd>
        <Moment at={worker.readyAt} />
      </dd>
      <dt>Last report</dt>
      <dd>
        <Moment at={worker.lastReportAt} />
      </dd>
      <dt>Lease until</dt>
      <dd>
        <Moment at={worker.leaseUntil} />
      </dd>
      <dt>History</dt>
      <dd>
        <a href={historyHref({ target: worker.id })}>Who did what to it</a>
      </dd>
    </dl>
  );
}

/** Each price that the provider has named. One price stands among the facts already. */
function Prices({ worker: { prices } }: { worker: WorkerStatus }) {
  if (prices.length < 2) return null;
  return (
    <>
      <h2>Prices</h2>
      <Scroll label="Prices">
        <table>
          <Heads of={["Since", "Price"]} />
          <tbody>
            {prices.toReversed().map(({ price, since }) => (
              <tr key={since}>
                <td>
                  <Moment at={since} />
                </td>
                <td>{perHour(price)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function RunsOn({ worker: { runs, lastRun } }: { worker: WorkerStatus }) {
  return (
    <>
      <h2>Runs on it</h2>
      {lastRun && (
        <p>
          Ended last: <a href={itemHref("runs", lastRun.run)}>{lastRun.run}</a>,{" "}
          <Moment at={lastRun.endedAt} />
        </p>
      )}
      {runs.length === 0 ? (
        <p>None now.</p>
      ) : (
        <ul>
          {runs.map((run) => (
            <li key={run}>
              <a href={itemHref("runs", run)}>{run}</a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
