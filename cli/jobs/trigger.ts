// How does `drover jobs trigger` make a run, and stay with it?
import type { Client } from "../../client/client.ts";
import { newTriggerKey } from "../../client/runs/jobs.ts";
import type { Job, TriggerRequest } from "../../client/types.ts";
import { type Context, connect } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Moment } from "../output/moment.ts";
import { type Staying, stayWith, submitPatiently } from "../run/attended.ts";
import type { Io } from "../terminal/io.ts";
import { asJson } from "../terminal/text.ts";
import { backfill } from "./backfill.ts";
import { type GivenFlags, givenTo, refusedTrigger } from "./given.ts";

/** The flags of `drover jobs trigger`, as parsed. */
export interface TriggerFlags extends GivenFlags, Staying {
  key?: string;
  tick?: string;
  detach?: boolean;
  since?: Moment;
  until?: Moment;
  maxParallel?: number;
  yes?: boolean;
}

/** Makes one run, or one for each tick of a time that is over. Resolves with the exit code. */
export async function triggerJob(io: Io, name: string, flags: TriggerFlags): Promise<number> {
  refuseMixed(flags);
  const { client, context } = connect(io);
  const job = await client.jobs.get(name);
  const given = await givenTo(job, flags);
  const { since, key, tick } = flags;
  if (since !== undefined) return await backfill(io, client, name, given, { ...flags, since });
  const named = tick === undefined ? { key: key ?? newTriggerKey() } : { tick };
  return await triggerOne(io, client, context, job, { ...given, ...named }, flags);
}

/** Throws a `CliError` for flags of one run together with those of a backfill. */
function refuseMixed({ since, until, maxParallel, key, tick }: TriggerFlags): void {
  if (key !== undefined && tick !== undefined) {
    throw new CliError("--key and --tick cannot be combined.", ["The run of a tick has its own id."]);
  }
  if (since === undefined && (until !== undefined || maxParallel !== undefined)) {
    throw new CliError("--until and --max-parallel need --since.", ["Say from when on ticks are triggered."]);
  }
  if (since !== undefined && (key !== undefined || tick !== undefined)) {
    throw new CliError("--since triggers many ticks: it cannot be combined with --key or --tick.", [
      "Leave one of them out.",
    ]);
  }
}

async function triggerOne(
  io: Io,
  client: Client,
  context: Context,
  job: Job,
  request: TriggerRequest,
  { detach, ...how }: TriggerFlags,
): Promise<number> {
  const id = await idOf(client, job, request);
  const refused = (error: unknown) => {
    throw refusedTrigger(error, job.name, id);
  };
  const say = async (found: boolean) => {
    if (found && how.quiet !== true) await io.say(`Run ${id} exists already: this is that run.`);
  };
  if (detach === true) {
    const { run, found } = await client.jobs.trigger(job.name, request).catch(refused);
    await say(found);
    await io.stdout.write(how.json ? `${asJson(run)}\n` : `${run.id}\n`);
    return 0;
  }
  return await stayWith(io, client, context, { ...job.spec, id }, how, async (signal) => {
    const trigger = (more: object) => client.jobs.trigger(job.name, request, { signal, ...more });
    const { found } = await submitPatiently(trigger).catch(refused);
    await say(found);
  });
}

/** The id that the run will have (jobs.md#ids). Known before the request, it lets Ctrl-C abort the run. */
async function idOf(client: Client, job: Job, { key, tick }: TriggerRequest): Promise<string> {
  if (tick === undefined) return `${prefixOf(job)}${job.name}-by-${key}`;
  const after = new Date(Date.parse(tick) - 1).toISOString();
  const { items } = await client.jobs.ticks(job.name, { count: 1, after });
  const [next] = items;
  if (next !== undefined && Date.parse(next.at) === Date.parse(tick)) return next.run;
  throw new CliError(`${tick} is no tick of the job ${job.name}.`, [
    next === undefined ? "It has no schedule, or its schedule has ended." : `The next one is ${next.at}.`,
    `See its ticks: drover jobs next ${job.name}`,
  ]);
}

function prefixOf({ project }: Job): string {
  return project === "default" ? "" : `${project}.`;
}
