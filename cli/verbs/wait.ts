// `drover wait`: waits until runs have ended or are healthy; one exit code tells whether all went well.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { pair, positiveDuration } from "../options.ts";
import { readRuns } from "../run/list-runs.ts";
import { missingText } from "../run/many/array-batches.ts";
import { type Chosen, endsOf, showEnds } from "../run/many/ends.ts";
import { showHealthy } from "../run/many/healthy.ts";
import { RUNS_TEXT, withRuns } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

interface WaitFlags {
  label?: Record<string, string>;
  array?: string;
  pool?: string;
  healthy?: boolean;
  timeout?: string;
  quiet?: boolean;
  json?: boolean;
}

const HELP = `
The exit code is 0 if every command ended with 0. If not, it is that of the first run
in the list that did not, as with drover run. It is ${EXIT.timedOut} if --timeout is over
first, and ${EXIT.drover} if no run matches, or if runs of an array are missing. Drover may be away
for up to two minutes.

With --healthy it is 0 as soon as all checks of all these runs pass. A run that ends before
gives its exit code (${EXIT.drover} if that is 0); after --timeout, stderr says which check does not
pass, and why.

Examples:
  drover wait build-17
  drover wait --label set=nightly --timeout 2h
  drover wait build-17 build-18 && ./deploy.sh
  drover wait --healthy --timeout 2m web-3`;

/** `drover wait`: waits for the end of runs. */
export function addWait(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("wait")
    .summary("wait until runs have ended")
    .description("Waits until runs have ended, lists them, and exits with 0 if all ended well.")
    .argument("[run...]", RUNS_TEXT)
    .option("-l, --label <name=value>", "all runs with this label (repeatable: with all labels)", pair)
    .option("--array <id>", "all runs of this array, as drover run --array or --matrix made it")
    .option("--pool <name>", "all runs of this pool")
    .option("--healthy", "wait until all their checks pass, instead of for their end")
    .option("--timeout <duration>", "give up after this time; the runs go on", positiveDuration)
    .option("-q, --quiet", "print nothing but errors")
    .option("--json", "print the runs as a JSON list")
    .addHelpText("after", HELP)
    .action(async (ids: string[], flags: WaitFlags) => exitWith(await wait(io, ids, flags)));
}

async function wait(io: Io, ids: readonly string[], flags: WaitFlags): Promise<number> {
  const chosen = chosenBy([...new Set(ids)], flags);
  const { client } = connect(io);
  if (flags.healthy) return waitHealthy(io, client, chosen, flags);
  const runs =
    chosen.ids === undefined
      ? await endsOf(io, client, chosen, flags)
      : await withRuns({ io, client }, chosen.ids, (whole) => endsOf(io, client, { ids: whole }, flags));
  if (runs === undefined) return EXIT.timedOut;
  if (runs.length === 0) throw noneMatch();
  const exitCode = await showEnds(io, client, runs, flags);
  const missing = chosen.array === undefined ? undefined : missingText(chosen.array, runs);
  if (missing === undefined) return exitCode;
  await io.say(missing);
  return exitCode === 0 ? EXIT.drover : exitCode;
}

/** Waits for the health of runs: of those that a filter selects, only of those that have not ended. */
async function waitHealthy(io: Io, client: Client, chosen: Chosen, flags: WaitFlags): Promise<number> {
  if (chosen.ids !== undefined)
    return withRuns({ io, client }, chosen.ids, (ids) => showHealthy(io, client, ids, flags));
  const { runs } = await readRuns(client, { ...chosen, states: ["pending", "running"] });
  if (runs.length === 0) throw noneMatch();
  const ids = runs.map(({ id }) => id);
  return showHealthy(io, client, ids, flags);
}

function noneMatch(): CliError {
  return new CliError("No run matches.", ["To see which runs there are: drover ps -a"]);
}

/** Throws unless runs are chosen either by their ids or by a filter. */
function chosenBy(ids: string[], { label, array, pool }: WaitFlags): Chosen {
  const isFiltered = label !== undefined || array !== undefined || pool !== undefined;
  if (isFiltered === ids.length > 0) {
    throw new CliError("It is not clear which runs to wait for.", [
      "Name them, or choose them with --label, --array or --pool.",
    ]);
  }
  return ids.length > 0 ? { ids } : { labels: label, array, pool };
}
