// `drover run`: runs a command on one of Drover's machines as if it ran here.
import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { type Given, withDefaults } from "../config/defaults.ts";
import { type Context, connect } from "../context.ts";
import { CliError } from "../errors.ts";
import {
  cpus,
  duration,
  environment,
  pair,
  path,
  positiveDuration,
  secretUse,
  several,
  size,
  wholeNumber,
} from "../options.ts";
import { submitted } from "../run/attended.ts";
import { addContainerFlags } from "../run/container/flags.ts";
import { hereFor } from "../run/here.ts";
import { withInputs } from "../run/inputs.ts";
import { addKeep } from "../run/keep.ts";
import { type ArrayFlags, makesArray, runsOfArray } from "../run/many/array.ts";
import { addRelations } from "../run/many/relations.ts";
import { readRunFile } from "../run/many/run-file.ts";
import { submittedMany } from "../run/many/submitted-many.ts";
import { type Answer, onInterrupt } from "../run/on-interrupt.ts";
import { refusal } from "../run/refusal.ts";
import { addRetryFlags } from "../run/retry/flags.ts";
import { type NamedSpec, type SpecFlags, specOf, specOfFile } from "../run/spec.ts";
import { addConcurrency } from "../run/start/concurrency.ts";
import { type Io, quietly } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import { snapshotId } from "./snapshots.ts";

interface RunFlags extends SpecFlags, ArrayFlags {
  detach?: boolean;
  healthy?: boolean;
  file?: string;
  json?: boolean;
  quiet?: boolean;
  onInterrupt?: Answer;
}

const HELP = `
Output is copied as it comes, byte for byte: stdout to stdout, stderr to stderr.
The exit code is the command's own, or
  124  it took longer than --timeout
  125  Drover failed, or somebody else aborted the run
  126  the command is not executable
  127  the command was not found
  128+n  signal n ended the command, or drover run: 130 for Ctrl-C, 131 for Ctrl-\\

On a terminal, Ctrl-C asks: go on, abort the run, or detach from it; Ctrl-C again aborts
it. Elsewhere, SIGINT, SIGTERM and SIGHUP abort it. Then this waits for its end, and one
more interrupt stops waiting. --on-interrupt answers in advance. Ctrl-\\ (SIGQUIT)
detaches at once: the run goes on, and drover attach comes back to it.
Without a terminal, stderr says after ten seconds what the run waits for, and again
when that changes. With --quiet there is only the output of the run, unless output is
missing, or Drover itself fails (125).
For a group (-f), stdout has the output of its leader, or of its first main task;
stderr has the events of the run and the output of the other tasks, line by line.
If the output is closed (as by a pipe into head), the run is aborted, too.
With --json, stdout has only the final status, and the command's output goes to stderr.
Values of --env are stored with the run in clear text: drover status --json shows them
to everyone who has the token, for as long as the run is kept. Values of --secret are
not shown to anybody, and are masked in the output: drover secrets set.

--array, --matrix and a file with a list make many runs by one request; an array of more
than 1,000 by several, and if that breaks off, the same command with the --id of the array
submits the rest. Their output is not shown: when all have ended, stdout has a table of
them, and the exit code is 0 if every command ended with 0, and otherwise that of the
first that did not. Ctrl-C aborts all of them. DROVER_ARRAY_INDEX counts from 0,
DROVER_ARRAY_SIZE is the number of runs; with --id, the id of the array, each run has that
id with its index. With --fail-at the rest is aborted once so many runs have failed, and
the exit code is that of the first.

--after, --after-array and --after-job wait until other runs, all runs of an array in the
same pool, or the latest run of a job have ended with 0; with :failure behind the name,
until they have ended and at least one did not end with 0; with :any, until they have
ended in any way. If that cannot happen any more, the run ends at once as failed, and says why. A job without
a run is refused; with @24h, so is one whose latest run is older than that.

The command line reaches the command as written. Only Drover's own variables, such as
\${DROVER_RUN_ID} and \${node.unique.id}, are filled in; write $\${DROVER_RUN_ID} for
the literal text. With a local Drover the command also gets this directory, umask and
PATH, except in a pool without allowHostPaths. Pass other variables of this shell with
--env NAME.

A pool, variables and secrets of the context in use are added where neither a flag nor
the file says otherwise: drover context show.

With --image the command runs in a container of that image, by the Docker or podman of
the machine; without a command, the image's own runs. All the rest is the same: its
directory is this one with a local Drover, and it can be uploaded. The environment is the
image's, with what --env and --secret add. What lowers the wall between the container and
the machine (--bind, --device, --cap-add, --network host, --privileged) its pool must
allow: allowContainers. --keep is not possible with --image yet.

With --keep, a run that fails stays on its machine for a while, with its files:
drover exec, drover cp and drover debug look inside, drover release ends that.

--concurrency shares slots among the runs of a project and pool that have the same key:
at most so many of them run at once. A run too many waits (queue); waits, and takes turns
with other keys (round-robin); waits, and the one that waited ends (queue-one); waits,
and the others end (cancel-running); or is refused (cancel-new).

With --retry, a run that fails for one of these causes is tried again on another
placement, up to --retry-max times, each after a longer wait; exit is any exit code other
than 0, oom a lack of memory. With --retry timeout, --timeout is the time of each try.
drover status shows the tries, drover why when the next one begins and what it costs.

--upload sends everything but what .gitignore and .droverignore exclude, and never
.git; files that are already stored are not sent again. With --upload, --snapshot or
--out the run has a directory of its own, and --dir is relative to it. The files that
--out names are collected when the command has ended, whether or not it succeeded:
fetch them with drover pull.

Examples:
  drover run -- make test
  drover run --cpus 4 --memory 2GiB --timeout 30m -- npm test
  drover run --env CI=1 --secret GITHUB_TOKEN:env -- ./release.sh
  drover run --secret key=deploy-key -- sh -c 'ssh -i "$DROVER_SECRETS_DIR/key" host true'
  drover run --pool gpu --gpus 1 --gpu-model H100 --spot never -- ./train.sh
  drover run --upload . --out 'dist/**' -- make dist
  drover run --keep=1h -- make test
  drover run --image node:24 -- npm test
  drover run --image ghcr.io/team/tool:2 --registry-auth ghcr --bind /srv/data:/data -- tool /data
  drover run --retry oom,machine_lost --memory 2GiB --retry-memory 2x -- ./train.sh
  drover run -f group.json
  drover run --array 100 --max-parallel 5 -- sh -c './part.sh "$DROVER_ARRAY_INDEX"'
  drover run --concurrency deploy --concurrency-strategy cancel-running -- ./deploy.sh
  drover run --concurrency "tenant $TENANT=5" --queue-max 100 -- ./report.sh
  drover run --id parts --array 100 --fail-at 10% --detach -- sh -c './part.sh "$DROVER_ARRAY_INDEX"'
  drover run --after-array parts -- ./join.sh
  drover run --after-job nightly@24h -- ./report.sh
  drover run --after deploy:failure -- ./roll-back.sh
  drover run --matrix node=20,24 --matrix db=pg,sqlite -- ./test.sh
  id=$(drover run --detach -- ./nightly.sh) && drover logs -f "$id"`;

