// `drover events`: shows the live runs and machines of a pool, and then each change.
import type { Command } from "commander";
import { WAIT_STEP_MS } from "../../client/runs/until-done.ts";
import type { PoolChange } from "../../client/types.ts";
import { connect } from "../context.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, printable } from "../terminal/text.ts";

const HELP = `
Examples:
  drover events
  drover events --follow --pool build
  drover events --json | jq .worker.id`;

/** `drover events`: shows a pool's live runs and machines, then each change. */
export function addEvents(program: Command, io: Io): void {
  program
    .command("events")
    .summary("show what changes in a pool")
    .description("Shows a pool's machines and the runs that have not ended, then what changes.")
    .option("--pool <name>", "which pool (default: the one called default)", "default")
    .option("-f, --follow", "keep showing changes, until Ctrl-C")
    .option("--json", "print a JSON object on each line")
    .addHelpText("after", HELP)
    .action(async ({ pool, follow, json }: { pool: string; follow?: boolean; json?: boolean }) => {
      const { client } = connect(io);
      let { items, next } = await client.pools.events(pool);
      for (;;) {
        if (items.length === 0 && follow !== true && !json) {
          await io.stdout.write(`Nothing is going on in pool ${printable(pool)}.\n`);
        }
        for (const item of items) await io.stdout.write(`${json ? asJson(item, 0) : line(item)}\n`);
        if (follow !== true) return;
        ({ items, next } = await client.pools.events(pool, { after: next, waitMs: WAIT_STEP_MS }));
      }
    });
}

function line({ run, worker }: PoolChange): string {
  if (run !== undefined) {
    const place = run.worker === null ? "" : ` on ${run.worker}`;
    return printable(`run ${run.id}  ${run.state}${place}`);
  }
  return printable(`worker ${worker?.id}  ${worker?.state}: ${worker?.reason}`);
}
