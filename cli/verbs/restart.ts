// `drover restart`: starts tasks of a live run again.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
A running task is stopped first, with its own kill signal and timeout. Restarts by
hand do not count towards the task's restart policy.

Examples:
  drover restart web-3
  drover restart --task worker web-3
  drover restart --all web-3`;

/** `drover restart`: restarts tasks of a run. */
export function addRestart(program: Command, io: Io): void {
  program
    .command("restart")
    .summary("restart tasks of a run")
    .description("Restarts the running tasks of a run: one, or all of them.")
    .argument("<run>", RUN_TEXT)
    .option("--task <name>", "only this task")
    .option("--all", "also tasks that have ended, in the order of their lifecycle")
    .addHelpText("after", HELP)
    .action(async (text: string, flags: { task?: string; all?: boolean }) => {
      const { client } = connect(io);
      await withRun({ io, client, changes: true }, text, async (id) => {
        await client.runs.restart(id, flags);
        await io.stdout.write(`${id} is being restarted\n`);
      });
    });
}