const SPOT_TEXT = "never: no machine that its cloud may take back; only: no other";

/**
 * `drover run`: submits a run and stays with it until it ends. With `--detach`, submits the run and exits.
 */
export function addRun(program: Command, io: Io, exitWith: (code: number) => void): void {
  const verb = program
    .command("run")
    .summary("run a command and show its output")
    .description("Runs a command on a machine that Drover finds or boots for it, as if it ran here.")
    .usage("[options] -- <command> [argument...] | -f <file>")
    .argument("[command...]", "the command and its arguments")
    .option(
      "-f, --file <path>",
      "run what a JSON file describes: one run, such as a group of tasks, or a list; - is standard input",
    )
    .option("-d, --detach", "print the run's id and exit")
    .option("--healthy", "with --detach: exit once all its checks pass, or at its end")
    .option("--dir <path>", "the directory to run in (default with a local Drover: this one)", path)
    .option("--upload <directory>", "pack this directory, and run in a copy of it on any machine", path)
    .option("--snapshot <id>", "run in the files of a snapshot (sha256:<digits>)", snapshotId)
    .option("--out <glob>", "files to keep as its result (repeatable)", several)
    .option("--stdin <file>", "a file for its standard input; - is the standard input of this command", path)
    .option("--pool <name>", "the pool of machines to run on (default: the one called default)")
    .option(
      "-e, --env <name[=value]>",
      "an environment variable; without a value, copied from here (repeatable)",
      environment(io.env),
    )
    .option(
      "--secret <name[=secret][:file|:env]>",
      "a secret: as a file in DROVER_SECRETS_DIR, or a variable (repeatable)",
      secretUse,
    )
    .option("--timeout <duration>", "stop it this long after it got its machine", positiveDuration)
    .option("-l, --label <name=value>", "a label to find it by (repeatable)", pair)
    .option("--id <id>", "choose the run's id; submitting the same id again finds the same run")
    .option("--cpus <number>", "virtual CPUs to set aside for it, such as 2 or 0.5 (default: 1)", cpus)
    .option("--memory <size>", "memory to set aside, and its limit (default: 256MiB, and no limit)", size)
    .option("--gpus <number>", "GPUs to set aside for it (default: none)", wholeNumber(0, 1_024))
    .option("--gpu-model <name>", "only a machine with GPUs of this model, such as H100")
    .addOption(new Option("--spot <when>", SPOT_TEXT).choices(["never", "only"]))
    .addOption(new Option("--arch <name>", "only a machine with such a processor").choices(["x64", "arm64"]))
    .option("--zone <name>", "only there: a zone or region, or how its name begins (repeatable)", several)
    .option("--priority <number>", "1 to 100, higher first (default: 50)", wholeNumber(1, 100))
    .option("--queue-timeout <duration>", "give up if it gets no machine within this time", positiveDuration)
    .option("--kill-timeout <duration>", "time from asking it to end to killing it (default: 5s)", duration)
    .option("--identity", "let it ask for tokens that say which run it is, for a cloud or a vault")
    .option("-q, --quiet", "show only the output of the run, and exit with its exit code")
    .option("--on-interrupt <what>", "abort or detach: what Ctrl-C means, instead of a question", onInterrupt)
    .option("--json", "print the final status as JSON on stdout");
  addRelations(verb);
  addContainerFlags(verb);
  addConcurrency(verb);
  addRetryFlags(verb);
  addKeep(verb, { passesOn: true })
    .passThroughOptions()
    .addHelpText("after", HELP)
    .action(async (argv: string[], flags: RunFlags) => exitWith(await run(io, argv, flags)));
}

