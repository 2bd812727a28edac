// The entry of the `drover` command: builds its verbs, runs the chosen verb, prints any failure, and exits.
import { setFlagsFromString } from "node:v8";
import { Command, CommanderError } from "commander";
import { addHelp, addVersion, inOurWords } from "./about.ts";
import { EXIT } from "./errors.ts";
import { explain } from "./explain.ts";
import { contextName, path, projectName } from "./options.ts";
import { type Io, ioOfProcess } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";
import { addAbort } from "./verbs/abort.ts";
import { addApply } from "./verbs/apply.ts";
import { addAttach } from "./verbs/attach.ts";
import { addAudit } from "./verbs/audit.ts";
import { addBackup } from "./verbs/backup.ts";
import { addCompletion } from "./verbs/completion.ts";
import { addConsole } from "./verbs/console.ts";
import { addContext } from "./verbs/contexts.ts";
import { addCp } from "./verbs/cp.ts";
import { addDebug } from "./verbs/debug.ts";
import { addDeploy } from "./verbs/deploy.ts";
import { addEnroll } from "./verbs/enroll.ts";
import { addEvents } from "./verbs/events.ts";
import { addExec } from "./verbs/exec.ts";
import { addHistory } from "./verbs/history.ts";
import { addIssuer } from "./verbs/issuer.ts";
import { addJobs } from "./verbs/jobs.ts";
import { addLogin } from "./verbs/login.ts";
import { addLogs } from "./verbs/logs.ts";
import { addMachineVerbs } from "./verbs/machine-verbs.ts";
import { addPools } from "./verbs/pools.ts";
import { addPortForward } from "./verbs/port-forward.ts";
import { addProjects } from "./verbs/projects.ts";
import { addProvider } from "./verbs/provider.ts";
import { addPs } from "./verbs/ps.ts";
import { addPull } from "./verbs/pull.ts";
import { addQueue } from "./verbs/queue.ts";
import { addRedrive } from "./verbs/redrive.ts";
import { addRelease } from "./verbs/release.ts";
import { addRerun } from "./verbs/rerun.ts";
import { addRestart } from "./verbs/restart.ts";
import { addRestore } from "./verbs/restore.ts";
import { addRm } from "./verbs/rm.ts";
import { addRun } from "./verbs/run.ts";
import { addSecrets } from "./verbs/secrets.ts";
import { addSessions } from "./verbs/sessions.ts";
import { addSignal } from "./verbs/signal.ts";
import { addSnapshots } from "./verbs/snapshots.ts";
import { addStats } from "./verbs/stats.ts";
import { addStatus } from "./verbs/status.ts";
import { addTokens } from "./verbs/tokens.ts";
import { addTop } from "./verbs/top.ts";
import { addTrust } from "./verbs/trust.ts";
import { addUi } from "./verbs/ui.ts";
import { addUp } from "./verbs/up.ts";
import { addUpdate } from "./verbs/update.ts";
import { addWait } from "./verbs/wait.ts";
import { addWebhooks } from "./verbs/webhooks.ts";
import { addWhy } from "./verbs/why.ts";
import { addWorkers } from "./verbs/workers.ts";

declare const DROVER_VERSION: string;

const VERSION = `drover ${DROVER_VERSION}`;

const HELP = `
Examples:
  drover up                    start Drover on this machine
  drover run -- make test      run a command as if it ran here
  drover ps                    what is running, and what ran recently
  drover why <run>             what a run is waiting for
  drover top                   the queue, the runs and the machines, kept up to date

Which Drover a command means: --state or --context; else DROVER_URL with DROVER_TOKEN, DROVER_STATE or
DROVER_CONTEXT; else the context in use (\`drover login\`, \`drover context use\`); else the one that
\`drover up\` started in this directory or one above it. \`drover context show\` says which, and why.
\`drover up\` gives full access: \`drover --project ml …\` or DROVER_PROJECT acts in one project.`;

