// How is a list of runs shown? A row reads its run from the store, so a change draws this row alone.
import type { QueuedRun, RunSummary } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { Scroll } from "../../parts/scroll.tsx";
import { RunStateMark } from "../../parts/state.tsx";
import { Heads } from "../../parts/table.tsx";
import { Moment, Took } from "../../parts/time.tsx";
import { itemHref, withQuery } from "../../router/place.ts";
import { runs } from "../../store/entities.ts";
import { useLoad } from "../../store/load.ts";

/** What waits says why (ui.md#d16): the queue of a pool knows. */
const QUEUE = { limit: 200, everyMs: 5_000 };

/** The table of runs. */
export function RunTable({ items }: { items: readonly RunSummary[] }) {
  const waiting = items.filter(({ id, state }) => (runs.get(id)?.state ?? state) === "pending");
  const pools = [...new Set(waiting.map(({ pool }) => pool))];
  const reasons = useReasons(pools);
  return (
    <Scroll label="Runs">
      <table>
        <Heads of={["State", "Run", "Command", "Labels", "Submitted", "Took", "Exit", "Worker"]} />
        <tbody>
          {items.map((run) => (
            <Row key={run.id} listed={run} queued={reasons.get(run.id)} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function useReasons(pools: readonly string[]): Map<string, QueuedRun> {
  const { value } = useLoad({
    key: pools.length === 0 ? undefined : pools.join(" "),
    everyMs: QUEUE.everyMs,
    ask: async (signal) => {
      const input = (name: string) => ({ path: { name }, query: { limit: QUEUE.limit } });
      const queues = await Promise.all(pools.map((name) => ask("listQueue", input(name), signal)));
      return new Map(queues.flatMap(({ items }) => items.map((run) => [run.id, run])));
    },
  });
  return value ?? new Map();
}

function Row({ listed, queued }: { listed: RunSummary; queued: QueuedRun | undefined }) {
  const run = runs.get(listed.id) ?? listed;
  return (
    <tr>
      <td>
        <RunStateMark run={run} />
      </td>
      <td>
        <a href={itemHref("runs", run.id)}>{run.id}</a>
        {run.state === "pending" && queued !== undefined && <Reason queued={queued} />}
      </td>
      <td class="code" title={run.command}>
        {run.command}
      </td>
      <td>
        <Labels labels={run.labels} />
      </td>
      <td>
        <Moment at={run.submittedAt} />
      </td>
      <td>
        <Took from={run.startedAt} to={run.finishedAt} />
      </td>
      <td>{run.exitCode ?? <span class="none">–</span>}</td>
      <td>
        {run.worker === null ? (
          <span class="none">–</span>
        ) : (
          <a href={itemHref("workers", run.worker)}>{run.worker}</a>
        )}
      </td>
    </tr>
  );
}

function Reason({ queued: { reason, next } }: { queued: QueuedRun }) {
  return (
    <p class="reason">
      {reason.text}; next: {next.action}
      {next.at !== null && (
        <>
          {" "}
          <Moment at={next.at} />
        </>
      )}
    </p>
  );
}

/** The labels of a run; each leads to all runs with it. */
export function Labels({ labels }: { labels: Record<string, string> }) {
  return (
    <>
      {Object.entries(labels).map(([name, value]) => (
        <a
          key={name}
          class="chip"
          href={withQuery({ label: [`${name}=${value}`], cursor: undefined }).replace(/^[^?]*/, "/ui/runs")}
        >
          {name}={value}
        </a>
      ))}
    </>
  );
}
