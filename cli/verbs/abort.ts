// `drover abort`: ends runs, by id or by filter.
import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { hasEnded } from "../../client/states.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { CliError, EXIT } from "../errors.ts";
import { troublesOf } from "../explain.ts";
import { pair } from "../options.ts";
import { readPages } from "../pages.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

interface AbortFlags {
  reason?: string;
  wait: boolean;
  label?: Record<string, string>;
  array?: string;
  pool?: string;
  all?: boolean;
  force?: boolean;
}

/**
 * Few enough for a busy Drover to answer in time. If the answer is lost, the request is repeated, and the
 * second answer lacks the runs that the first request has already ended.
 */
const ABORTS_PER_REQUEST = 100;
const WAITS_PER_REQUEST = 1_000;

const HELP = `
Runs that have already ended are left as they are. The exit code is ${EXIT.drover} if any of the
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
    .description("Ends runs: asks their commands to stop, and kills those that outlast their kill timeout.")
    .argument("[run...]", RUNS_TEXT)
    .option("-l, --label <name=value>", "all runs with this label (repeatable: with all labels)", pair)
    .option("--array <id>", "all runs of this array, as drover run --array or --matrix made it")
    .option("--pool <name>", "all runs of this pool")
    .option("--all", "all runs")
    .option("--reason <text>", "the reason, kept with the run")
    .option("--force", "kill at once, even if a stop has begun")
    .addOption(new Option("--wait").default(true).hideHelp())
    .option("--no-wait", "do not wait for the runs to end")
    .addHelpText("after", HELP)
    .action(async (texts: string[], flags: AbortFlags) => {
      const { client } = connect(io);
      const asking = { io, client, changes: true };
      const one = (text: string) => withRun(asking, text, (id) => abortOne(io, client, id, flags));
      const wentWell = isOfMany(texts, flags)
        ? await abortMany(io, client, flags)
        : await forEachOf(io, texts, one);
      if (!wentWell) exitWith(EXIT.drover);
    });
}

/** Whether runs are chosen by a filter. Throws unless they are chosen in exactly one way. */
function isOfMany(ids: readonly string[], { label, array, pool, all }: AbortFlags): boolean {
  const isChosen = label !== undefined || array !== undefined;
  const isMany = isChosen || pool !== undefined || all === true;
  if (isMany === (ids.length === 0) && !(all && isChosen)) return isMany;
  throw new CliError("It is not clear which runs to end.", [
    "Name them, choose them with --label, --array or --pool, or end all runs with --all.",
  ]);
}

/** Aborts the chosen runs page by page, then prints how each has ended. */
async function abortMany(io: Io, client: Client, { label, wait, ...flags }: AbortFlags) {
  const { array, pool, all, reason, force } = flags;
  const which = { labels: label, array, pool, all, reason, force, limit: ABORTS_PER_REQUEST };
  const pages = await readPages(Number.POSITIVE_INFINITY, async ({ cursor }) => {
    const page = await client.runs.abortMany({ ...which, cursor });
    for (const { id, detail } of page.failed) await io.say(`${id}: ${detail}`);
    for (const trouble of troublesOf(page.service)) await io.say(trouble);
    return page;
  });
  const aborted = pages.flatMap(({ items }) => items.map(({ id }) => id));
  let wentWell = pages.every(
    ({ failed, service }) => failed.length === 0 && service.every(({ healthy }) => healthy),
  );
  if (aborted.length === 0) await io.say("No pending or running run matches.");
  for (let at = 0; at < aborted.length; at += WAITS_PER_REQUEST) {
    const ids = aborted.slice(at, at + WAITS_PER_REQUEST);
    if (wait) wentWell = (await printEnds(io, client, ids)) && wentWell;
    else for (const id of ids) await io.stdout.write(`${id} is being aborted\n`);
  }
  return wentWell;
}

/** Waits for all these runs to end, and prints each end. Returns whether all waits succeeded. */
async function printEnds(io: Io, client: Client, ids: readonly string[]): Promise<boolean> {
  const print = (id: string, state: string) => io.stdout.write(`${id} ended: ${state}\n`);
  try {
    const { items } = await client.runs.waitAll({ ids });
    for (const { id, state } of items) await print(id, state);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && (error.status === 404 || error.status === 410))) throw error;
    // A run has been deleted, so the request for all runs has failed. Wait for each run separately.
    return await forEachOf(io, ids, async (id) => {
      await print(id, (await client.runs.wait(id)).state);
      return true;
    });
  }
}

/** Aborts one run and prints its end. Any end is a success. */
async function abortOne(io: Io, client: Client, id: string, flags: AbortFlags): Promise<true> {
  const before = await client.runs.get(id);
  if (hasEnded(before)) {
    await io.stdout.write(`${id} had already ended: ${before.state}\n`);
    return true;
  }
  const after = await client.abort(id, { reason: flags.reason, force: flags.force, wait: flags.wait });
  await io.stdout.write(`${id} ${flags.wait ? `ended: ${after.state}` : "is being aborted"}\n`);
  return true;
}
