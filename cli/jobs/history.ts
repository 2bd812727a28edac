// What happened at the ticks of a job, and when it was triggered?
import type { Client } from "../../client/client.ts";
import type { Job, JobSkip, RunSummary } from "../../client/types.ts";
import { JOB_LABELS } from "../../src/shared/jobs/labels.ts";
import { listText } from "../list.ts";
import { stateCells } from "../run/failed.ts";
import { readRuns } from "../run/list-runs.ts";
import type { Io } from "../terminal/io.ts";
import { type Cell, elapsed } from "../terminal/text.ts";

/** One thing of a history: a run, or ticks without one. */
export type Happening =
  | { what: "run"; at: string; run: RunSummary }
  | { what: "skip"; at: string; skip: JobSkip };

/** A history, newest first. `isCut`: there is more than was asked for. */
export interface History {
  items: Happening[];
  isCut: boolean;
  /** Warnings about pools whose runs may be missing. */
  troubles: string[];
}

/** The latest runs and skipped ticks of a job, at most `limit`. `since`: none that is earlier, in ms. */
export async function historyOf(
  client: Client,
  job: Job,
  { since, limit }: { since?: number | undefined; limit: number },
): Promise<History> {
  const from = since === undefined ? {} : { since: new Date(since).toISOString() };
  const filter = { states: ["all" as const], labels: { [JOB_LABELS.job]: job.name }, ...from };
  const { runs, troubles } = await readRuns(client, filter, limit + 1, {}, job.project);
  const all: Happening[] = [
    ...runs.map((run) => ({ what: "run" as const, at: run.submittedAt, run })),
    ...job.skips.map((skip) => ({ what: "skip" as const, at: skip.at, skip })),
  ];
  const wanted = all.filter(({ at }) => since === undefined || Date.parse(at) >= since);
  wanted.sort((a, b) => Number(a.at < b.at) - Number(a.at > b.at));
  return { items: wanted.slice(0, limit), isCut: wanted.length > limit || runs.length > limit, troubles };
}

/** A history as a table. `empty`: what is said instead of an empty one. */
export function historyText(io: Io, items: readonly Happening[], now: number, empty: string): string {
  const headings = ["AT", "TICK", "STATE", "EXIT", "TOOK", "RUN", "WHY"];
  const rows = items.map((one) => (one.what === "run" ? runRow(one.run, now) : skipRow(one.skip)));
  return listText(io, headings, rows, empty);
}

function runRow(run: RunSummary, now: number): Cell[] {
  const { id, labels, submittedAt, startedAt, finishedAt } = run;
  const tick = labels[JOB_LABELS.tick] ?? "triggered";
  const took = elapsed(startedAt, finishedAt ?? now);
  return [submittedAt, tick, ...stateCells(run), took, id, whyText(run)];
}

/** Why it has failed, which try it is if not the first, and whether it waits for somebody. */
function whyText({ failure, tries, parked }: RunSummary): string {
  const parts: string[] = [
    failure ?? "",
    tries === undefined ? "" : `try ${tries}`,
    parked === undefined ? "" : "parked",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function skipRow({ at, from, to, count, reason, text }: JobSkip): Cell[] {
  const ticks = count === 1 ? from : `${count} from ${from} to ${to}`;
  return [at, ticks, "skipped", "", "", "", `${reason}: ${text}`];
}
