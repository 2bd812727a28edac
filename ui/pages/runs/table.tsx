// How is a list of runs shown? A row reads its run from the store, so a change draws this row alone.
import { useRef } from "preact/hooks";
import type { QueuedRun, RunSummary } from "../../../src/generated/api.ts";
import { money } from "../../../src/shared/cloud/money.ts";
import { hasFailed } from "../../../src/shared/run-state.ts";
import { ask } from "../../api/send.ts";
import { Labels } from "../../parts/lists/labels.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { RunStateMark } from "../../parts/state.tsx";
import { Moment, Took } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";
import { runs } from "../../store/entities.ts";
import { useLoad } from "../../store/load.ts";
import { afterAll, afterClick, isSelected, type Selection } from "./click.ts";
import { isCompact } from "./density.tsx";
import { runHref } from "./in-list.ts";
import { select, selectionOf } from "./selection.ts";

/** What waits says why (ui.md#d16): the queue of a pool knows. */
const QUEUE = { limit: 200, everyMs: 5_000 };

const HEADS = ["State", "Run", "Command", "Labels", "Submitted", "Took", "Cost", "Exit", "Worker"];

/**
 * The table of runs. With a selection, its rows have boxes: Shift takes all from the former one on.
 */
export function RunTable(props: { items: readonly RunSummary[]; selection?: Selection }) {
  const { items, selection } = props;
  const waiting = items.filter(({ id, state }) => (runs.get(id)?.state ?? state) === "pending");
  const pools = [...new Set(waiting.map(({ pool }) => pool))];
  const queues = useQueues(pools);
  const anchor = useRef<string>(undefined);
  const shown = items.map(({ id }) => id);
  const areAll = selection !== undefined && shown.every((id) => isSelected(selection, id));
  const pick = (id: string, withShift: boolean) => {
    if (selection === undefined) return;
    // The key or click before this one may not be drawn yet: the address has what it did.
    select(afterClick(selectionOf(), { shown, id, anchor: withShift ? anchor.current : undefined }));
    anchor.current = id;
  };
  return (
    <Scroll label="Runs">
      <table class={isCompact.value ? "compact" : ""}>
        <thead>
          <tr>
            {selection !== undefined && (
              <th scope="col" class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all that are shown"
                  checked={areAll}
                  onChange={() => select(afterAll(selectionOf(), shown))}
                />
              </th>
            )}
            {HEADS.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((run) => (
            <Row
              key={run.id}
              listed={run}
              queue={queues.get(run.pool)}
              isSelected={selection && isSelected(selection, run.id)}
              pick={pick}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** The first runs in the queue of a pool, by id. `isCut`: there are more. */
interface Queue {
  first: ReadonlyMap<string, QueuedRun>;
  isCut: boolean;
}

function useQueues(pools: readonly string[]): ReadonlyMap<string, Queue> {
  const { value } = useLoad({
    key: pools.length === 0 ? undefined : pools.join(" "),
    everyMs: QUEUE.everyMs,
    ask: async (signal) => {
      const queues = pools.map(async (name): Promise<[string, Queue]> => {
        const input = { path: { name }, query: { limit: QUEUE.limit } };
        const { items, next } = await ask("listQueue", input, signal);
        return [name, { first: new Map(items.map((run) => [run.id, run])), isCut: next !== null }];
      });
      return new Map(await Promise.all(queues));
    },
  });
  return value ?? new Map();
}

function Row(props: {
  listed: RunSummary;
  /** Undefined: it is not known yet. */
  queue: Queue | undefined;
  /** Undefined: rows are not selected here. */
  isSelected: boolean | undefined;
  pick: (id: string, withShift: boolean) => void;
}) {
  const { listed, queue, pick } = props;
  const run = runs.get(listed.id) ?? listed;
  return (
    <tr data-failed={hasFailed(run) ? "" : undefined}>
      {props.isSelected !== undefined && (
        <td class="pick">
          <input
            type="checkbox"
            aria-label={`Select ${run.id}`}
            checked={props.isSelected}
            onClick={(event) => pick(run.id, event.shiftKey)}
          />
        </td>
      )}
      <td>
        <RunStateMark run={run} />
        {run.failure !== undefined && <p class="reason">{run.failure}</p>}
      </td>
      <td>
        <a href={runHref(run.id)}>{run.id}</a>
        {run.state === "pending" && queue !== undefined && <Reason run={run.id} queue={queue} />}
      </td>
      <td class="code one-line" title={run.command}>
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
      <td>
        <Cost run={run} />
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

/** What a run has cost until now. A price that is not known is not a price of 0. */
function Cost({ run: { cost } }: { run: RunSummary }) {
  if (cost === undefined || cost.amount === null) return <span class="none">–</span>;
  return (
    <>
      {money(cost.amount)}
      {cost.unpriced > 0 && <span title="and machines of unknown price"> +?</span>}
    </>
  );
}

function Reason({ run, queue: { first, isCut } }: { run: string; queue: Queue }) {
  const queued = first.get(run);
  if (queued === undefined) {
    return isCut ? (
      <p class="reason">more than {QUEUE.limit} runs wait before it; its page says why</p>
    ) : null;
  }
  const { reason, next } = queued;
  return (
    <p class="reason" title={`${reason.text}; next: ${next.action}`}>
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
