import type { Command } from "commander";
import type { PoolEvent } from "../../client/types.ts";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover events
  drover events --follow --pool build
  drover events --json | jq .worker.id`;

/** For how long the server holds an answer while nothing changes. */
const WAIT_MS = 30_000;

/** `drover events`: what lives in a pool, and what changes there. */
export function addEvents(program: Command, io: Io): void {
  program
    .command("events")
    .summary("show what changes in a pool")
    .description(
      "Shows the runs that have not ended and the machines of a pool, and then what changes there.",
    )
    .option("--pool <name>", "which pool (default: the one called default)", "default")
    .option("-f, --follow", "go on with what changes, until Ctrl-C")
    .option("--json", "print a JSON object on each line")
    .addHelpText("after", HELP)
    .action(async ({ pool, follow, json }: { pool: string; follow?: boolean; json?: boolean }) => {
      const { client } = connect(io);
      let { items, next } = await client.pools.events(pool);
      for (;;) {
        if (items.length === 0 && follow !== true && !json) {
          await io.stdout.write(`Nothing goes on in pool ${printable(pool)}.\n`);
        }
        for (const item of items) await io.stdout.write(`${json ? asJson(item, 0) : line(item)}\n`);
        if (follow !== true) return;
        ({ items, next } = await client.pools.events(pool, { after: next, waitMs: WAIT_MS }));
      }
    });
}

function line({ run, worker }: PoolEvent): string {
  if (run !== undefined) {
    const place = run.worker === null ? "" : ` on ${run.worker}`;
    return printable(`run ${run.id}  ${run.state}${place}`);
  }
  return printable(`worker ${worker?.id}  ${worker?.state}: ${worker?.reason}`);
}
