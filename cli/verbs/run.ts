import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { shownTask } from "../../client/easy.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import type { CallOptions } from "../../client/transport/http.ts";
import type { RunStatus } from "../../client/types.ts";
import { type Context, connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { readJsonObject } from "../json-file.ts";
import { sayLimits } from "../log-limits.ts";
import {
  cpus,
  duration,
  environment,
  pair,
  path,
  positiveDuration,
  several,
  size,
  wholeNumber,
} from "../options.ts";
import { type AbortState, type Attendance, attend } from "../run/attend.ts";
import { hereFor } from "../run/here.ts";
import { withInputs } from "../run/inputs.ts";
import { PATIENCE } from "../run/patience.ts";
import { flagOfPointer, type NamedSpec, type SpecFlags, specOf, specOfFile, taskNames } from "../run/spec.ts";
import { type Interrupt, listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { noProgress, watchProgress } from "../terminal/progress.ts";
import { asJson, printable } from "../terminal/text.ts";
import { verdictOf } from "../verdict.ts";
import { snapshotId } from "./snapshots.ts";

interface RunFlags extends SpecFlags {
  detach?: boolean;
  file?: string;
  json?: boolean;
  quiet?: boolean;
}

const HELP = `
Output is copied as it comes, byte for byte: stdout to stdout, stderr to stderr.
The exit code is the command's own, or
  124  it took longer than --timeout
  125  Drover failed, or somebody else aborted the run
  126  the command is not executable
  127  the command was not found
  128+n  signal n ended the command, or this one: 130 for Ctrl-C, 131 for Ctrl-\\

Ctrl-C aborts the run and waits for its end; a second Ctrl-C does not wait. Ctrl-\\
detaches: the run goes on, and drover logs -f shows it again. SIGINT, SIGTERM and
SIGHUP abort it like Ctrl-C, SIGQUIT detaches.
Without a terminal stderr says after ten seconds what the run waits for, and again
when that changes; --quiet says nothing but errors.
Of a group (-f) stdout has the output of its leader, or of its first main task;
stderr tells what happens, and has the lines of all others, each with its task.
If nobody reads the output any more (a closed pipe), the run is aborted, too.
With --json stdout has the final status and nothing else, and the command's
output goes to stderr.
--env keeps its values with the run, in clear: drover status --json shows them to all
who have the token, for as long as the run is kept.

The command line reaches the command as it is written. Only names of Drover's own,
such as \${DROVER_RUN_ID} and \${node.unique.id}, are filled in; $\${DROVER_RUN_ID} is
the text itself. With a local Drover the command also has this directory, umask and
PATH, except in a pool without allowHostPaths. Other variables of this shell need
--env NAME.

--upload sends what .gitignore and .droverignore do not leave out, and never .git;
what is stored already is not sent again. With it, with --snapshot and with --out a
run is in a directory of its own, and --dir is one below that. What --out names is
collected once the command has ended, well or not: fetch it by drover pull.

Examples:
  drover run -- make test
  drover run --cpus 4 --memory 2GiB --timeout 30m -- npm test
  drover run --env CI=1 --env GITHUB_TOKEN -- ./release.sh
  drover run --upload . --out 'dist/**' -- make dist
  drover run -f group.json
  id=$(drover run --detach -- ./nightly.sh) && drover logs -f "$id"`;

/** `drover run`: runs a command on a machine of Drover's as if it ran here. */
export function addRun(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("run")
    .summary("run a command and show its output")
    .description("Runs a command on a machine that Drover finds or boots for it, as if it ran here.")
    .usage("[options] -- <command> [argument...] | -f <file>")
    .argument("[command...]", "the command and its arguments")
    .option("-f, --file <path>", "run what a JSON file says, a group of tasks perhaps; - is standard input")
    .option("-d, --detach", "print the run's id and leave it alone")
    .option("--dir <path>", "the directory to run in (default with a local Drover: this one)", path)
    .option("--upload <directory>", "pack this directory and run in it, whatever machine it is", path)
    .option("--snapshot <id>", "run in the files of a snapshot: sha256:<digits>", snapshotId)
    .option("--out <glob>", "what of its files to keep as its result (repeatable)", several)
    .option("--stdin <file>", "what it reads from its standard input; - is that of this command", path)
    .option("--pool <name>", "the pool of machines to run on (default: the one called default)")
    .option(
      "-e, --env <name[=value]>",
      "a variable; without a value, as it is here (repeatable)",
      environment(io.env),
    )
    .option("--timeout <duration>", "stop it this long after it got its machine", positiveDuration)
    .option("-l, --label <name=value>", "a label to find it by (repeatable)", pair)
    .option("--id <id>", "choose the run's id; the same id finds the same run again")
    .option("--cpus <number>", "virtual CPUs to set aside for it, a whole number (default: 1)", cpus)
    .option("--memory <size>", "memory to set aside, and its limit (default: 256MiB, and no limit)", size)
    .option("--priority <number>", "1 to 100, higher first (default: 50)", wholeNumber(1, 100))
    .option("--queue-timeout <duration>", "give up if it gets no machine for this long", positiveDuration)
    .option(
      "--kill-timeout <duration>",
      "time between asking it to end and killing it (default: 5s)",
      duration,
    )
    .option("-q, --quiet", "do not say what it waits for, or that it has a result")
    .option("--json", "print the final status as JSON on stdout")
    .passThroughOptions()
    .addHelpText("after", HELP)
    .action(async (argv: string[], flags: RunFlags) => exitWith(await run(io, argv, flags)));
}

async function run(io: Io, argv: string[], flags: RunFlags): Promise<number> {
  if (flags.file !== undefined && argv.length > 0) {
    throw new CliError("Both a file and a command.", ["What is to be run is said by one of them."]);
  }
  if (flags.file === undefined && argv.length === 0) {
    throw new CliError("No command given.", ["Write it after two dashes: drover run -- make test"]);
  }
  const { client, context } = connect(io);
  const content = flags.file === undefined ? undefined : await readJsonObject(flags.file, "a run");
  const said = await withInputs(io, client, flags);
  const spec = await specFor(io, { client, context, argv, content, flags: said });
  if (flags.detach) {
    const status = await submit(client, spec, flags);
    await io.stdout.write(flags.json ? `${asJson(status)}\n` : `${status.id}\n`);
    return 0;
  }
  return await attended(io, client, spec, flags, context);
}

interface Wish {
  client: Client;
  context: Context;
  argv: string[];
  content: object | undefined;
  flags: RunFlags;
}

async function specFor(io: Io, { client, context, argv, content, flags }: Wish): Promise<NamedSpec> {
  const inFile = content !== undefined && "pool" in content ? content.pool : undefined;
  const pool = flags.pool ?? inFile;
  const { here, isRefused } = await hereFor(io, client, context, pool);
  const spec = content === undefined ? specOf(argv, flags, here) : specOfFile(content, flags, here);
  const { dir, snapshot, tasks } = spec;
  if (isRefused && !(dir || snapshot || tasks)) {
    await io.say(
      `Pool ${printable(String(pool))} does not take directories of this machine, so the command runs in ` +
        "an empty one of its own. To send this one along: --upload .",
    );
  }
  return spec;
}

/** Submits the run and stays with it to its end, or until the person leaves it. */
async function attended(
  io: Io,
  client: Client,
  spec: NamedSpec,
  flags: RunFlags,
  context: Context,
): Promise<number> {
  const interrupts = listenForInterrupts();
  const leaving = new AbortController();
  const leave = leaving.signal;
  const progress = flags.quiet === true ? noProgress(io) : watchProgress(io, client, spec.id);
  const accepted = submitPatiently(client, spec, flags, leave);
  const abortState: AbortState = { isAsked: false, isAnswered: false };
  const leftAs = async ({ exitCode }: Interrupt) => {
    await progress.stop();
    await io.say(wordsOfLeaving(spec.id, context, abortState));
    return exitCode;
  };
  // Whoever detaches from a run wants it to be there; whoever presses Ctrl-C twice wants to be gone.
  const detached = interrupts.detach.then((how) => accepted.then(() => leftAs(how)));
  const hurried = interrupts.second.then(leftAs);
  try {
    const attendance = { io, client, run: spec.id, interrupts, leave, progress, accepted, abortState };
    return await Promise.race([toTheEnd(attendance, spec, flags), hurried, detached]);
  } finally {
    // The signals stay ours: what is left is to exit, and one more press is not to change how.
    leaving.abort();
  }
}

async function toTheEnd(
  attendance: Omit<Attendance, "task" | "group" | "sinks">,
  spec: NamedSpec,
  flags: RunFlags,
): Promise<number> {
  const { io, run, accepted } = attendance;
  let isAccepted = false;
  const noted = accepted.then(() => {
    isAccepted = true;
  });
  const shown = { task: shownTask(spec), group: taskNames(spec) };
  const sinks = { stdout: flags.json ? io.stderr : io.stdout, stderr: io.stderr };
  const { status, abortedAs } = await attend({ ...attendance, ...shown, accepted: noted, sinks }).catch(
    (error) => {
      throw isAccepted ? outOfSight(error, run) : error;
    },
  );
  await sayLimits(io, status, { task: shown.task, streams: ["stdout", "stderr"] });
  const verdict = verdictOf(status, abortedAs);
  if (verdict.message !== undefined) await io.say(verdict.message);
  const result = resultLine(status);
  if (result !== undefined && flags.quiet !== true) await io.say(result);
  if (flags.json) await io.stdout.write(`${asJson(status)}\n`);
  return verdict.exitCode;
}

/**
 * Submits a run that is waited for. Where nothing listens, that is said soon. Once Drover may have got the
 * run, as when it dies before it answers, the very same is submitted again for as long as a run may be out of
 * sight.
 */
async function submitPatiently(
  client: Client,
  spec: NamedSpec,
  flags: RunFlags,
  leave: AbortSignal,
): Promise<RunStatus> {
  try {
    return (await client.runs.submit(spec, { signal: leave })).run;
  } catch (error) {
    const mayHaveIt = error instanceof UnreachableError && !error.neverSent;
    if (!mayHaveIt) throw refusal(error, spec, flags);
  }
  return await submit(client, spec, flags, { signal: leave, patience: PATIENCE });
}

async function submit(
  client: Client,
  spec: NamedSpec,
  flags: RunFlags,
  options: CallOptions = {},
): Promise<RunStatus> {
  try {
    return (await client.runs.submit(spec, options)).run;
  } catch (error) {
    throw refusal(error, spec, flags);
  }
}

/** Why a submission failed, in the words of the command line, or of the file that was given. */
function refusal(error: unknown, spec: NamedSpec, flags: RunFlags): unknown {
  const named = (pointer: string) => flagOfPointer(pointer, spec, flags.file === undefined ? {} : { flags });
  if (error instanceof ApiError && error.code === "run_exists") return exists(error, spec.id, named);
  if (error instanceof ApiError && error.errors.length > 0) {
    const wrong = error.errors.map(({ pointer, detail }) => `${named(pointer)}: ${detail}`);
    return new CliError("This run is not accepted.", wrong.map(printable));
  }
  if (error instanceof ApiError && error.code === "unknown_pool") {
    return new CliError(printable(error.detail), ["Choose one of: drover pools"]);
  }
  if (error instanceof UnreachableError && !error.neverSent) {
    return new CliError(`Drover at ${error.url} does not answer: ${error.reason}.`, [
      `It may have got the run, as ${spec.id}. When it answers again: drover status ${spec.id}`,
    ]);
  }
  return error;
}

/** There is a run of this name, and it is another one. */
function exists({ detail, errors }: ApiError, id: string, named: (pointer: string) => string): CliError {
  const fields = [...new Set(errors.map(({ pointer }) => named(pointer)))].join(", ");
  const what = fields === "" ? printable(detail) : `A run ${id} exists already, and differs in: ${fields}.`;
  return new CliError(what, [`Choose another --id, or look at that run: drover status ${id}`]);
}

/** The run has been accepted: whatever fails now fails here, and the person must know that it may go on. */
function outOfSight(error: unknown, run: string): unknown {
  if (!(error instanceof UnreachableError)) return error;
  return new CliError(`Lost sight of run ${run}, which may go on: ${error.message}.`, [
    `Look for it later: drover status ${run}, or drover logs -f ${run}`,
  ]);
}

/** How to get what the run has left; undefined if it has left nothing. */
function resultLine({ id, snapshot, tasks }: RunStatus): string | undefined {
  if (!snapshot) return undefined;
  const stored = tasks.flatMap(({ events }) => events).findLast(({ type }) => type === "Outputs Stored");
  const files = stored?.details.files;
  if (files === "0") return `The result of run ${id} is empty: nothing fits what --out names.`;
  const count = files === undefined ? "a result" : `a result of ${files} ${files === "1" ? "file" : "files"}`;
  return `Run ${id} has ${count}. Fetch it: drover pull ${id}`;
}

/** What the person has to know who leaves a run before its end. */
function wordsOfLeaving(run: string, context: Context, { isAsked, isAnswered }: AbortState): string {
  if (isAnswered) return `Run ${run} is being aborted. This does not wait for its end: drover status ${run}`;
  if (isAsked) {
    return `Drover has not answered that run ${run} is to be aborted, so it may go on: drover abort ${run}`;
  }
  const where = context.file === undefined ? "" : " for as long as `drover up` runs";
  return `Detached. Run ${run} goes on${where}: drover logs -f ${run}, drover abort ${run}`;
}
