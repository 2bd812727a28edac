// What came of a job's ticks and triggers? Its latest runs, and between them the ticks that have no run.
import type { Job, JobSkip, RunSummary } from "../../../src/generated/api.ts";
import { JOB_LABELS } from "../../../src/shared/jobs/labels.ts";
import { hasFailed } from "../../../src/shared/run-state.ts";
import { ask } from "../../api/send.ts";
import { Choice } from "../../parts/lists/choice.tsx";
import { Pages, pageOf } from "../../parts/lists/pages.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Silent } from "../../parts/lists/silent.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Settled, Trouble } from "../../parts/problem.tsx";
import { Mark, RunStateMark } from "../../parts/state.tsx";
import { Moment, Took, utc } from "../../parts/time.tsx";
import { hrefOf, itemHref, queryOf } from "../../router/place.ts";
import { runs } from "../../store/entities.ts";
import { changes } from "../../store/live.ts";
import { useLoad } from "../../store/load.ts";
import { useRate } from "../../store/rate.ts";
import { localTime } from "../jobs/local.ts";
import { merged, type Row } from "./merged.ts";

/** The most rows of a list that are in the document (ui.md#d14). */
const MOST = 50;

/** Runs and skipped ticks, latest first; with `show=skipped` the skipped ticks alone. */
export function History({ job }: { job: Job }) {
  const isSkippedOnly = queryOf("show") === "skipped";
  return (
    <>
      <h2>Runs and skipped ticks</h2>
      <nav class="pages" aria-label="What is shown">
        <Choice to={{ show: undefined, page: undefined }} isChosen={!isSkippedOnly}>
          Both
        </Choice>
        <Choice to={{ show: "skipped", page: undefined }} isChosen={isSkippedOnly}>
          Skipped ticks alone
        </Choice>
        <a href={runsHref(job)}>All runs</a>
      </nav>
      {isSkippedOnly ? <Skipped job={job} /> : <Both job={job} />}
    </>
  );
}

/** The list of the job's runs. */
function runsHref({ name }: Job): string {
  return hrefOf("/ui/runs", new URLSearchParams(), { label: `${JOB_LABELS.job}=${name}` });
}

function Skipped({ job }: { job: Job }) {
  const rows = merged([], job.skips, { isAll: true, most: job.skips.length });
  if (rows.length === 0) return <p>No tick was skipped.</p>;
  return (
    <>
      <Table rows={pageOf(rows)} job={job} />
      <Pages count={rows.length} label="Pages of the list" />
    </>
  );
}

function Both({ job }: { job: Job }) {
  const version = useRate(changes.runs);
  const query = { label: [`${JOB_LABELS.job}:${job.name}`], limit: MOST };
  const list = useLoad({
    key: job.name,
    version,
    ask: (signal) => runs.ask(() => ask("listRuns", { query }, signal)),
  });
  const { items = [], next = null, service = [] } = list.value ?? {};
  // The secret of the deployment sees the runs of all projects.
  const own = items.filter(({ project }) => project === job.project);
  const rows = merged(own, job.skips, { isAll: next === null, most: MOST });
  return (
    <>
      <Trouble error={list.error} again={list.again} />
      {list.value !== undefined && (
        <Settled isStale={list.isStale}>
          <Silent what="Runs" service={service} />
          {rows.length === 0 ? (
            <p>None yet: it was not triggered, and no tick has come.</p>
          ) : (
            <Table rows={rows} job={job} />
          )}
        </Settled>
      )}
    </>
  );
}

function Table({ rows, job: { schedule } }: { rows: readonly Row[]; job: Job }) {
  const zone = schedule?.zone ?? "UTC";
  return (
    <Scroll label="Runs and skipped ticks">
      <table>
        <Heads
          of={["State", "Run", `Tick (${zone})`, "Version", "Submitted", "Took", "Exit code", "Worker"]}
        />
        <tbody>
          {rows.map((row) =>
            row.is === "run" ? (
              <RunRow key={row.run.id} listed={row.run} zone={zone} />
            ) : (
              <SkipRow key={`${row.skip.from} ${row.skip.at}`} skip={row.skip} zone={zone} />
            ),
          )}
        </tbody>
      </table>
    </Scroll>
  );
}

function RunRow({ listed, zone }: { listed: RunSummary; zone: string }) {
  const run = runs.get(listed.id) ?? listed;
  const { [JOB_LABELS.tick]: tick, [JOB_LABELS.version]: version } = run.labels;
  return (
    <tr data-failed={hasFailed(run) ? "" : undefined}>
      <td>
        <RunStateMark run={run} />
        {run.failure !== undefined && <p class="reason">{run.failure}</p>}
        {run.tries !== undefined && <p class="reason">try {run.tries}</p>}
        {run.parked !== undefined && <p class="reason">parked</p>}
      </td>
      <td>
        <a href={itemHref("runs", run.id)}>{run.id}</a>
      </td>
      <td>{tick === undefined ? "triggered" : <span title={utc(tick)}>{localTime(tick, zone)}</span>}</td>
      <td>{version ?? <span class="none">–</span>}</td>
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

/** Ticks that have no run, and why (ui.md#d16). */
function SkipRow({ skip: { from, to, count, reason, text, at }, zone }: { skip: JobSkip; zone: string }) {
  return (
    <tr>
      <td>
        <Mark icon="gone" tone="plain" word="skipped" />
        <p class="reason">{reason}</p>
      </td>
      <td>{count === 1 ? "1 tick" : `${count} ticks`}</td>
      <td>
        <span title={utc(from)}>{localTime(from, zone)}</span>
        {to !== from && (
          <>
            {" "}
            to <span title={utc(to)}>{localTime(to, zone)}</span>
          </>
        )}
      </td>
      <td>
        <span class="none">–</span>
      </td>
      <td>
        <Moment at={at} />
      </td>
      <td colSpan={3}>{text}</td>
    </tr>
  );
}
