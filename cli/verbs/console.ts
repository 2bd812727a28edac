// `drover console`: what has the console of a machine shown?
import type { Command } from "commander";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, elapsed, printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover console default-9b6c-1
  drover console --json default-9b6c-1`;

/** `drover console`: shows the end of a machine's console, where its provider has one. */
export function addConsole(program: Command, io: Io): void {
  program
    .command("console")
    .summary("show the end of a machine's console")
    .description(
      "Shows the last lines, at most 16 KiB, that the console of a worker's machine has shown: its boot, " +
        "and what keeps it from becoming ready. Its provider is asked for them. Amazon EC2, Google Compute " +
        "Engine, `drover up` and services that have the call show a console.",
    )
    .argument("<worker>", "the id of a worker")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (id: string, flags: { json?: boolean }) => {
      const { client } = connect(io);
      const shown = await client.workers.console(id);
      if (flags.json) {
        await io.stdout.write(`${asJson(shown)}\n`);
        return;
      }
      const { text, truncated, updatedAt } = shown;
      const lines = text.replace(/\n$/, "").split("\n");
      await io.stdout.write(`${lines.map(printable).join("\n")}\n`);
      const age = updatedAt === null ? "" : `It is as it was ${elapsed(updatedAt, client.now())} ago. `;
      const note = `${age}${truncated ? "What came before is left out." : ""}`.trim();
      if (note !== "") await io.say(note);
    });
}
