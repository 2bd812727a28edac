// What stands above a run: its state, why it is in it, and what comes next and when (ui.md#d16).
import type { RunStatus } from "../../../src/generated/api.ts";
import { money } from "../../../src/shared/cloud/money.ts";
import { imagesOf } from "../../../src/shared/containers/images.ts";
import { isTerminal } from "../../../src/shared/run-state.ts";
import { ask } from "../../api/send.ts";
import { commandOf } from "../../parts/command.ts";
import { Labels } from "../../parts/lists/labels.tsx";
import { perHour } from "../../parts/price.ts";
import { Trouble } from "../../parts/problem.tsx";
import { RunStateMark } from "../../parts/state.tsx";
import { Moment, Took } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";
import { useLoad } from "../../store/load.ts";
import { historyHref } from "../events/filter.ts";
import { OfJob } from "./of-job.tsx";

/** Reasons change without a change of the run. */
const WHY_MS = 5_000;

/** The head of the page of a run. */
export function Head({ run }: { run: RunStatus }) {
  const command = commandOf(run.spec);
  return (
    <>
      <p class="what">
        <RunStateMark run={run} />
        <code class="one-line" title={command}>
          {command}
        </code>
      </p>
      <Reason run={run} />
    </>
  );
}

/** What a run was, in short. */
export function Facts({ run }: { run: RunStatus }) {
  const worker = run.placements.at(-1)?.worker;
  const images = imagesOf(run.spec);
  return (
    <dl class="facts">
      <dt>Submitted</dt>
      <dd>
        <Moment at={run.submittedAt} />
      </dd>
      {run.finishedAt !== null && (
        <>
          <dt>Ended</dt>
          <dd>
            <Moment at={run.finishedAt} />
          </dd>
        </>
      )}
      <dt>Waited</dt>
      <dd>
        <Took from={run.submittedAt} to={run.startedAt ?? run.finishedAt} />
      </dd>
      <dt>Ran</dt>
      <dd>
        <Took from={run.startedAt} to={run.finishedAt} />
      </dd>
      <dt>Cost</dt>
      <dd>
        <Cost run={run} />
      </dd>
      <dt>Pool</dt>
      <dd>
        <a href={itemHref("pools", run.pool)}>{run.pool}</a>
      </dd>
      <dt>Worker</dt>
      <dd>{worker === undefined ? "–" : <a href={itemHref("workers", worker)}>{worker}</a>}</dd>
      {images.length > 0 && (
        <>
          <dt>Image</dt>
          <dd>{images.join(", ")}</dd>
        </>
      )}
      <OfJob run={run} />
      <dt>Exit code</dt>
      <dd>{run.exitCode ?? "–"}</dd>
      <dt>Labels</dt>
      <dd>
        <Labels labels={run.labels} />
      </dd>
      <dt>History</dt>
      <dd>
        <a href={historyHref({ run: run.id })}>Who did what to it</a>
      </dd>
    </dl>
  );
}

function Cost({ run: { cost, state } }: { run: RunStatus }) {
  if (cost === undefined || cost.amount === null) return <>unknown</>;
  return (
    <>
      {money(cost.amount)}
      {cost.perHour !== null && !isTerminal(state) && ` (${perHour(cost.perHour)})`}
      {cost.unpriced > 0 && `, and ${cost.unpriced} machines of unknown price`}
    </>
  );
}

function Reason({ run }: { run: RunStatus }) {
  const isOver = isTerminal(run.state);
  const why = useLoad({
    key: run.id,
    version: run.version,
    everyMs: isOver ? undefined : WHY_MS,
    isLast: () => isOver,
    ask: (signal) => ask("explainRun", { path: { id: run.id } }, signal),
  });
  if (why.value === undefined) return <Trouble error={why.error} again={why.again} />;
  const { reason, next } = why.value;
  // The state of the run itself stands above.
  const chain = why.value.chain.filter(({ what }) => what !== `run ${run.id}`);
  return (
    <section class="why" aria-label="Why, and what comes next">
      <p>{reason.text}</p>
      {!isOver && (
        <p>
          Next: {next.action}
          {next.at !== null && (
            <>
              {" "}
              <Moment at={next.at} />
            </>
          )}
        </p>
      )}
      {chain.length > 0 && (
        <ul>
          {chain.map(({ what, state, text }) => (
            <li key={what}>
              {what}: {state}
              {text !== state && text !== reason.text && `. ${text}`}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