/** Builds the command. A verb calls `exitWith` to end with an exit code other than 0. */
function programOf(io: Io, exitWith: (code: number) => void): Command {
  const program = new Command("drover")
    .description("Runs commands on machines that it boots, watches, reuses and destroys by itself.")
    .option("--state <directory>", "use the Drover that keeps its state there", path)
    .option("--context <name>", "use this context: drover context list", contextName)
    .option("--project <name>", "act in this project, with a token that belongs to none", projectName)
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .addHelpText("after", HELP)
    .enablePositionalOptions()
    // Each description already names its default; the parser would append the default as JSON.
    .configureHelp({ showGlobalOptions: false, optionDescription: ({ description }) => description })
    .configureOutput({ outputError: (text, write) => write(inOurWords(text)) })
    .exitOverride()
    .on("option:state", (directory: string) => {
      io.state = directory;
    })
    .on("option:context", (name: string) => {
      io.context = name;
    })
    .on("option:project", (name: string) => {
      io.project = name;
    });
  addVerbs(program, io, exitWith);
  for (const verb of program.commands) {
    verb.showHelpAfterError(`Try: drover ${verb.name()} --help`);
  }
  program.showHelpAfterError("Try: drover --help");
  return program;
}

/** Adds the verbs in the order in which the help lists them. */
function addVerbs(program: Command, io: Io, exitWith: (code: number) => void): void {
  addUp(program, io, exitWith);
  addRun(program, io, exitWith);
  addPs(program, io);
  addTop(program, io, exitWith);
  addUi(program, io);
  addStats(program, io);
  addStatus(program, io);
  addAttach(program, io, exitWith);
  addExec(program, io, exitWith);
  addCp(program, io);
  addPortForward(program, io, exitWith);
  addLogs(program, io, exitWith);
  addPull(program, io);
  addRerun(program, io, exitWith);
  addDebug(program, io, exitWith);
  addRedrive(program, io, exitWith);
  addRelease(program, io, exitWith);
  addWait(program, io, exitWith);
  addAbort(program, io, exitWith);
  addRestart(program, io);
  addSignal(program, io);
  addUpdate(program, io);
  addRm(program, io, exitWith);
  addWhy(program, io);
  addWorkers(program, io);
  addConsole(program, io);
  addMachineVerbs(program, io, exitWith);
  addEnroll(program, io);
  addPools(program, io, exitWith);
  addQueue(program, io);
  addEvents(program, io);
  addHistory(program, io);
  addApply(program, io);
  addJobs(program, io, exitWith);
  addSnapshots(program, io);
  addProjects(program, io);
  addTokens(program, io);
  addSessions(program, io);
  addWebhooks(program, io, exitWith);
  addAudit(program, io, exitWith);
  addTrust(program, io);
  addIssuer(program, io);
  addSecrets(program, io);
  addDeploy(program, io);
  addBackup(program, io);
  addRestore(program, io, exitWith);
  addProvider(program, io, exitWith);
  addLogin(program, io);
  addContext(program, io);
  addCompletion(program, io);
  addVersion(program, io, VERSION);
  addHelp(program, io, VERSION);
}

/** Runs the command line and returns the exit code. Never throws. */
async function main(io: Io, args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = programOf(io, (code) => {
    exitCode = code;
  });
  try {
    if (args.length === 0) await io.stdout.write(program.helpInformation() + HELP.concat("\n"));
    else await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // The parser has already printed its error, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.drover;
    const { lines, exitCode: code } = explain(error, io);
    await sayAll(io, lines);
    return code;
  }
}

async function sayAll(io: Io, lines: readonly string[]): Promise<void> {
  const [first, ...rest] = lines;
  if (first === undefined) return;
  try {
    await io.say(first);
    for (const line of rest) await io.stderr.write(`  ${printable(line)}\n`);
  } catch {
    // stderr is closed: only the exit code reports the failure.
  }
}

// An exiting process waits for Node's helper threads. A helper thread that compiles may wait for a garbage
// collection, which only the main thread can begin. Then the command would hang after its last byte
// (nodejs/node#54918). So the main thread does all compiling.
for (const flag of ["--no-concurrent-sparkplug", "--no-concurrent-recompilation"]) setFlagsFromString(flag);
// A large log makes much short-lived garbage, which must not pile up.
setFlagsFromString("--semi-space-growth-factor=1");

// When `main` returns, everything has been written. Open connections and signal handlers must not delay the
// exit.
process.exit(await main(ioOfProcess(), process.argv.slice(2)));
