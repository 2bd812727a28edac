// `drover redrive`: has parked runs run again.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { CliError, EXIT } from "../errors.ts";
import { pair } from "../options.ts";
import { readRuns } from "../run/list-runs.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

interface RedriveFlags {
  label?: Record<string, string>;
  all?: boolean;
}

const HELP = `
A run that was submitted with --park and has failed for good is parked: drover ps --parked.
When its cause is gone, this has it run again with the same spec, as another run, whose
id is printed. Then it is parked no more.

However often somebody redrives a parked run, it runs again once. To
change something, such as its memory: drover rerun, which makes another run each time.

The exit code is ${EXIT.drover} if any of the runs could not be redriven.

Examples:
  drover redrive build-17
  drover redrive --label set=nightly
  drover redrive --all`;

/** `drover redrive`: submits parked runs again, each once. */
export function addRedrive(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("redrive")
    .summary("have parked runs run again")
    .description("Runs parked runs again, each once. A run is parked when it has failed for good.")
    .argument("[run...]", RUNS_TEXT)
    .option("-l, --label <name=value>", "parked runs with this label (repeatable: with all labels)", pair)
    .option("-a, --all", "all parked runs")
    .addHelpText("after", HELP)
    .action(async (texts: string[], flags: RedriveFlags) => {
      const { client } = connect(io);
      const { wanted, isWhole } = await chosen(io, client, texts, flags);
      if (wanted.length === 0 && isWhole)
        await io.say(flags.all === true ? "No run is parked." : "No parked run matches.");
      const redrive = async (id: string): Promise<boolean> => {
        const next = await client.runs.redrive(id);
        await io.stdout.write(`${id} runs again as ${next.id}\n`);
        return true;
      };
      const asking = { io, client, changes: true };
      const wentWell = await forEachOf(io, wanted, (text) => withRun(asking, text, redrive));
      if (!wentWell || !isWhole) exitWith(EXIT.drover);
    });
}

/**
 * The runs to redrive. `isWhole`: all pools have answered. Throws a `CliError` unless the runs are chosen
 * in one way.
 */
async function chosen(
  io: Io,
  client: Client,
  texts: string[],
  flags: RedriveFlags,
): Promise<{ wanted: string[]; isWhole: boolean }> {
  const ways = [texts.length > 0, flags.label !== undefined, flags.all === true].filter(Boolean);
  if (ways.length !== 1) {
    throw new CliError("It is not clear which runs to redrive.", [
      "Name them, or choose parked ones: drover redrive --label set=nightly, or drover redrive --all",
    ]);
  }
  if (texts.length > 0) return { wanted: texts, isWhole: true };
  const { runs, troubles } = await readRuns(client, { labels: flags.label, parked: true, states: ["all"] });
  for (const trouble of troubles) await io.say(trouble);
  return { wanted: runs.map(({ id }) => id), isWhole: troubles.length === 0 };
}
