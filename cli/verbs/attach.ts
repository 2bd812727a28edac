// `drover attach`: comes back to a run.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { attached } from "../run/attended.ts";
import { type Answer, onInterrupt } from "../run/on-interrupt.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

interface AttachFlags {
  quiet?: boolean;
  json?: boolean;
  onInterrupt?: Answer;
}

const HELP = `
Shows the output of the run from its beginning, follows it to its end, and exits with the
exit code of its command, as drover run does.

On a terminal, Ctrl-C asks: go on, abort the run, or detach from it. Elsewhere an
interrupt detaches, unless --on-interrupt says abort.

Examples:
  drover attach build-17
  drover attach -`;

/** `drover attach`: stays with a run until its end. */
export function addAttach(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("attach")
    .summary("come back to a run")
    .description("Comes back to a run: shows its output to the end, and exits with its exit code.")
    .argument("<run>", RUN_TEXT)
    .option("-q, --quiet", "show only the output of the run, and exit with its exit code")
    .option("--on-interrupt <what>", "abort or detach: what Ctrl-C means, instead of a question", onInterrupt)
    .option("--json", "print the final status as JSON on stdout")
    .addHelpText("after", HELP)
    .action(async (text: string, flags: AttachFlags) => {
      const { client, context } = connect(io);
      const { id, spec } = await withRun({ io, client }, text, (run) => client.runs.get(run));
      exitWith(await attached(io, client, context, { ...spec, id }, flags));
    });
}
