// `drover wait`: waits until runs have ended, and tells by one exit code whether all of them ended well.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { RunFilter } from "../../client/runs/run-lists.ts";
import type { RunSummary } from "../../client/types.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { isTerminal } from "../../src/shared/run-state.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { listText } from "../list.ts";
import { pair, positiveDuration } from "../options.ts";
import { stateCells } from "../run/failed.ts";
import { readRuns } from "../run/list-runs.ts";
import { PATIENCE } from "../run/patience.ts";
import { RUNS_TEXT, withRuns } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { noProgress, watchWork } from "../terminal/progress.ts";
import { asJson, counted, elapsed } from "../terminal/text.ts";
import { verdictOf } from "../verdict.ts";

interface WaitFlags {
  label?: Record<string, string>;
  pool?: string;
  timeout?: string;
  quiet?: boolean;
  json?: boolean;
}

/** Where a person watches, the count of runs is asked for this often. Elsewhere a request is held longer. */
const WATCHED_STEP_MS = 5_000;
const STEP_MS = 30_000;

const HELP = `
The exit code is 0 if every command ended with 0. If not, it is that of the first run
in the list that did not, as with drover run. It is ${EXIT.timedOut} if --timeout is over
first, and ${EXIT.drover} if no run matches. Drover may be away for up to two minutes.

Examples:
  drover wait build-17
  drover wait --label set=nightly --timeout 2h
  drover wait build-17 build-18 && ./deploy.sh`;

/** `drover wait`: waits for the end of runs. */
export function addWait(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("wait")
    .summary("wait until runs have ended")
    .description("Waits until runs have ended, lists them, and exits with 0 if all ended well.")
    .argument("[run...]", RUNS_TEXT)
    .option("-l, --label <name=value>", "all runs with this label (repeatable: with all labels)", pair)
    .option("--pool <name>", "all runs of this pool")
    .option("--timeout <duration>", "give up after this time; the runs go on", positiveDuration)
    .option("-q, --quiet", "print nothing but errors")
    .option("--json", "print the runs as a JSON list")
    .addHelpText("after", HELP)
    .action(async (ids: string[], flags: WaitFlags) => exitWith(await wait(io, ids, flags)));
}

async function wait(io: Io, texts: readonly string[], flags: WaitFlags): Promise<number> {
  const { ids, ...filter } = chosenBy([...new Set(texts)], flags);
  const { client } = connect(io);
  const ends =
    ids === undefined
      ? await endsOf(io, client, filter, flags)
      : await withRuns({ io, client }, ids, (whole) => endsOf(io, client, { ids: whole }, flags));
  return ends === undefined ? EXIT.timedOut : await verdict(io, client, ends, flags);
}

/** The chosen runs, once all of them have ended; undefined if the time-out is over first. */
async function endsOf(io: Io, client: Client, chosen: RunFilter, flags: WaitFlags) {
  for (;;) {
    if (!(await waitForAll(io, client, chosen, flags))) return undefined;
    const runs = await readEnds(io, client, chosen);
    // A run that was submitted meanwhile is waited for, too.
    if (runs.every(({ state }) => isTerminal(state))) return runs;
  }
}

/** Prints the runs, and chooses the exit code. */
async function verdict(io: Io, client: Client, runs: RunSummary[], flags: WaitFlags): Promise<number> {
  if (runs.length === 0) throw new CliError("No run matches.", ["To see which runs there are: drover ps -a"]);
  if (flags.json) await io.stdout.write(`${asJson(runs)}\n`);
  else if (flags.quiet !== true) await io.stdout.write(view(runs, io, client.now()));
  const failed = runs.filter(({ state, exitCode }) => state !== "complete" || (exitCode ?? 0) !== 0);
  const [first] = failed;
  if (first === undefined) return 0;
  const { exitCode, message } = verdictOf(await client.runs.get(first.id, { patience: PATIENCE }));
  if (runs.length > 1) await io.say(`${counted(failed.length, "run")} of ${runs.length} did not end well.`);
  else if (message !== undefined) await io.say(message);
  return exitCode;
}

/** Throws unless runs are chosen either by their ids or by a filter. */
function chosenBy(ids: string[], { label, pool }: WaitFlags): Pick<RunFilter, "ids" | "labels" | "pool"> {
  const isFiltered = label !== undefined || pool !== undefined;
  if (isFiltered === ids.length > 0) {
    throw new CliError("It is not clear which runs to wait for.", [
      "Name them, or choose them with --label or --pool.",
    ]);
  }
  return ids.length > 0 ? { ids } : { labels: label, pool };
}

/** Waits until all chosen runs have ended. Resolves with false if the time-out is over first. */
async function waitForAll(
  io: Io,
  client: Client,
  chosen: RunFilter,
  { timeout, quiet }: WaitFlags,
): Promise<boolean> {
  const until = performance.now() + (timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(timeout));
  let open: number | undefined;
  const text = () =>
    open === undefined
      ? "Looks for the runs"
      : `${counted(open, "run")} ${open === 1 ? "has" : "have"} not ended`;
  const progress = quiet === true ? noProgress(io) : watchWork(io, text);
  try {
    for (;;) {
      const leftMs = until - performance.now();
      const waitMs = Math.round(Math.min(io.interactive ? WATCHED_STEP_MS : STEP_MS, Math.max(leftMs, 0)));
      const { all } = await client.runs.checkAll(chosen, { waitMs, patience: PATIENCE });
      if (all === undefined || all.holds) return true;
      open = all.open;
      if (until <= performance.now()) {
        await progress.stop();
        await io.say(`${text()} within ${timeout}.`);
        return false;
      }
    }
  } finally {
    await progress.stop();
  }
}

/** The chosen runs, all of which have ended: in the order of the ids, or newest first. */
async function readEnds(io: Io, client: Client, { ids, ...filter }: RunFilter): Promise<RunSummary[]> {
  if (ids !== undefined) {
    return (await client.runs.query({ runs: [...ids], states: ["all"] }, { patience: PATIENCE })).items;
  }
  const { runs, troubles } = await readRuns(client, filter, undefined, { patience: PATIENCE });
  for (const trouble of troubles) await io.say(trouble);
  return runs;
}

function view(runs: readonly RunSummary[], io: Io, now: number): string {
  const rows = runs.map((run) => [
    run.id,
    ...stateCells(run),
    elapsed(run.startedAt, run.finishedAt ?? now),
    run.command,
  ]);
  return listText(io, ["RUN", "STATE", "EXIT", "TOOK", "COMMAND"], rows, "No runs.");
}
