// `drover pools`: lists pools, or shows one.

import type { Command } from "commander";
import type { PoolView } from "../../client/types.ts";
import { money } from "../../src/shared/cloud/money.ts";
import { connect } from "../context.ts";
import { troublesOf } from "../explain.ts";
import { listText } from "../list.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { asJson, briefDuration, counted, fields } from "../terminal/text.ts";
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
    machines(pool),
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
      ["Machines", machines(pool)],
      ["Costs", costs(pool)],
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

/** What a hold-off prevents, until when, and why. */
function holdOffText({ scope, until, trying, reason }: PoolView["holdOffs"][number]): string {
  const when = trying ? "one is being tried now" : `until ${until ?? "the pool is applied again"}`;
  const what = scope === "list" ? "machines are not listed" : `no machine is asked for (${scope})`;
  return `${what}, ${when}: ${reason}`;
}

/** What the machines cost per hour, and what they could cost at most; empty if the server does not say. */
function costs({ spend, config }: PoolView): string {
  if (spend === undefined) return "";
  const { perHour, unpriced, worstPerHour } = spend;
  const more = unpriced === 0 ? "" : ` and ${counted(unpriced, "machine")} of unknown price`;
  const worst =
    worstPerHour === null
      ? "unknown: a type has no price"
      : `${money(worstPerHour)} with ${config.maxInstances}`;
  return `${money(perHour)} an hour${more}, at most ${worst}`;
}

/** Used for an older server, which omits `unmade`. */
const NONE_UNMADE: NonNullable<PoolView["unmade"]> = { asked: 0, refused: 0 };

/**
 * Counts machines by state, except machines that are gone. Machines that the provider has not made yet are
 * counted separately from booting machines.
 */
function machines({ workers, unmade = NONE_UNMADE }: PoolView): string {
  const { asked, refused, unconfirmed = 0 } = unmade;
  const booting = (workers.booting ?? 0) - asked - refused - unconfirmed;
  const unmadeShown = {
    "asked for": asked,
    "refused by the provider": refused,
    "not confirmed by the provider": unconfirmed,
  };
  const shown = { ...workers, booting, gone: 0, ...unmadeShown };
  const counts = Object.entries(shown).filter(([, count]) => count > 0);
  return counts.length === 0 ? "none" : counts.map(([state, count]) => `${count} ${state}`).join(", ");
}
