// How are jobs, their ticks and what they say shown?
import type { Job, JobParam, JobSummary, JobTick } from "../../client/types.ts";
import { nameIn } from "../../src/shared/access/project.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { listText } from "../list.ts";
import { afterText } from "../run/many/after.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { counted, fields, printable } from "../terminal/text.ts";

/** The list of jobs. */
export function jobsText(io: Io, jobs: readonly JobSummary[]): string {
  const headings = ["JOB", "VERSION", "POOL", "SCHEDULE", "NEXT", "DESCRIPTION"];
  const rows = jobs.map(({ project, name, version, pool, schedule, paused, next, description }) => [
    nameIn(project, name, "/"),
    String(version),
    pool,
    schedule === null ? "" : scheduleText(schedule),
    paused ? "paused" : (next?.at ?? ""),
    description,
  ]);
  return listText(io, headings, rows, "No jobs. Describe one in a file: drover jobs apply job.json");
}

/** When a schedule has ticks, in short. */
export function scheduleText({ cron, zone }: NonNullable<JobSummary["schedule"]>): string {
  return `${[cron].flat().join(" | ")} ${zone}`;
}

/** Ticks to come, with the ids of their runs. `empty`: what is said if there are none. */
export function ticksText(io: Io, ticks: readonly JobTick[], empty: string): string {
  const isSpread = ticks.some(({ at, startAt }) => at !== startAt);
  const headings = ["TICK", "LOCAL", ...(isSpread ? ["STARTS"] : []), "RUN"];
  const rows = ticks.map(({ at, local, startAt, run }) => [at, local, ...(isSpread ? [startAt] : []), run]);
  return listText(io, headings, rows, empty);
}

/** Everything that a job says and is, for a person. */
export function jobText(io: Io, job: Job): string {
  const { bold } = colorsFor(io.stdout);
  const { schedule, paused, next, waiting, skips } = job;
  const parts = [fields(pairsOf(job), bold), paramsText(io, job.params ?? {})];
  if (schedule !== undefined && paused === null) {
    parts.push(`${bold("Next ticks")}\n${ticksText(io, next, "None: its schedule has ended.")}`);
  }
  if (waiting.length > 0) parts.push(`${bold("Not submitted yet")}\n${ticksText(io, waiting, "")}`);
  const waits = waiting.flatMap(({ run, text }) =>
    text === undefined ? [] : [printable(`${run}: ${text}`)],
  );
  if (waits.length > 0) parts.push(`${bold("What they wait for")}\n${waits.join("\n")}\n`);
  if (skips.length > 0) {
    parts.push(`${counted(skips.length, "gap")} in its ticks: drover jobs history ${job.name}\n`);
  }
  return parts.filter((text) => text !== "").join("\n");
}

function pairsOf(job: Job): [string, string][] {
  const { spec, schedule, paused, payload = "forbidden", payloadFile = "", meta } = job;
  const { required = [], optional = [] } = meta ?? {};
  const payloadText = payload === "forbidden" ? "" : `${payload}, in ${payloadFile}`;
  return [
    ["job", job.name],
    ["description", job.description ?? ""],
    ["version", `${job.version}, of ${job.changedAt} by ${job.changedBy}`],
    ["created", `${job.createdAt} by ${job.createdBy}`],
    ["paused", paused === null ? "" : `since ${paused.at} by ${paused.by}`],
    ["after", (spec.after ?? []).map(afterText).join(", ")],
    ["pool", job.pool],
    ["command", commandText(spec)],
    ["schedule", schedule === undefined ? "none: it runs when it is triggered" : scheduleText(schedule)],
    ["jitter", schedule === undefined || schedule.jitter === "0s" ? "" : (schedule.jitter ?? "")],
    ["retries", retriesText(spec)],
    ["overlap", schedule?.overlap ?? ""],
    ["missed", schedule === undefined ? "" : `${schedule.missed}, at most ${schedule.catchUp} late`],
    ["from", schedule?.from ?? ""],
    ["until", schedule?.until ?? ""],
    ["payload", payloadText],
    ["meta", [...required, ...optional.map((key) => `${key} (optional)`)].join(", ")],
  ];
}

/** For which causes its runs are tried again, and whether those that fail for good are parked. */
function retriesText({ retry }: Job["spec"]): string {
  if (retry === undefined) return "";
  const { on = [], max = 3, park = false } = retry;
  const tries = on.length === 0 ? "none" : `after ${on.join(", ")}, at most ${max}`;
  return `${tries}${park ? "; what fails for good is parked" : ""}`;
}

function commandText({ argv, tasks, container }: Job["spec"]): string {
  if (tasks !== undefined) return `the tasks ${tasks.map(({ name }) => name).join(", ")}`;
  return argv === undefined ? `what the image ${container?.image} runs` : quoteArgv(argv);
}

function paramsText(io: Io, params: Record<string, JobParam>): string {
  const rows = Object.entries(params).map(([name, param]) => [
    name,
    param.type,
    param.required === true ? "required" : JSON.stringify(param.default ?? ""),
    [param.enum?.map((value) => JSON.stringify(value)).join(" "), param.pattern].filter(Boolean).join(" "),
    param.description ?? "",
  ]);
  const headings = ["PARAMETER", "TYPE", "DEFAULT", "ALLOWED", "DESCRIPTION"];
  return rows.length === 0 ? "" : listText(io, headings, rows, "");
}
