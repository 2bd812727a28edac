// Which runs of a job have failed for good, and how does a reader have them run again (jobs.md#redrive)?
import { useSignal } from "@preact/signals";
import type { Job, RedrivenList, RunSummary } from "../../../src/generated/api.ts";
import { JOB_LABELS } from "../../../src/shared/jobs/labels.ts";
import { ask, callOf } from "../../api/send.ts";
import { type Action, Actions } from "../../parts/acts/act.tsx";
import { droverOf } from "../../parts/as-text.ts";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Silent } from "../../parts/lists/silent.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Trouble } from "../../parts/problem.tsx";
import { Moment, utc } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";
import { changes } from "../../store/live.ts";
import { useLoad } from "../../store/load.ts";
import { useRate } from "../../store/rate.ts";
import { localTime } from "../jobs/local.ts";

/** The most rows of a list that are in the document (ui.md#d14), and runs of one request. */
const MOST = 50;

/** The parked runs of a job, newest first; nothing if there are none. */
export function ParkedRuns({ job }: { job: Job }) {
  const failed = useSignal<RedrivenList["failed"]>([]);
  const query = { label: [`${JOB_LABELS.job}:${job.name}`], parked: "true" as const, limit: MOST };
  const list = useLoad({
    key: job.name,
    version: useRate(changes.runs),
    ask: (signal) => ask("listRuns", { query }, signal),
  });
  const { items = [], next = null, service = [] } = list.value ?? {};
  // The secret of the deployment sees the runs of all projects.
  const own = items.filter(({ project }) => project === job.project);
  const noteFailed = async (response: Response) => {
    // The answer is made by the schema of this route.
    failed.value = ((await response.json()) as RedrivenList).failed;
    list.again();
  };
  const isWhole = service.every(({ initialized, healthy }) => healthy || !initialized);
  if (own.length === 0 && list.error === undefined && isWhole) return null;
  return (
    <>
      <h2>Parked runs</h2>
      <Trouble error={list.error} again={list.again} />
      <Silent what="Parked runs" service={service} />
      <p>
        They have failed for good, and wait until somebody has them run again or deletes them.
        {next !== null && ` The latest ${own.length} are shown.`}
      </p>
      <Actions actions={[allOf(job, noteFailed)]} />
      {failed.value.map(({ id, detail }) => (
        <p key={id} role="alert">
          {id} was not redriven: {detail}
        </p>
      ))}
      <Table runs={own} job={job} done={noteFailed} />
    </>
  );
}

type Done = (response: Response) => Promise<void>;

function allOf({ name }: Job, done: Done): Action {
  return {
    verb: "Redrive all",
    question: `Redrive all parked runs of ${name}?`,
    effect: "Each runs again once, as another run of the same version and tick: up to 100 with one request.",
    ends: false,
    scope: "jobs:trigger",
    call: () => callOf("redriveJob", { path: { name }, body: { all: true } }, { repeatable: true }),
    drover: droverOf("jobs", "redrive", name, "--all"),
    done,
  };
}

function oneOf({ name }: Job, { id }: RunSummary, done: Done): Action {
  return {
    verb: "Redrive",
    question: `Redrive ${id}?`,
    effect: "It runs again once, as another run of the same version and tick, and is parked no more.",
    ends: false,
    scope: "jobs:trigger",
    call: () => callOf("redriveJob", { path: { name }, body: { runs: [id] } }, { repeatable: true }),
    drover: droverOf("jobs", "redrive", name, id),
    done,
  };
}

function Table({ runs, job, done }: { runs: readonly RunSummary[]; job: Job; done: Done }) {
  const zone = job.schedule?.zone ?? "UTC";
  return (
    <Scroll label="Parked runs">
      <table>
        <Heads of={["Run", `Tick (${zone})`, "Since", "Tries", "Reason", "Again"]} />
        <tbody>
          {runs.map((run) => {
            const { [JOB_LABELS.tick]: tick } = run.labels;
            return (
              <tr key={run.id}>
                <td>
                  <a href={itemHref("runs", run.id)}>{run.id}</a>
                </td>
                <td>
                  {tick === undefined ? "triggered" : <span title={utc(tick)}>{localTime(tick, zone)}</span>}
                </td>
                <td>
                  <Moment at={run.parked?.since ?? run.finishedAt} />
                </td>
                <td>{run.parked?.tries ?? <span class="none">–</span>}</td>
                <td>{run.parked?.reason}</td>
                <td>
                  <Actions actions={[oneOf(job, run, done)]} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
