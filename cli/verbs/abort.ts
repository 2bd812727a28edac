import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { hasEnded } from "../../client/states.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { EXIT } from "../errors.ts";
import type { Io } from "../io.ts";

interface AbortFlags {
  reason?: string;
  wait: boolean;
}

const HELP = `
A run that has ended already is left as it is. The exit code is ${EXIT.drover} if any of the
runs could not be aborted.

Examples:
  drover abort build-17
  drover abort --reason "wrong branch" build-17 build-18`;

/** `drover abort`: ends runs. */
export function addAbort(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("abort")
    .summary("end runs")
    .description(
      "Ends runs: asks their commands to stop, and kills what has not stopped in its kill timeout.",
    )
    .argument("<run...>", "the ids of the runs")
    .option("--reason <text>", "why; it is kept with the run")
    .option("--wait", "wait for their ends (default)", true)
    .option("--no-wait", "only ask for it")
    .addHelpText("after", HELP)
    .action(async (ids: string[], flags: AbortFlags) => {
      const { client } = connect(io);
      const wentWell = await forEachOf(io, ids, (id) => abortOne(io, client, id, flags));
      if (!wentWell) exitWith(EXIT.drover);
    });
}

/** Says what became of it: whatever that is, it is what was asked for. */
async function abortOne(io: Io, client: Client, id: string, flags: AbortFlags): Promise<true> {
  const before = await client.runs.get(id);
  if (hasEnded(before.state)) {
    await io.stdout.write(`${id} had ended: ${before.state}\n`);
    return true;
  }
  const asked = await client.runs.abort(id, { reason: flags.reason });
  if (!flags.wait) {
    await io.stdout.write(`${id} is being aborted\n`);
    return true;
  }
  const after = hasEnded(asked.state) ? asked : await client.runs.wait(id);
  await io.stdout.write(`${id} ended: ${after.state}\n`);
  return true;
}
