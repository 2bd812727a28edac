import type { Command } from "commander";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
What runs is stopped first, by its own kill signal and timeout. A restart that a
person asks for is not counted by the policy of the task.

Examples:
  drover restart web-3
  drover restart --task worker web-3
  drover restart --all web-3`;

/** `drover restart`: starts tasks of a run again. */
export function addRestart(program: Command, io: Io): void {
  program
    .command("restart")
    .summary("start tasks of a run again")
    .description("Starts the tasks of a run again that run now: one, or all of them.")
    .argument("<run>", "the run's id")
    .option("--task <name>", "only this task")
    .option("--all", "those that have ended, too, in the order of their lifecycle")
    .addHelpText("after", HELP)
    .action(async (id: string, flags: { task?: string; all?: boolean }) => {
      await connect(io).client.runs.restart(id, flags);
      await io.stdout.write(`${id} is being started again\n`);
    });
}
