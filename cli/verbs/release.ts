// `drover release`: lets the machines of kept runs go.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { EXIT } from "../errors.ts";
import { releaseRun } from "../run/keep.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";

const HELP = `
A run that was submitted with --keep and has failed is kept on its machine for a while.
This ends that: commands that run there are killed, the files of the run are deleted,
and its place on the machine is free. The run, its logs and its result stay.

The exit code is ${EXIT.drover} if any of the runs could not be released.

Examples:
  drover release build-17
  drover release -`;

/** `drover release`: ends the holds of runs. */
export function addRelease(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("release")
    .summary("let the machine of a kept run go")
    .description("Ends what --keep began: lets the machines of runs go that have failed and are kept.")
    .argument("<run...>", RUNS_TEXT)
    .addHelpText("after", HELP)
    .action(async (texts: string[]) => {
      const { client } = connect(io);
      const release = async (id: string): Promise<boolean> => {
        const { isOver, text } = await releaseRun(client, await client.runs.get(id));
        await io.stdout.write(`${id} ${printable(text)}\n`);
        return isOver;
      };
      const asking = { io, client, changes: true };
      const wentWell = await forEachOf(io, texts, (text) => withRun(asking, text, release));
      if (!wentWell) exitWith(EXIT.drover);
    });
}
