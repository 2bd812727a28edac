// How are the ticks of a time that is over triggered (cli.md#jobs-backfill)?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { JobTick, TriggerRequest } from "../../client/types.ts";
import { forEachOf } from "../each.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Moment } from "../output/moment.ts";
import { PATIENCE } from "../run/patience.ts";
import { agreed } from "../terminal/confirm.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, counted, printable } from "../terminal/text.ts";
import { verdictOf } from "../verdict.ts";
import { refusedTrigger } from "./given.ts";

/** The most ticks that one answer has, and the most of one backfill. */
const TICKS_A_PAGE = 1_000;
export const MAX_BACKFILL = 10_000;

/** How a backfill goes, by the flags of `drover jobs trigger`. */
export interface Backfill {
  since: Moment;
  until?: Moment | undefined;
  yes?: boolean | undefined;
  quiet?: boolean | undefined;
  json?: boolean | undefined;
  /** At most so many of its runs have not ended. Absent: all are triggered at once. */
  maxParallel?: number | undefined;
}

/** What became of one tick. */
interface Filled {
  tick: string;
  run: string;
  found: boolean;
  /** As `drover run` would give it. Absent: the end of the run was not waited for, or not seen. */
  exitCode?: number;
}

/**
 * Triggers each tick from `since` on and before `until`, after a question. A tick has one run, however often
 * it is triggered, so a backfill can be repeated. Resolves with the exit code: with `maxParallel`, which
 * waits for the runs, that of the first tick whose run did not end well.
 */
export async function backfill(
  io: Io,
  client: Client,
  job: string,
  given: TriggerRequest,
  how: Backfill,
): Promise<number> {
  const ticks = await ticksBetween(client, job, how);
  const [first] = ticks;
  const last = ticks.at(-1);
  if (first === undefined || last === undefined) {
    await io.say(`The job ${printable(job)} has no tick in that time.`);
    return 0;
  }
  const range = first === last ? `at ${first.at}` : `from ${first.at} to ${last.at}`;
  const count = counted(ticks.length, "tick");
  if (how.quiet !== true) await io.say(`The job ${printable(job)} has ${count} in that time, ${range}.`);
  await agreed(`Trigger ${count}?`, how.yes, "Nothing was triggered.");
  const filled: Filled[] = [];
  let lost = 0;
  let refused: ApiError | undefined;
  const trigger = async (at: string) => {
    try {
      return await client.jobs.trigger(job, { ...given, tick: at }, { patience: PATIENCE });
    } catch (error) {
      if (!isOfGiven(error)) throw error;
      refused = error;
      return undefined;
    }
  };
  const fill = async (at: string): Promise<boolean> => {
    // What no tick can be given need not be tried with each of them.
    const triggered = refused === undefined ? await trigger(at) : undefined;
    if (triggered === undefined) return false;
    const { run, found } = triggered;
    const one: Filled = { tick: at, run: run.id, found };
    filled.push(one);
    if (how.json !== true) await io.stdout.write(`${run.id}\n`);
    if (how.maxParallel === undefined) return true;
    lost += 1;
    one.exitCode = verdictOf(await client.runs.wait(run.id, { patience: PATIENCE })).exitCode;
    lost -= 1;
    return true;
  };
  const wentWell = await forEachOf(
    io,
    ticks.map(({ at }) => at),
    fill,
    how.maxParallel,
  );
  filled.sort((a, b) => Number(a.tick > b.tick) - Number(a.tick < b.tick));
  if (how.json === true) await io.stdout.write(`${asJson(filled)}\n`);
  const isAnyMade = refused === undefined || filled.length > 0;
  if (isAnyMade && how.quiet !== true) await io.say(summaryOf(filled, lost, ticks.length));
  if (refused !== undefined) throw refusedTrigger(refused, job, first.run);
  return wentWell ? (filled.find(hasFailed)?.exitCode ?? 0) : EXIT.drover;
}

/** Whether a trigger is refused for the values that it was given, as that of any other tick would be. */
function isOfGiven(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === "invalid_request";
}

function hasFailed({ exitCode = 0 }: Filled): boolean {
  return exitCode !== 0;
}

/** `lost`: runs whose end was not seen. */
function summaryOf(filled: readonly Filled[], lost: number, count: number): string {
  const found = filled.filter((one) => one.found).length;
  const made = filled.length - found;
  const failed = count - filled.length;
  const ended = filled.filter(hasFailed).length;
  return [
    `${counted(made, "run")} made`,
    ...(found > 0 ? [`${found} found that existed already`] : []),
    ...(failed > 0 ? [`${failed} failed: the same command with the same instants tries these again`] : []),
    ...(ended > 0 ? [`${counted(ended, "run")} did not end well`] : []),
    ...(lost > 0 ? [`${lost} lost sight of: they may go on`] : []),
  ].join(", ");
}

async function ticksBetween(
  client: Client,
  job: string,
  { since, until }: Pick<Backfill, "since" | "until">,
): Promise<JobTick[]> {
  const now = client.now();
  const [from, end] = [since.at(now), until?.at(now) ?? now];
  if (end > now) {
    throw new CliError("--until is still to come.", ["A backfill is of ticks that have come. Leave it out."]);
  }
  if (from >= end) {
    throw until === undefined
      ? new CliError("--since has not come yet.", ["A backfill is of ticks that have come."])
      : new CliError("--since is not before --until.", ["Exchange them."]);
  }
  const ticks: JobTick[] = [];
  for (let after = from - 1; ; ) {
    const options = { count: TICKS_A_PAGE, after: new Date(after).toISOString() };
    const { items } = await client.jobs.ticks(job, options);
    const wanted = items.filter(({ at }) => Date.parse(at) < end);
    ticks.push(...wanted);
    if (ticks.length > MAX_BACKFILL) {
      throw new CliError(`That time has more than ${MAX_BACKFILL} ticks.`, [
        "Take one part after the other.",
      ]);
    }
    const last = wanted.at(-1);
    if (last === undefined || wanted.length < TICKS_A_PAGE) return ticks;
    after = Date.parse(last.at);
  }
}
