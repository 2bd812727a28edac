import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { environmentOf, listProcesses } from "../../local/processes.ts";
import type { RunStatus } from "../../src/schema/run.ts";
import { endDrover, makeHome, poolConfigOf, startDrover } from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { until } from "../local/support/scratch.ts";
import { leftOf } from "../local/support/up-process.ts";
import { Chance } from "../sim/rng.ts";
import { effectsOf, type Job, shuffled } from "./support/jobs.ts";
import { playRound, type Round, type System } from "./support/round.ts";
import { instancesOf, STRIKES } from "./support/strikes.ts";
import { Told } from "./support/told.ts";

// The whole system as real processes on one state directory, of which something is killed with SIGKILL in
// each round, at a random moment (`architecture.md` §8). Machines outlive `drover up`, and the next one goes
// on with them: a run may end `unknown` only if its own machine was killed. DROVER_CRASH_ROUNDS=50 plays
// longer; DROVER_CRASH_SEED=7 chooses jobs, strikes and moments again, though never quite the interleaving.

const ROUNDS = Number(process.env.DROVER_CRASH_ROUNDS ?? STRIKES.length);
const SEED = Number(process.env.DROVER_CRASH_SEED ?? Date.now() % 1_000_000);
/** For a round on a busy machine; one takes about ten seconds. */
const ROUND_WITHIN_MS = 120_000;
const POOL = "crash";
/** Placements of one run: a worker that refuses is tried again with a back-off, and a round has one crash. */
const MAX_EPOCHS = 10;

let system: System;
let keep = false;
beforeAll(async () => {
  const home = makeHome("crash");
  const effects = join(home, "effects");
  mkdirSync(effects);
  system = { home, pool: POOL, effects, up: await startDrover(home), told: new Told(), problems: [] };
  const config = await poolConfigOf(system.up);
  // Two machines of four places each, so that a round does not fit, and listings often enough to see an end.
  const pool = { ...config, maxInstances: 2, sync: { interval: "1s" } };
  await system.up.json(201, "PUT", `/v1/pools/${POOL}`, pool);
});
afterAll(async () => {
  await endDrover(system.home, system.up);
  if (!keep) rmSync(system.home, { recursive: true, force: true });
});

test(`no run is lost in ${ROUNDS} crashes (seed ${SEED})`, {
  timeout: ROUNDS * ROUND_WITHIN_MS,
}, async () => {
  onTestFailed(() => {
    keep = true;
    console.info(`What there is to see is in ${system.home}`);
  });
  const chance = new Chance(SEED);
  const rounds: Round[] = [];
  let strikes: (typeof STRIKES)[number][] = [];
  for (let number = 1; number <= ROUNDS; number += 1) {
    if (strikes.length === 0) strikes = shuffled(STRIKES, chance);
    const strike = strikes.pop() ?? STRIKES[0];
    const round = await playRound(system, number, strike, chance);
    rounds.push(round);
    const problems = [...system.problems, ...(await auditRuns(round)), ...(await auditMemory(rounds))];
    expect(problems, `round ${number}, SIGKILL to ${strike.at}, seed ${SEED}`).toEqual([]);
    await machinesAgree();
    console.info(countsOf(number, round));
  }
  const ids = rounds.flatMap(({ jobs }) => jobs.map(({ id }) => id));
  expect(system.told.ended).toBe(ids.length);
  expect(await system.up.stop()).toBe(0);
  expect(leftOf(system.up.stateDir)).toEqual([]);
  console.info(`${ids.length} runs, ${system.told.readings} readings of their ends, seed ${SEED}`);
});

/** What is wrong with the ends of one round, in words. */
async function auditRuns(round: Round): Promise<string[]> {
  const { items } = await system.up.json(200, "GET", `/v1/workers?pool=${POOL}&limit=1000`);
  const instanceOf = new Map<string, string>(items.map(({ id, instance }: Json) => [id, instance]));
  const audits = round.jobs.map(async (job) => {
    const status = system.told.statusOf(job.id);
    if (status === undefined) return [`${job.id} has not ended`];
    const found = [...auditEffects(job, status), ...auditState(job, status, round)];
    if (status.state === "unknown") found.push(...auditLoss(status, round, instanceOf));
    if (status.state === "complete") found.push(...(await auditOutput(job)));
    return found.map((text) => `${job.id} (${status.state}): ${text}`);
  });
  return (await Promise.all(audits)).flat();
}

/** Each attempt leaves one line where it began: there is at most one, and the run knows of it. */
function auditEffects(job: Job, status: RunStatus): string[] {
  const effects = effectsOf(system.effects, job.id);
  if (effects.length > 1) return [`it was started more than once: ${effects.join(", ")}`];
  const last = `${job.id}/main/${status.placements.at(-1)?.epoch}.1`;
  if (effects.length === 1 && effects[0] !== last)
    return [`${effects[0]} has run, and the run knows ${last}`];
  if (effects.length === 0 && status.state === "complete") return ["it has not run"];
  return [];
}

