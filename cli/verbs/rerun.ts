// `drover rerun`: submits runs again.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { RunStatus } from "../../client/types.ts";
import { type Context, connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { cpus, environment, pair, positiveDuration, size } from "../options.ts";
import { again, type Changes, differencesOf, failedOnes } from "../run/again.ts";
import { submitted } from "../run/attended.ts";
import { addKeep } from "../run/keep.ts";
import { readRuns } from "../run/list-runs.ts";
import { type Answer, onInterrupt } from "../run/on-interrupt.ts";
import { refusal } from "../run/refusal.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, counted, printable } from "../terminal/text.ts";

interface RerunFlags extends Changes {
  failed?: boolean;
  label?: Record<string, string>;
  detach?: boolean;
  quiet?: boolean;
  json?: boolean;
  onInterrupt?: Answer;
}

/** As many as one submission can have. */
const MOST_RUNS = 1_000;
/** The most simultaneous reads of runs. */
const READS_AT_ONCE = 8;

const HELP = `
A rerun is another run with the spec of the first one as it is now: its command, files,
variables, limits and labels. Without other flags nothing changes.

One run is followed like drover run, with its exit code. Several runs are submitted at
once, and their ids are printed: drover wait waits for them.

With --failed: the runs whose command ended with another code than 0, that took too
long or that Drover has lost, and that no rerun with the same labels repeats. So the
same command again repeats only what has failed again.

Examples:
  drover rerun build-17
  drover rerun --keep build-17
  drover rerun --memory 4GiB --timeout 1h build-17
  drover rerun --failed --label set=nightly && drover wait --label set=nightly`;

/** `drover rerun`: submits runs again, unchanged or with changes. */
export function addRerun(program: Command, io: Io, exitWith: (code: number) => void): void {
  const verb = program
    .command("rerun")
    .summary("submit runs again")
    .description("Submits runs again, with the same files, unchanged or with the changes that flags name.")
    .argument("[run...]", RUNS_TEXT)
    .option("--failed", "the runs that have failed, with --label; or, of the named runs, those that have")
    .option(
      "-l, --label <name=value>",
      "with --failed: runs with this label (repeatable: with all labels)",
      pair,
    )
    .option("-d, --detach", "print the id of the new run and exit")
    .option("--id <id>", "choose the id of the new run")
    .option("--pool <name>", "another pool of machines")
    .option(
      "-e, --env <name[=value]>",
      "another value of an environment variable; without a value, copied from here (repeatable)",
      environment(io.env),
    )
    .option("--timeout <duration>", "another time limit", positiveDuration)
    .option("--cpus <number>", "another number of virtual CPUs", cpus)
    .option("--memory <size>", "other memory to set aside, and its limit", size)
    .option("-q, --quiet", "do not say what changes, and of one run show only its output")
    .option("--on-interrupt <what>", "abort or detach: what Ctrl-C means, instead of a question", onInterrupt)
    .option("--json", "print the final status, or with several runs the list, as JSON");
  addKeep(verb)
    .addHelpText("after", HELP)
    .action(async (ids: string[], flags: RerunFlags) => exitWith(await rerun(io, [...new Set(ids)], flags)));
}

async function rerun(io: Io, ids: string[], flags: RerunFlags): Promise<number> {
  const { client, context } = connect(io);
  const runs = await chosen(io, client, ids, flags);
  const [only, ...others] = runs;
  if (only === undefined) {
    await io.say("No run has failed that no other run repeats.");
    return 0;
  }
  if (others.length > 0 || flags.label !== undefined) return await rerunMany(io, client, runs, flags);
  return await rerunOne(io, client, context, only, flags);
}

/** The runs to repeat, read. Throws unless they are chosen in one way. */
async function chosen(io: Io, client: Client, ids: string[], flags: RerunFlags): Promise<RunStatus[]> {
  const { failed, label } = flags;
  if (label === undefined ? ids.length === 0 : ids.length > 0 || failed !== true) {
    throw new CliError("It is not clear which runs to submit again.", [
      "Name them, or choose those that have failed: drover rerun --failed --label set=nightly",
    ]);
  }
  const wanted = label === undefined ? ids : await failedWith(io, client, label);
  const runs = await readAll(io, client, wanted);
  if (label !== undefined || failed !== true) return runs;
  const { items } = await client.runs.query({ runs: runs.map(({ id }) => id), states: ["all"] });
  const ofThem = new Set(failedOnes(items).map(({ id }) => id));
  return runs.filter(({ id }) => ofThem.has(id));
}

async function failedWith(io: Io, client: Client, labels: Record<string, string>): Promise<string[]> {
  const { runs, troubles } = await readRuns(client, { labels, states: ["all"] });
  for (const trouble of troubles) await io.say(trouble);
  const failed = failedOnes(runs);
  if (failed.length <= MOST_RUNS) return failed.map(({ id }) => id);
  throw new CliError(
    `${failed.length} runs have failed, and at most ${MOST_RUNS} can be submitted at once.`,
    ["Choose fewer of them by another --label."],
  );
}

async function readAll(io: Io, client: Client, ids: readonly string[]): Promise<RunStatus[]> {
  const found: RunStatus[] = [];
  for (let at = 0; at < ids.length; at += READS_AT_ONCE) {
    const some = ids.slice(at, at + READS_AT_ONCE);
    const read = (text: string) => withRun({ io, client }, text, (id) => client.runs.get(id));
    found.push(...(await Promise.all(some.map(read))));
  }
  return found;
}

async function rerunMany(io: Io, client: Client, runs: RunStatus[], flags: RerunFlags): Promise<number> {
  if (flags.id !== undefined) {
    throw new CliError(`--id names one run, and there are ${runs.length}.`, ["Leave it out."]);
  }
  const made = await client.runs.submitBatch(runs.map((run) => again(run, flags)));
  if (flags.json) await io.stdout.write(`${asJson(made)}\n`);
  else for (const { id } of made) await io.stdout.write(`${id}\n`);
  if (flags.quiet !== true) await io.say(`${counted(made.length, "run")} submitted again.`);
  return 0;
}

async function rerunOne(
  io: Io,
  client: Client,
  context: Context,
  run: RunStatus,
  { quiet, json, ...flags }: RerunFlags,
): Promise<number> {
  const spec = again(run, flags);
  if (quiet !== true) {
    const changes = differencesOf(run, flags);
    const how = changes.length === 0 ? "unchanged" : `with ${changes.join(", ")}`;
    await io.say(printable(`Submits run ${run.id} again as ${spec.id}, ${how}.`));
  }
  const refused = (error: unknown) => refusal(error, spec, flags);
  const { detach, onInterrupt } = flags;
  return submitted(io, client, context, spec, { detach, quiet, json, onInterrupt, refusal: refused });
}
