// `drover pools`: lists pools, or shows one.

import type { Command } from "commander";
import type { PoolView } from "../../client/types.ts";
import { connect } from "../context.ts";
import { troublesOf } from "../explain.ts";
import { listText } from "../list.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { costsText, holdOffText, machinesText } from "../terminal/pool-text.ts";
import { asJson, briefDuration, fields } from "../terminal/text.ts";
import { addPoolsCheck } from "./pools-check.ts";
import { addPoolsCreate } from "./pools-create.ts";
import { addPoolsDelete } from "./pools-delete.ts";
import { addPoolsEdit } from "./pools-edit.ts";

const HELP = `
Examples:
  drover pools
  drover pools default
  drover pools default --json | jq .config`;

/** `drover pools`: lists pools, or shows one. */
export function addPools(program: Command, io: Io, exitWith: (code: number) => void): void {
  const pools = program
    .command("pools")
    .summary("list pools, or show, create, edit, check or delete one")
    .description("Lists the pools (each is a queue with the machines that serve it), or shows one.")
    .argument("[pool]", "the name of one pool")
    .option("--json", "print JSON: a list, or the one pool")
    .addHelpText("after", HELP)
    .action(async (name: string | undefined, flags: { json?: boolean }) => {
      const { client } = connect(io);
      if (name !== undefined) {
        const pool = await client.pools.get(name);
        await io.stdout.write(flags.json ? `${asJson(pool)}\n` : view(pool, io));
        return;
      }
      const list = await client.pools.list();
      await io.stdout.write(flags.json ? `${asJson(list.items)}\n` : listView(list.items, io));
      for (const trouble of troublesOf(list.service)) await io.say(trouble);
    });
  addPoolsCreate(pools, io, exitWith);
  addPoolsEdit(pools, io, exitWith);
  addPoolsCheck(pools, io, exitWith);
  addPoolsDelete(pools, io);
}

function listView(pools: readonly PoolView[], io: Io): string {
  const headings = ["POOL", "QUEUED", "RUNNING", "MAX MACHINES", "MACHINES"];
  const rows = pools.map((pool) => [
    pool.name,
    String(pool.queue.depth),
    String(pool.runs.running),
    String(pool.config.maxInstances),
    machinesText(pool),
  ]);
  return listText(io, headings, rows, "No pools. Create one: drover pools create <name>");
}

function view(pool: PoolView, io: Io): string {
  const { bold } = colorsFor(io.stdout);
  const { depth, oldestAgeMs } = pool.queue;
  const oldest = oldestAgeMs === null ? "" : `, the oldest for ${briefDuration(oldestAgeMs)}`;
  const top = fields(
    [
      ["Pool", pool.leaving === true ? `${pool.name}, which is being deleted` : pool.name],
      ["Queue", `${depth} waiting${oldest}`],
      ["Runs", `${pool.runs.running} running, ${pool.runs.pending} pending`],
      ["Machines", machinesText(pool)],
      ["Costs", costsText(pool)],
      ["Strangers", strangers(pool)],
      ...pool.holdOffs.map((hold): [string, string] => ["Held off", holdOffText(hold)]),
    ],
    bold,
  );
  return `${top}\n${bold("Configuration")}\n${asJson(pool.config)}\n`;
}

/** Machines with this pool's tag that belong to no worker, but cost money; empty if there are none. */
function strangers({ strangers: ids = [] }: PoolView): string {
  return ids.length === 0
    ? ""
    : `${ids.join(" ")}: listed with this pool's tag, but not the machine of any worker`;
}