function auditState(job: Job, status: RunStatus, round: Round): string[] {
  const byItself = job.kind === "quick" || job.kind === "slow";
  const expected = round.aborted.has(job.id) ? ["aborted"] : byItself ? ["complete", "unknown"] : ["unknown"];
  if (!expected.includes(status.state)) return [`it should be ${expected.join(" or ")}`];
  const { state, exitCode, placements } = status;
  const epochs = placements.at(-1)?.epoch ?? 0;
  if (epochs > MAX_EPOCHS) return [`it was placed ${epochs} times: somebody turns in circles`];
  if (state === "complete" && exitCode !== job.exitCode)
    return [`exit code ${exitCode}, not ${job.exitCode}`];
  return [];
}

/** Only a machine that was killed takes the knowledge of a run with it, and only of one that was on it. */
function auditLoss(status: RunStatus, round: Round, instanceOf: Map<string, string>): string[] {
  const { failure, placements } = status;
  const placement = placements.at(-1);
  const instance = instanceOf.get(placement?.worker ?? "");
  const found: string[] = [];
  if (failure?.class !== "infrastructure" || !["machine_lost", "status_lost"].includes(failure.code)) {
    found.push(`its failure is ${JSON.stringify(failure)}`);
  }
  if (placement === undefined || !["lost", "gone"].includes(placement.outcome)) {
    found.push(`its placement is ${JSON.stringify(placement)}`);
  } else if (instance === undefined || !round.victims.includes(instance)) {
    found.push(`nothing was killed on its machine ${instance}`);
  }
  return found;
}

/** Of a run that is complete every byte is there. */
async function auditOutput(job: Job): Promise<string[]> {
  const log = await system.up.call("GET", `/v1/runs/${job.id}/logs/main/stdout`);
  const text = await log.text();
  return text === job.stdout ? [] : [`its output has ${text.length} bytes, and not ${job.stdout.length}`];
}

/** Every end that was ever told is told again in the same words, by the run and by the lists of the pool. */
async function auditMemory(rounds: Round[]): Promise<string[]> {
  const ids = rounds.flatMap(({ jobs }) => jobs.map(({ id }) => id));
  const found: string[] = [];
  for (const id of ids) found.push(...(await system.told.read(system.up, id)).changes);
  const body = { runs: ids, states: ["all"] };
  const { items } = await system.up.json(200, "POST", "/v1/runs/query", body);
  for (const { id, state, exitCode } of items) {
    const told = system.told.statusOf(id);
    if (told?.state !== state || told?.exitCode !== exitCode) {
      found.push(`${id} is ${told?.state} ${told?.exitCode}, and its pool lists ${state} ${exitCode}`);
    }
  }
  return items.length === ids.length ? found : [...found, `${items.length} of ${ids.length} are listed`];
}

/** What the control plane, the cloud and the kernel say of machines comes to be the same (invariant 3). */
async function machinesAgree(): Promise<void> {
  const { up } = system;
  const marks = () =>
    listProcesses()
      .filter(({ zombie }) => !zombie)
      .flatMap(({ pid }) => environmentOf(pid).filter((entry) => entry.startsWith("DROVER_INSTANCE=")))
      .filter((entry) => entry.includes(`=${join(up.stateDir, "instances")}/`))
      .map((entry) => entry.split("/").at(-1) ?? "");
  let views = "";
  await until("all agree on the machines", async () => {
    const { items } = await up.json(200, "GET", `/v1/workers?pool=${POOL}&limit=1000`);
    const known = items.filter(({ state }: Json) => state !== "gone").map(({ instance }: Json) => instance);
    const listed = instancesOf(up.stateDir).filter(({ state }) => state !== "terminated");
    const all = [known, listed.map(({ id }) => id), marks()].map((ids) => [...new Set(ids)].sort().join(" "));
    views = all.join(" | ");
    return new Set(all).size === 1 || undefined;
  }).catch((error) => {
    throw new Error(`${error.message} Workers | instances | processes: ${views}`);
  });
}

function countsOf(number: number, { jobs, strike, struckAt, endedBefore }: Round): string {
  const placedAfter = jobs.filter(
    ({ id }) => Date.parse(system.told.statusOf(id)?.placements[0]?.from ?? "") > struckAt,
  );
  const counts = new Map<string, number>();
  for (const { id } of jobs) {
    const status = system.told.statusOf(id);
    const code = status?.failure?.code;
    const end = `${status?.state}${code === undefined ? "" : ` (${code})`}`;
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  const ends = [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
  return [
    `round ${number}: SIGKILL to ${strike} when of ${jobs.length} runs ${endedBefore} had ended`,
    `and ${placedAfter.length} had no place yet: ${ends}`,
  ].join(" ");
}
