import type { Command } from "commander";
import type { PoolView } from "../../src/schema/pool.ts";
import { connect } from "../context.ts";
import { troublesOf } from "../explain.ts";
import { colorsFor, type Io } from "../io.ts";
import { briefDuration, fields, table } from "../text.ts";

const HELP = `
Examples:
  drover pools
  drover pools default
  drover pools default --json | jq .config`;

/** `drover pools`: the pools, or one of them. */
export function addPools(program: Command, io: Io): void {
  program
    .command("pools")
    .summary("list pools, or show one")
    .description("Lists the pools, each a queue with the machines that serve it, or shows one of them.")
    .argument("[pool]", "the name of one pool")
    .option("--json", "print JSON: a list, or the one pool")
    .addHelpText("after", HELP)
    .action(async (name: string | undefined, flags: { json?: boolean }) => {
      const { client } = connect(io);
      if (name !== undefined) {
        const pool = await client.pools.get(name);
        await io.stdout.write(flags.json ? `${JSON.stringify(pool, null, 2)}\n` : view(pool, io));
        return;
      }
      const list = await client.pools.list();
      await io.stdout.write(
        flags.json ? `${JSON.stringify(list.items, null, 2)}\n` : listView(list.items, io),
      );
      for (const trouble of troublesOf(list.service)) await io.say(trouble);
    });
}

function listView(pools: readonly PoolView[], io: Io): string {
  const headings = ["POOL", "QUEUED", "RUNNING", "MOST MACHINES", "MACHINES"];
  const rows = pools.map((pool) => [
    pool.name,
    String(pool.queue.depth),
    String(pool.runs.running),
    String(pool.config.maxInstances),
    machines(pool),
  ]);
  return table(headings, rows, io.stdout.isTerminal ? io.stdout.columns() : Number.POSITIVE_INFINITY);
}

function view(pool: PoolView, io: Io): string {
  const { bold } = colorsFor(io.stdout);
  const { depth, oldestAgeMs } = pool.queue;
  const oldest = oldestAgeMs === null ? "" : `, the oldest for ${briefDuration(oldestAgeMs)}`;
  const top = fields(
    [
      ["Pool", pool.name],
      ["Queue", `${depth} waiting${oldest}`],
      ["Runs", `${pool.runs.running} running, ${pool.runs.pending} pending`],
      ["Machines", machines(pool)],
      ...pool.holdOffs.map(({ until, reason }): [string, string] => [
        "Held off",
        `no machine is asked for until ${until}: ${reason}`,
      ]),
    ],
    bold,
  );
  return `${top}\n${bold("Configuration")}\n${JSON.stringify(pool.config, null, 2)}\n`;
}

/** How many machines there are, by state: those that are gone are none. */
function machines({ workers }: PoolView): string {
  const counts = Object.entries(workers).filter(([state, count]) => state !== "gone" && count > 0);
  return counts.length === 0 ? "none" : counts.map(([state, count]) => `${count} ${state}`).join(", ");
}
