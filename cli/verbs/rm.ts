// `drover rm`: deletes ended runs before their retention time is over.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { EXIT } from "../errors.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Only ended runs can be deleted: abort others first, or use --force. The id of a deleted run cannot be
used again for 30 days. The exit code is ${EXIT.drover} if any could not be deleted.

Examples:
  drover rm build-17
  drover rm build-17 build-18
  drover rm --force build-19`;

/** `drover rm`: deletes runs that have ended. */
export function addRm(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("rm")
    .summary("delete ended runs, with their logs")
    .description("Deletes runs that have ended, with their history and logs, before their retention is over.")
    .argument("<run...>", RUNS_TEXT)
    .option("--force", "first end runs that have not ended, as `drover abort --force` does")
    .addHelpText("after", HELP)
    .action(async (texts: string[], { force }: { force?: boolean }) => {
      const { client } = connect(io);
      const remove = async (id: string): Promise<true> => {
        await client.runs.remove(id, { force });
        await io.stdout.write(`${id} is deleted\n`);
        return true;
      };
      const asking = { io, client, changes: true };
      const wentWell = await forEachOf(io, texts, (text) => withRun(asking, text, remove));
      if (!wentWell) exitWith(EXIT.drover);
    });
}
