// `drover exec`: runs a command inside a run.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { meantRun, RUN_TEXT } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { execAttached } from "../tunnel/attached.ts";

interface ExecFlags {
  task?: string;
  interactive?: boolean;
  tty?: boolean;
}

const HELP = `
The command runs beside that of the task: as the same user, in the same directory, with
the same variables, secrets and limits, and it ends with it. It goes on over a lost
connection. Its exit code is that of drover exec; 125 means that Drover has failed.

A run that has failed and is kept (drover run --keep) is entered in the same way, for as
long as it is kept.

It needs a token with the scope runs:exec. Its output is not masked: whoever may run
commands in a run can read its secrets.

Examples:
  drover exec -it build-17 -- sh
  drover exec build-17 -- ps aux
  drover exec -i build-17 -- sh -c 'cat >patch' <my.patch`;

/** `drover exec`: runs a command beside that of a task. */
export function addExec(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("exec")
    .summary("run a command inside a run")
    .description("Runs a command inside a run, beside the command of its task.")
    .argument("<run>", RUN_TEXT)
    .argument("<command...>", "the command and its arguments, after --")
    .option("--task <name>", "the task (default: the one that gives the run its result)")
    .option("-i, --interactive", "pass this command's input on")
    .option("-t, --tty", "give the command a terminal: this one")
    .passThroughOptions()
    .addHelpText("after", HELP)
    .action(async (run: string, words: string[], { task, interactive, tty }: ExecFlags) => {
      const argv = words[0] === "--" ? words.slice(1) : words;
      const terminal = tty === true;
      const input = interactive === true || terminal;
      const { client } = connect(io);
      const id = await meantRun({ io, client, changes: true }, run);
      exitWith(await execAttached(io, client, id, { argv, task, input, terminal }));
    });
}
