// `drover update`: changes the spec of a run that has not ended.
import type { Command } from "commander";
import type { RunSpec } from "../../client/types.ts";
import { connect } from "../context.ts";
import { readJsonObject } from "../json-file.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
The file is the complete new spec in JSON: fields that it omits get their defaults.
Time limits, policies, labels, priority, env and meta can change while a run is
live; env and meta apply to later attempts. A task that is removed from a group is
stopped. Any other change is refused, and the error names the field.

Examples:
  drover status web-3 --json | jq .spec > web.json
  drover update web-3 -f web.json`;

/** `drover update`: replaces the spec of a live run. */
export function addUpdate(program: Command, io: Io): void {
  program
    .command("update")
    .summary("change the spec of a run in place")
    .description("Changes the spec of a run that has not ended.")
    .argument("<run>", RUN_TEXT)
    .requiredOption("-f, --file <file>", "the new spec, or `-` for standard input")
    .addHelpText("after", HELP)
    .action(async (text: string, { file }: { file: string }) => {
      // The server validates the spec, field by field.
      const spec = (await readJsonObject(file, "the spec of a run")) as RunSpec;
      const { client } = connect(io);
      const asking = { io, client, changes: true };
      const { id, specIndex } = await withRun(asking, text, (run) => client.runs.get(run));
      const changed = await client.runs.update(id, { specIndex, spec });
      const word = changed.specIndex === specIndex ? "has this spec already" : "has its new spec";
      await io.stdout.write(`${id} ${word}\n`);
    });
}
