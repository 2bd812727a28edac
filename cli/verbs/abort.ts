import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { hasEnded } from "../../client/states.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { CliError, EXIT } from "../errors.ts";
import { troublesOf } from "../explain.ts";
import { pair } from "../options.ts";
import type { Io } from "../terminal/io.ts";

interface AbortFlags {
  reason?: string;
  wait: boolean;
  label?: Record<string, string>;
  pool?: string;
  all?: boolean;
  force?: boolean;
}

/**
 * Few enough that they are asked in time also by a busy Drover: were the answer lost, those that end at once
 * would not be in that of the next try.
 */
const ASKED_AT_ONCE = 100;
const WAITED_FOR_AT_ONCE = 1_000;

const HELP = `
A run that has ended already is left as it is. The exit code is ${EXIT.drover} if any of the
runs could not be aborted.

Examples:
  drover abort build-17
  drover abort --reason "wrong branch" build-17 build-18
  drover abort --label set=nightly
  drover abort --force build-17`;

/** `drover abort`: ends runs. */
export function addAbort(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("abort")
    .summary("end runs")
    .description(
      "Ends runs: asks their commands to stop, and kills what has not stopped in its kill timeout.",
    )
    .argument("[run...]", "the ids of the runs")
    .option("-l, --label <name=value>", "all runs with this label (repeatable: with all of them)", pair)
    .option("--pool <name>", "all runs of this pool")
    .option("--all", "all runs there are")
    .option("--reason <text>", "why; it is kept with the run")
    .option("--force", "kill at once what lives of them, also in a stop that has begun")
    .addOption(new Option("--wait").default(true).hideHelp())
    .option("--no-wait", "only ask for it, and do not wait for their ends")
    .addHelpText("after", HELP)
    .action(async (ids: string[], flags: AbortFlags) => {
      const { client } = connect(io);
      const wentWell = isOfMany(ids, flags)
        ? await abortMany(io, client, flags)
        : await forEachOf(io, ids, (id) => abortOne(io, client, id, flags));
      if (!wentWell) exitWith(EXIT.drover);
    });
}

/** Whether runs are meant that are not named. Throws unless it is said in one way which are. */
function isOfMany(ids: readonly string[], { label, pool, all }: AbortFlags): boolean {
  const isMany = label !== undefined || pool !== undefined || all === true;
  if (isMany === (ids.length === 0) && !(all && label !== undefined)) return isMany;
  throw new CliError("It is not clear which runs are to end.", [
    "Name them, or say --label or --pool for all that fit, or --all for all there are.",
  ]);
}

/** Asks page after page of those that are meant, then tells how each has ended. */
async function abortMany(io: Io, client: Client, { label, pool, all, reason, force, wait }: AbortFlags) {
  const asked: string[] = [];
  let wentWell = true;
  for (let cursor: string | undefined, more = true; more; ) {
    const page = await client.runs.abortMany({
      labels: label,
      pool,
      all,
      reason,
      force,
      cursor,
      limit: ASKED_AT_ONCE,
    });
    asked.push(...page.items.map(({ id }) => id));
    for (const { id, detail } of page.failed) await io.say(`${id}: ${detail}`);
    for (const trouble of troublesOf(page.service)) await io.say(trouble);
    wentWell &&= page.failed.length === 0 && page.service.every(({ healthy }) => healthy);
    cursor = page.next ?? undefined;
    more = cursor !== undefined;
  }
  if (asked.length === 0) await io.say("No pending or running run matches.");
  for (let at = 0; at < asked.length; at += WAITED_FOR_AT_ONCE) {
    const ids = asked.slice(at, at + WAITED_FOR_AT_ONCE);
    if (wait) wentWell = (await tellEnds(io, client, ids)) && wentWell;
    else for (const id of ids) await io.stdout.write(`${id} is being aborted\n`);
  }
  return wentWell;
}

/** Waits for the ends of runs together. Returns whether that went well for all of them. */
async function tellEnds(io: Io, client: Client, ids: readonly string[]): Promise<boolean> {
  const tell = (id: string, state: string) => io.stdout.write(`${id} ended: ${state}\n`);
  try {
    const { items } = await client.runs.waitAll({ ids });
    for (const { id, state } of items) await tell(id, state);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && (error.status === 404 || error.status === 410))) throw error;
    // Somebody has deleted one of them, which fails the question as a whole: each is asked for itself.
    return await forEachOf(io, ids, async (id) => {
      await tell(id, (await client.runs.wait(id)).state);
      return true;
    });
  }
}

/** Says what became of it: whatever that is, it is what was asked for. */
async function abortOne(io: Io, client: Client, id: string, flags: AbortFlags): Promise<true> {
  const before = await client.runs.get(id);
  if (hasEnded(before)) {
    await io.stdout.write(`${id} had ended: ${before.state}\n`);
    return true;
  }
  const after = await client.abort(id, { reason: flags.reason, force: flags.force, wait: flags.wait });
  if (!flags.wait) {
    await io.stdout.write(`${id} is being aborted\n`);
    return true;
  }
  await io.stdout.write(`${id} ended: ${after.state}\n`);
  return true;
}
