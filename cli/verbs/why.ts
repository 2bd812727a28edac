// `drover why`: why is a run or a worker in its state, and what happens next?
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { Why } from "../../client/types.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { withRun } from "../run/which-run.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { asJson, fields, printable } from "../terminal/text.ts";
import { whyFields } from "../terminal/why-text.ts";

const HELP = `
Examples:
  drover why build-17
  drover why --json w-3f9a`;

/** `drover why`: explains the state of a run or a worker, and what happens next. */
export function addWhy(program: Command, io: Io): void {
  program
    .command("why")
    .summary("show what a run or a worker waits for")
    .description("Shows why a run or a worker is in its state, what happens next, and when.")
    .argument("<run|worker>", "the id of a run, as with other verbs, or of a worker")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (text: string, flags: { json?: boolean }) => {
      const { client } = connect(io);
      const { id, why } = await found(io, client, text);
      await io.stdout.write(
        flags.json ? `${asJson(why)}\n` : fields(whyFields(id, why, client.now()), colorsFor(io.stdout).bold),
      );
    });
}

interface Found {
  id: string;
  why: Why;
}

/** Explains the run or the worker that is meant. A worker's whole id wins over the beginning of a run's. */
async function found(io: Io, client: Client, text: string): Promise<Found> {
  try {
    return await withRun({ io, client }, text, async (id) => ({ id, why: await whyOf(client, id) }));
  } catch (error) {
    if (!isUnknown(error)) throw error;
    throw new CliError(`There is no run or worker with the id ${printable(text)}.`, [
      "See `drover ps --all` and `drover workers`.",
    ]);
  }
}

/** Explains a run, or else a worker: an id does not show whether it belongs to a run or to a worker. */
async function whyOf(client: Client, id: string): Promise<Why> {
  try {
    return await client.runs.why(id);
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const why = await client.workers.why(id).catch((other: unknown) => {
      if (!isUnknown(other)) throw other;
    });
    if (why === undefined) throw error;
    return why;
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
