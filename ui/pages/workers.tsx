// The list of workers: 50 at a time (ui.md#d11).
import type { ListedWorker } from "../../src/generated/api.ts";
import { PRESENT_STATES, WORKER_STATES } from "../../src/shared/run-state.ts";
import { type AnswerOf, ask, type InputOf } from "../api/send.ts";
import { InUse } from "../parts/in-use.tsx";
import { Parts } from "../parts/lists/cursor.tsx";
import { Scroll } from "../parts/lists/scroll.tsx";
import { Silent } from "../parts/lists/silent.tsx";
import { Heads } from "../parts/lists/table.tsx";
import { perHour } from "../parts/price.ts";
import { Nothing, Settled, Trouble } from "../parts/problem.tsx";
import { WorkerStateMark } from "../parts/state.tsx";
import { Moment } from "../parts/time.tsx";
import { go, itemHref, queryOf, withQuery } from "../router/place.ts";
import { workers } from "../store/entities.ts";
import { changes } from "../store/live.ts";
import { useLoad } from "../store/load.ts";
import { useChosenPool } from "../store/pools.ts";
import { useRate } from "../store/rate.ts";
import { GoneWorkers } from "./gone-workers.tsx";

const PAGE = 50;

type Query = NonNullable<InputOf<"listWorkers">["query"]>;

/** The page `/ui/workers`. */
export function Workers() {
  const isGone = queryOf("gone") === "7d";
  const show = (gone: string) =>
    go(withQuery({ gone, state: undefined, cursor: undefined, sort: undefined, page: undefined }));
  return (
    <>
      <h1>Workers</h1>
      <div class="filters">
        <label>
          Machines{" "}
          <select value={isGone ? "7d" : ""} onChange={(event) => show(event.currentTarget.value)}>
            <option value="">present</option>
            <option value="7d">gone in the last 7 days</option>
          </select>
        </label>
        {!isGone && <StateFilter />}
      </div>
      {isGone ? <GoneWorkers /> : <PresentWorkers />}
    </>
  );
}

function StateFilter() {
  return (
    <label>
      State{" "}
      <select
        value={queryOf("state")}
        onChange={(event) => go(withQuery({ state: event.currentTarget.value, cursor: undefined }))}
      >
        <option value="">all</option>
        {WORKER_STATES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

function PresentWorkers() {
  const { pool, everyMs } = useChosenPool();
  const version = useRate(changes.workers);
  const state = queryOf("state");
  const query: Query = { limit: PAGE, pool: pool || undefined, cursor: queryOf("cursor") || undefined };
  // The server refuses a word that is no state, and says which words there are.
  query.state = state === "" ? PRESENT_STATES : ([state] as Query["state"]);
  const list = useLoad({
    key: JSON.stringify(query),
    version,
    everyMs,
    ask: (signal) => workers.ask(() => ask("listWorkers", { query }, signal)),
  });
  return (
    <>
      <Trouble error={list.error} again={list.again} />
      <Settled isStale={list.isStale}>{list.value && <WorkerPage list={list.value} />}</Settled>
    </>
  );
}

function WorkerPage({ list: { items, next, service } }: { list: AnswerOf<"listWorkers"> }) {
  return (
    <>
      <Silent what="Machines" service={service} />
      {items.length > 0 ? (
        <WorkerTable items={items} />
      ) : (
        <Nothing
          why="There is no machine. A pool makes one when a run waits for it, or keeps some ready."
          type="drover run -- echo hello"
        />
      )}
      <Parts cursor={queryOf("cursor")} next={next} />
    </>
  );
}

/** A table of workers. */
export function WorkerTable({ items }: { items: readonly ListedWorker[] }) {
  return (
    <Scroll label="Workers">
      <table>
        <Heads of={["State", "Worker", "Type", "Runs", "In use", "Asked", "Price", "Why"]} />
        <tbody>
          {items.map((listed) => (
            <Row key={listed.id} listed={listed} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Row({ listed }: { listed: ListedWorker }) {
  const worker = { ...listed, ...workers.get(listed.id) };
  return (
    <tr>
      <td>
        <WorkerStateMark state={worker.state} />
        {worker.idleBehavior !== "run" && ` (${worker.idleBehavior})`}
      </td>
      <td>
        <a href={itemHref("workers", worker.id)}>{worker.id}</a>
      </td>
      <td>{worker.instanceType}</td>
      <td>{worker.runs.length}</td>
      <td>
        <InUse of={worker} />
      </td>
      <td>
        <Moment at={worker.askedAt} />
      </td>
      <td>{perHour(worker.price)}</td>
      <td>{worker.reason}</td>
    </tr>
  );
}