async function run(io: Io, argv: string[], flags: RunFlags): Promise<number> {
  if (flags.file !== undefined && argv.length > 0) {
    throw new CliError("A file and a command cannot be combined.", ["Give one of them."]);
  }
  if (flags.file === undefined && argv.length === 0 && flags.image === undefined) {
    throw new CliError("No command given.", ["Write it after two dashes: drover run -- make test"]);
  }
  if (flags.healthy && !flags.detach) {
    throw new CliError("--healthy needs --detach.", [
      "Add --detach, or look at the run from elsewhere: drover wait --healthy",
    ]);
  }
  const isArray = makesArray(flags);
  const { client, context } = connect(io);
  const file = flags.file === undefined ? undefined : await readRunFile(flags.file);
  if (file?.isMany) refuseForMany(flags, isArray);
  const notes = flags.quiet ? quietly(io) : io;
  const withFiles = await withInputs(notes, client, flags);
  const build = specBuilder(notes, client, context);
  const specs: NamedSpec[] = [];
  for (const content of file?.runs ?? [undefined]) {
    specs.push(await build(argv, withDefaults({ flags: withFiles, content }, context.defaults)));
  }
  const [spec] = specs;
  if (spec === undefined) throw new Error("a submission has a run");
  const { detach, healthy, quiet, json, onInterrupt } = flags;
  const runs = isArray ? runsOfArray(spec, flags) : specs;
  const adding = Object.keys(context.defaults).length === 0 ? undefined : context.name;
  const refused = (error: unknown) => refusal(error, runs[0] ?? spec, withFiles, adding);
  const how = { detach, healthy, quiet, json, onInterrupt, refusal: refused };
  if (healthy && (isArray || file?.isMany)) {
    throw new CliError("--healthy is for one run.", [
      "Submit them with --detach, and then: drover wait --healthy",
    ]);
  }
  if (isArray || file?.isMany) return submittedMany(io, client, runs, how);
  return submitted(io, client, context, spec, how);
}

/** Throws a `CliError` for flags that name or make one run, although the file has a list. */
function refuseForMany({ id, replace }: RunFlags, isArray: boolean): void {
  const refuse = (flag: string, advice: string) => {
    throw new CliError(`${flag} cannot be combined with a list of runs.`, [advice]);
  };
  if (isArray) refuse("--array and --matrix", "Give a file with one run.");
  if (id !== undefined) refuse("--id", "Give each run in the file an id of its own.");
  if (replace !== undefined) refuse("--replace", "Give each run in the file a `replace` of its own.");
}

/** Returns a function that makes a submission of a command, or of what a file says of one run. */
function specBuilder(io: Io, client: Client, context: Context) {
  const known = new Map<unknown, Promise<Awaited<ReturnType<typeof hereFor>>>>();
  return async (argv: string[], { flags, content }: Given<RunFlags>): Promise<NamedSpec> => {
    const pool = flags.pool ?? (content !== undefined && "pool" in content ? content.pool : undefined);
    const asked = known.get(pool) ?? hereFor(io, client, context, pool);
    const isFirst = !known.has(pool);
    known.set(pool, asked);
    const { here, isRefused } = await asked;
    const spec = content === undefined ? specOf(argv, flags, here) : specOfFile(content, flags, here);
    if (isFirst && isRefused && !(spec.dir || spec.snapshot || spec.tasks)) {
      await io.say(
        `Pool ${printable(String(pool))} does not take directories of this machine, so the command runs in ` +
          "an empty directory. To send this one along: --upload .",
      );
    }
    return spec;
  };
}
