// `drover why`: why is a run or a worker in its state, and what happens next?
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { Why } from "../../client/types.ts";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { asJson, briefDuration, fields, printable } from "../terminal/text.ts";

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
    .argument("<run|worker>", "the id of a run or of a worker")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (id: string, flags: { json?: boolean }) => {
      const { client } = connect(io);
      const why = await whyOf(client, id);
      await io.stdout.write(flags.json ? `${asJson(why)}\n` : view(id, why, io, client.now()));
    });
}

/** Explains a run, or else a worker: an id does not show whether it belongs to a run or to a worker. */
async function whyOf(client: Client, id: string): Promise<Why> {
  const why =
    (await client.runs.why(id).catch(noneIfUnknown)) ?? (await client.workers.why(id).catch(noneIfUnknown));
  if (why !== undefined) return why;
  throw new CliError(`There is no run or worker with the id ${printable(id)}.`, [
    "See `drover ps --all` and `drover workers`.",
  ]);
}

function noneIfUnknown(error: unknown): undefined {
  if (!(error instanceof ApiError && error.status === 404)) throw error;
}

function view(id: string, why: Why, io: Io, now: number): string {
  const { bold } = colorsFor(io.stdout);
  const { code, text, ...details } = why.reason;
  // Only runs have this code, so the hint names `drover abort`.
  const hurry = code === "stopping" ? `to end it at once: drover abort --force ${id}` : "";
  const facts = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return fields(
    [
      ["State", why.state],
      ["Why", `${text} (${code})`],
      ["", facts.join(", ")],
      ["Next", nextLine(why.next, now)],
      ["", hurry],
      ...why.chain.map(({ what, state, text: link }): [string, string] => [what, `${state}: ${link}`]),
    ],
    bold,
  );
}

function nextLine(next: Why["next"], now: number): string {
  if (next.at === null) return next.action;
  const ms = Date.parse(next.at) - now;
  return `${next.action} (${ms > 0 ? `in ${briefDuration(ms)}` : "now"}, at ${next.at})`;
}
