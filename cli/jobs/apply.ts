// What does `drover jobs apply` show before it stores jobs, and what does it store?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { Job, JobFields, JobTick, PutJobRequest } from "../../client/types.ts";
import { HIDDEN } from "../../src/shared/access/hidden.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Difference, differencesOf } from "../pool-edit/differences.ts";
import { agreed } from "../terminal/confirm.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, cut, printable, table } from "../terminal/text.ts";
import { circleIn, inOrder } from "./in-order.ts";
import { type DescribedJob, readJobFiles } from "./job-file.ts";
import { saidBy } from "./said.ts";
import { ticksText } from "./views.ts";

/** The flags of `drover jobs apply`, as parsed. */
export interface ApplyFlags {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** What would become of one job. */
interface Planned {
  job: DescribedJob;
  /** As it is stored now. Undefined: it is new. */
  present: Job | undefined;
  differences: Difference[];
  next: JobTick[];
}

const NOTHING = "No job was stored.";
const UNKNOWN = "What is hidden cannot be compared without runs:env. If it is the same, it stays as it is.\n";
const NO_SCHEDULE = "It has no schedule: it runs when it is triggered.";
/** How many ticks are shown before anything is stored. */
const SHOWN_TICKS = 10;
const MAX_VALUE_CHARS = 60;

/** Shows what the files change and the next ticks, asks, and stores the jobs that differ. */
export async function applyJobs(io: Io, files: readonly string[], flags: ApplyFlags): Promise<void> {
  if (flags.json === true && flags.yes !== true && flags.dryRun !== true) {
    throw new CliError("--json shows nothing before it asks.", ["Add --yes to store, or --dry-run to look."]);
  }
  const jobs = inOrder(await readJobFiles(files));
  refuseCircle(jobs);
  const { client } = connect(io);
  const plan: Planned[] = [];
  for (const job of jobs) plan.push(await planned(client, job));
  const changing = plan.filter(({ present, differences }) => present === undefined || differences.length > 0);
  if (flags.json !== true) for (const one of plan) await io.stdout.write(planText(io, one));
  const stored: Job[] = [];
  try {
    if (flags.dryRun !== true && changing.length > 0) await store(io, client, changing, { ...flags, stored });
  } finally {
    if (flags.json === true) await io.stdout.write(`${asJson(plan.map((one) => shownAs(one, stored)))}\n`);
  }
  if (flags.dryRun === true) await io.say("nothing was stored: this was --dry-run");
}

/** The control plane knows only circles of jobs that it has. */
function refuseCircle(jobs: readonly DescribedJob[]): void {
  const circle = circleIn(jobs)?.map(({ name }) => printable(name));
  if (circle === undefined) return;
  const words = [...circle, circle[0]].join(" after ");
  const what =
    circle.length === 1 ? "This job waits for itself" : "These jobs wait for each other in a circle";
  throw new CliError(`${what}: ${words}.`, [`Take one of them out of \`after\`. ${NOTHING}`]);
}

async function planned(client: Client, job: DescribedJob): Promise<Planned> {
  const { name } = job;
  const refuse = (error: unknown) => {
    throw refused(error, job);
  };
  const present = await presentJob(client, name).catch(refuse);
  const described = job.content as JobFields; // the server validates it, and names each wrong field
  const { items, fields = {} } = await client.jobs
    .preview(name, { fields: described, count: SHOWN_TICKS })
    .catch(refuse);
  const differences =
    present === undefined ? [] : [...differencesOf(saidBy(present), fields), ...pauseOf(job, present)];
  return { job, present, differences, next: items };
}

/** What a file says of a pause that is not so. */
function pauseOf({ paused }: DescribedJob, present: Job): Difference[] {
  const before = present.paused !== null;
  return paused === undefined || paused === before ? [] : [{ path: "/paused", before, after: paused }];
}

/** Names a wrong field as the file does. */
function refused(error: unknown, { name, file }: DescribedJob): unknown {
  if (!(error instanceof ApiError) || error.errors.length === 0) return error;
  const lines = error.errors.map(({ pointer, detail }) => `${pointer.replace(/^\/fields/, "")}: ${detail}`);
  return new CliError(`Drover does not accept the job ${printable(name)} in ${file}:`, [
    ...lines.map(printable),
    NOTHING,
  ]);
}

async function presentJob(client: Client, name: string): Promise<Job | undefined> {
  try {
    return await client.jobs.get(name);
  } catch (error) {
    if (error instanceof ApiError && error.code === "unknown_job") return undefined;
    throw error;
  }
}

function planText(io: Io, { job, present, differences, next }: Planned): string {
  const name = printable(job.name);
  if (present !== undefined && differences.length === 0) {
    return `Job ${name} is already as the file says, version ${present.version}\n`;
  }
  const ticks = ticksText(io, next, "schedule" in job.content ? "It has no ticks to come." : NO_SCHEDULE);
  const pause = pauseText(job, present);
  if (present === undefined) return `Job ${name} is new\n\n${ticks}${pause}\n`;
  const rows = differences.map(({ path, before, after }) => [path, valueText(before), valueText(after)]);
  const changes = table(["FIELD", "BEFORE", "AFTER"], rows, Number.POSITIVE_INFINITY);
  const hidden = differences.some(({ before }) => JSON.stringify(before)?.includes(HIDDEN)) ? UNKNOWN : "";
  return `Job ${name}, now version ${present.version}, changes\n\n${changes}${hidden}\n${ticks}${pause}\n`;
}

function pauseText({ paused }: DescribedJob, present: Job | undefined): string {
  const was = present !== undefined && present.paused !== null;
  if (paused ?? was) return was ? "It is paused, and stays so.\n" : "It is paused by this.\n";
  return was ? "It is resumed by this: ticks count from now on.\n" : "";
}

function valueText(value: unknown): string {
  return value === undefined ? "" : cut(JSON.stringify(value), MAX_VALUE_CHARS);
}

/** Stores the jobs, and adds each to `stored`. */
async function store(
  io: Io,
  client: Client,
  changing: readonly Planned[],
  { yes, json, stored }: ApplyFlags & { stored: Job[] },
): Promise<void> {
  const [only, ...others] = changing.map(({ job }) => printable(job.name));
  const which = others.length === 0 ? `the job ${only}` : `these ${changing.length} jobs`;
  await agreed(`Store ${which}?`, yes, NOTHING);
  for (const { job, present } of changing) {
    await refuseStale(client, job, present, stored.length);
    const view = await client.jobs.put(job.name, putOf(job)).catch((error: unknown) => {
      throw notStored(error, job, stored.length);
    });
    stored.push(view);
    if (json !== true) {
      await io.stdout.write(`Job ${printable(view.name)} is as the file says, version ${view.version}\n`);
    }
  }
}

/** A put is refused for more than its fields, such as a pool that is not there. */
function notStored(error: unknown, { name, file }: DescribedJob, stored: number): unknown {
  if (!(error instanceof ApiError)) return error;
  const lines = error.errors.map(({ pointer, detail }) => printable(`${pointer}: ${detail}`));
  return new CliError(`The job ${printable(name)} in ${file} was not stored: ${printable(error.detail)}`, [
    ...(lines.length > 1 ? lines : []),
    leftText(stored),
  ]);
}

function leftText(stored: number): string {
  return stored === 0 ? NOTHING : "Those before it are stored. The same command stores the rest.";
}

function putOf({ content, paused }: DescribedJob): PutJobRequest {
  return { ...(content as JobFields), paused }; // as the server has checked it
}

/** The API has no condition for a put, so a change of somebody else is found by a look right before. */
async function refuseStale(
  client: Client,
  { name, paused }: DescribedJob,
  shown: Job | undefined,
  stored: number,
): Promise<void> {
  const present = await presentJob(client, name);
  const isSame = present?.version === shown?.version && present?.createdAt === shown?.createdAt;
  // A pause is no version, and a file that says nothing of it leaves it as it is.
  const isPausedAlike = paused === undefined || present?.paused?.at === shown?.paused?.at;
  if (isSame && isPausedAlike) return;
  const what = isSame ? "paused or resumed" : "changed";
  throw new CliError(`Somebody has ${what} the job ${printable(name)} meanwhile.`, [
    `Look at the differences once more: drover jobs apply --dry-run. ${leftText(stored)}`,
  ]);
}

/** What `--json` prints of a job. */
function shownAs({ job, present, differences, next }: Planned, stored: readonly Job[]): object {
  const now = stored.find(({ name }) => name === job.name);
  return {
    name: job.name,
    isNew: present === undefined,
    differences,
    next,
    stored: now !== undefined,
    version: now?.version ?? present?.version ?? null,
  };
}
