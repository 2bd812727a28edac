import type { Command } from "commander";
import { path, wholeNumber } from "../options.ts";

interface UpFlags {
  port?: number;
  state?: string;
  fresh?: boolean;
}

const HELP = `
Commands in the directory of the state, and below it, find this Drover by themselves.

Examples:
  drover up
  drover up --port 8787 --state /var/tmp/drover
  drover up --fresh`;

/** `drover up`: Drover on this machine, until Ctrl-C. */
export function addUp(program: Command, exitWith: (code: number) => void): void {
  program
    .command("up")
    .summary("start Drover on this machine")
    .description(
      "Starts Drover on this machine, with machines that are processes of its own. Ctrl-C stops it all.",
    )
    .option(
      "--port <number>",
      "where to listen (default: as before, or one that is free)",
      wholeNumber(1, 65_535),
    )
    .option("--state <directory>", "where to keep everything (default: .drover)", path)
    .option("--fresh", "forget all runs, and everything else that is kept, first")
    .addHelpText("after", HELP)
    .action(async ({ port, state, fresh }: UpFlags) => {
      // Loaded here alone: it brings a whole runtime along, for which no other verb shall wait.
      const { upCommand } = await import("../../local/up-command.ts");
      exitWith(await upCommand({ port, stateDir: state, fresh }));
    });
}
