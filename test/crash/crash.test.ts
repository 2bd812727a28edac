import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { sized } from "../chance/length.ts";
import { SEED } from "../chance/seed.ts";
import { endDrover, makeHome, poolConfigOf, startDrover } from "../edge/support/drover.ts";
import { leftOf } from "../local/support/up-process.ts";
import { Chance } from "../sim/rng.ts";
import { auditBatch, machinesAgree } from "./support/audit.ts";
import { playBatch } from "./support/batch.ts";
import type { System } from "./support/stream.ts";
import { STRIKES } from "./support/strikes.ts";
import { type Counts, countsOf, tableOf } from "./support/table.ts";
import { Told } from "./support/told.ts";

// The whole system as real processes on one state directory, of which something is killed with SIGKILL again
// and again, at random moments, while users submit, abort and watch runs (CONTRIBUTING.md#tests). Agents and
// machines outlive `drover up`, commands outlive their agent: a run may end `unknown` only if its own machine
// was killed. DROVER_CRASH_ROUNDS=100 strikes a hundred times at each; DROVER_SEED=7 chooses jobs,
// strikes and moments again, though never quite the interleaving.

const ROUNDS = Number(process.env.DROVER_CRASH_ROUNDS ?? sized(1, 10));
/** For a strike on a busy machine; one takes from half a second to four. */
const STRIKE_WITHIN_MS = 30_000;
const POOL = "crash";

const chance = new Chance(SEED);
const table: Counts[] = [];
let system: System;
let keep = false;
beforeAll(async () => {
  const home = makeHome("crash");
  const effects = join(home, "effects");
  mkdirSync(effects);
  system = { home, pool: POOL, effects, up: await startDrover(home), told: new Told(), problems: [] };
  const config = await poolConfigOf(system.up);
  // Two machines of four places each, so that not all fits, and listings often enough to see an end.
  const pool = { ...config, maxInstances: 2, sync: { interval: "1s" } };
  await system.up.json(201, "PUT", `/v1/pools/${POOL}`, pool);
});
afterAll(async () => {
  console.info(`${tableOf(table)}\n(seed ${SEED})`);
  await endDrover(system.home, system.up);
  if (!keep) rmSync(system.home, { recursive: true, force: true });
});

test.each(STRIKES)(
  `no run is lost by ${ROUNDS} crashes: $at (seed ${SEED})`,
  {
    timeout: 60_000 + ROUNDS * STRIKE_WITHIN_MS,
  },
  async (strike) => {
    onTestFailed(() => {
      keep = true;
      console.info(`What there is to see is in ${system.home}`);
    });
    const batch = await playBatch(system, strike, ROUNDS, chance);
    table.push(countsOf(system, batch));
    expect(await auditBatch(system, batch), `SIGKILL to ${strike.at}, seed ${SEED}`).toEqual([]);
    await machinesAgree(system);
  },
);

test("after all of it a clean end leaves nothing behind", async () => {
  expect(await system.up.stop()).toBe(0);
  expect(leftOf(system.up.stateDir)).toEqual([]);
});
