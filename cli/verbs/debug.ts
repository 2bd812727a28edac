// `drover debug`: opens a shell where a run has failed.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { hasEnded } from "../../client/states.ts";
import type { RunStatus } from "../../client/types.ts";
import { hasFailed } from "../../src/shared/run-state.ts";
import { type Context, connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { again } from "../run/again.ts";
import { submitted } from "../run/attended.ts";
import { addKeep, DEFAULT_KEEP, keptText, releaseRun } from "../run/keep.ts";
import { refusal } from "../run/refusal.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import { personAtTerminal } from "../terminal/ask.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import { execAttached } from "../tunnel/attached.ts";

interface DebugFlags {
  task?: string;
  keep?: string;
}

/** The best shell that the machine has. */
const SHELL = ["/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"];

const HELP = `
A run that is still kept (drover run --keep) is not run again: the shell opens at once.
Any other run is submitted again with --keep, and its output is shown. If it fails, the
shell opens in its directory, with its user, variables and secrets, in the task that
failed first. If it ends well, there is nothing to look into, and this says so.

When the shell ends, this asks whether the machine may go. Until then it costs what it
costs, at most for the time of --keep.

This needs a terminal, and a token with the scope runs:exec. In a script:
  drover rerun --keep build-17; drover exec <new run> -- <command>

Examples:
  drover debug build-17
  drover debug --keep=2h build-17
  drover debug --task db web-3`;

/** `drover debug`: a shell where a run has failed, after another run of it if need be. */
export function addDebug(program: Command, io: Io, exitWith: (code: number) => void): void {
  const verb = program
    .command("debug")
    .summary("open a shell where a run has failed")
    .description("Runs a failed run again on a machine that keeps it, and opens a shell where it fails.")
    .argument("<run>", RUN_TEXT)
    .option("--task <name>", "the task (default: the one that failed first)");
  addKeep(verb)
    .addHelpText("after", HELP)
    .action(async (text: string, flags: DebugFlags) => exitWith(await debug(io, text, flags)));
}

async function debug(io: Io, text: string, flags: DebugFlags): Promise<number> {
  if (!(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new CliError("drover debug opens a shell, and this command's input or output is no terminal.", [
      `Without one: drover rerun --keep ${printable(text)}, then drover exec <the new run> -- <command>`,
    ]);
  }
  const { client, context } = connect(io);
  const run = await withRun({ io, client, changes: true }, text, (id) => client.runs.get(id));
  if (!hasEnded(run)) {
    throw new CliError(`Run ${run.id} has not ended, so there is nothing to find out about its end.`, [
      `Look inside while it runs: drover exec -it ${run.id} -- sh`,
    ]);
  }
  if (isKept(run)) return await look(io, client, run, flags);
  return await failAgain(io, client, context, run, flags);
}

function isKept({ kept }: RunStatus): boolean {
  return kept !== undefined && !kept.releasing;
}

/** Submits the run again, and opens a shell if it fails. Resolves with the exit code. */
async function failAgain(
  io: Io,
  client: Client,
  context: Context,
  run: RunStatus,
  { task, keep = run.spec.keep ?? DEFAULT_KEEP }: DebugFlags,
): Promise<number> {
  const spec = again(run, { keep });
  await io.say(printable(`Submits run ${run.id} again as ${spec.id}, to keep it for ${keep} if it fails.`));
  const refused = (error: unknown) => refusal(error, spec, { keep });
  const exitCode = await submitted(io, client, context, spec, { refusal: refused });
  const status = await client.runs.get(spec.id);
  if (!hasEnded(status)) return exitCode; // whoever is asked has left it
  if (isKept(status)) return await look(io, client, status, { task });
  if (hasFailed(status)) {
    await io.say(`Run ${spec.id} has failed, but no machine keeps it: drover why ${spec.id}`);
    return exitCode === 0 ? EXIT.drover : exitCode;
  }
  if (status.state === "complete") {
    await io.say(`Run ${spec.id} has ended well this time, so there is nothing to look into.`);
  }
  return exitCode;
}

/** Opens a shell in a kept run, and then asks what is to become of its machine. */
async function look(io: Io, client: Client, run: RunStatus, { task }: DebugFlags): Promise<number> {
  const shown = task ?? run.kept?.task;
  await io.say(
    printable(`A shell in run ${run.id}, task ${shown}. It is kept ${keptText(run, client.now())}.`),
  );
  await execAttached(io, client, run.id, { argv: SHELL, task: shown, input: true, terminal: true });
  const after = await client.runs.get(run.id);
  if (!isKept(after)) {
    await io.say(`Run ${run.id} is not kept any more.`);
    return 0;
  }
  if (!(await mayGo(io, run.id))) {
    await io.say(printable(`Run ${run.id} is kept ${keptText(after, client.now())}.`));
    return 0;
  }
  const { isOver, text } = await releaseRun(client, after);
  await io.say(printable(`Run ${run.id} ${text}.`));
  return isOver ? 0 : EXIT.drover;
}

/** Whether the machine may go. Whoever does not answer has not decided to keep it. */
async function mayGo(io: Io, run: string): Promise<boolean> {
  const person = personAtTerminal("");
  try {
    return (await person.choose(`Release the machine of run ${run}?`, "yn")) === "y";
  } catch {
    await io.stderr.write("\n");
    return true;
  } finally {
    person.leave();
  }
}
