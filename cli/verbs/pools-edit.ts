// `drover pools edit`: changes a pool in an editor.
import type { Command } from "commander";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
Opens the configuration as JSON in $VISUAL or $EDITOR, shows what you have changed, and
asks before it puts it. What is wrong stands at the top when the editor opens again.
A text that is not put is kept in a file whose name is printed, with exit code ${EXIT.no}.

Examples:
  drover pools edit ci
  EDITOR='code --wait' drover pools edit ci`;

/** `drover pools edit`: changes the configuration of a pool in an editor. */
export function addPoolsEdit(pools: Command, io: Io, exitWith: (code: number) => void): void {
  pools
    .command("edit")
    .summary("change a pool in an editor")
    .description("Opens the configuration of a pool in an editor, and changes the pool.")
    .argument("<pool>", "the name of the pool")
    .addHelpText("after", HELP)
    .action(async (name: string) => {
      // Loaded on demand: few verbs check what the server checks.
      const { poolEdit } = await import("../pool-edit/command.ts");
      exitWith(await poolEdit(io, name));
    });
}
