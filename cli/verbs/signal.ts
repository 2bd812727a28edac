// `drover signal`: sends a signal to the tasks of a run.
import type { Command } from "commander";
import type { SignalName } from "../../client/types.ts";
import { SIGNALS } from "../../src/shared/signals.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
Only the main process of a task gets the signal. Signals: ${SIGNALS.join(", ")}.

Examples:
  drover signal web-3 SIGHUP
  drover signal --task worker web-3 USR1`;

/** `drover signal`: signals the main process of one task, or of all tasks. */
export function addSignal(program: Command, io: Io): void {
  program
    .command("signal")
    .summary("send a signal to the tasks of a run")
    .description("Sends a signal to the running tasks of a run: one, or all of them.")
    .argument("<run>", RUN_TEXT)
    .argument("<signal>", "such as SIGHUP, or HUP")
    .option("--task <name>", "only this task")
    .addHelpText("after", HELP)
    .action(async (text: string, name: string, flags: { task?: string }) => {
      const signal = signalOf(name);
      const { client } = connect(io);
      await withRun({ io, client, changes: true }, text, async (id) => {
        await client.runs.signal(id, signal, flags);
        await io.stdout.write(`${id} is being sent ${signal}\n`);
      });
    });
}

/** Reads a name as `kill` does: with or without `SIG`, in upper or lower case. */
function signalOf(name: string): SignalName {
  const short = name.toUpperCase().replace(/^SIG/, "");
  const found = SIGNALS.find((signal) => signal === `SIG${short}`);
  if (found !== undefined) return found;
  throw new CliError(`Drover cannot send signal ${printable(name)}.`, [`Use one of ${SIGNALS.join(", ")}.`]);
}
