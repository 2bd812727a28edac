// `drover queue`: lists the runs that wait for a place, each with the reason.
import type { Command } from "commander";
import type { QueuedRun } from "../../client/types.ts";
import { connect } from "../context.ts";
import { listText } from "../list.ts";
import { wholeNumber } from "../options.ts";
import { readPages } from "../pages.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, briefDuration } from "../terminal/text.ts";

const HELP = `
The word in brackets is a code for programs; docs/operating.md says what to do about each.

Examples:
  drover queue
  drover queue --pool build --json | jq -r '.[].id'`;

/** `drover queue`: lists waiting runs in queue order, each with the reason. */
export function addQueue(program: Command, io: Io): void {
  program
    .command("queue")
    .summary("list the runs that wait for a place")
    .description("Lists the runs of a pool that wait for a place, in queue order, each with the reason.")
    .option("--pool <name>", "which pool (default: the one called default)", "default")
    .option("--limit <number>", "at most this many (default: 100)", wholeNumber(1, 1_000_000), 100)
    .option("--json", "print the runs as a JSON list")
    .addHelpText("after", HELP)
    .action(async ({ pool, limit, json }: { pool: string; limit: number; json?: boolean }) => {
      const { pools } = connect(io).client;
      const pages = await readPages(limit, (page) => pools.queue(pool, page));
      const items = pages.flatMap((page) => page.items);
      const queued = pages.at(-1)?.queued ?? 0;
      await io.stdout.write(json ? `${asJson(items)}\n` : view(items, io));
      if (queued > items.length) await io.say(`${queued} runs wait; to see more than ${limit}, use --limit.`);
    });
}

function view(runs: readonly QueuedRun[], io: Io): string {
  const headings = ["PLACE", "RUN", "PRIORITY", "AGE", "COMMAND", "WHY"];
  const rows = runs.map(({ position, id, priority, ageMs, command, reason }) => [
    String(position),
    id,
    String(priority),
    briefDuration(ageMs),
    command,
    `${reason.text} (${reason.code})`,
  ]);
  return listText(io, headings, rows, "No run waits for a place.");
}
