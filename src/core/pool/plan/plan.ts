import type { Resources } from "../../../schema/common.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import { accommodates, NO_RESOURCES, remaining } from "../../resources.ts";
import { openGate, triedDespiteQuota } from "../provider/gate.ts";
import { capacityOfRow, endingSince, providedWorkers, type RunRow, type WorkerRow } from "../record.ts";
import { inOrder } from "../rows/run-index.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { disappointing, eligibleTypes, mayUseGpus, offersOf } from "./eligible.ts";
import { knownMemory } from "./learned.ts";
import { byAge, type Machine, Packing } from "./packing.ts";
import type { Blocked, MayLeave, Offer, Pass, Plan, Verdict, Wait } from "./pass.ts";

/**
 * Decides who is placed where and which machines are asked for. A pure function of the rows: the same view
 * gives the same decision.
 *
 * By priority, then by submission. Each run goes to the fullest ready worker that it fits (pool.md#rule-4);
 * else it counts on a machine that is booting, to which it is not bound; else on a new one of the first
 * eligible type that may be asked for (pool.md#rule-5). What cannot be placed is skipped with a reason, so
 * that nothing behind it is blocked; but the first such run has a machine reserved, on which nothing behind
 * it is placed, so that small runs do not starve a big one (decisions/pool.md#d19, decisions/pool.md#d20).
 */
export function plan(state: Configured, now: Instant): Plan {
  const pass = openPass(state, now);
  const result = walk(pass, state.memo.index.queue);
  keepMinimum(pass, now, result);
  return result;
}

/**
 * The plan after one more run has come and nothing else has changed: that of the whole queue, without walking
 * it again. Undefined, if it might be another one.
 *
 * Behind the last run that was promised room to come, the others of the queue were refused with what is left
 * now, or with more. Whatever the new run gets of it, they would be refused again.
 */
export function planOneMore(pass: Pass, run: RunRow): Plan | undefined {
  if (pass.asked || (pass.promised !== null && inOrder(pass.promised, run) > 0)) return undefined;
  return walk(pass, [run]);
}

function openPass(state: ReadonlyConfigured, now: Instant): Pass {
  let packing: Packing | undefined;
  const { config, learned } = state.record;
  const offers = offersOf(config, learned);
  const tried = new Map<string, MayLeave>();
  return {
    config,
    workers: state.workers,
    // Only once a run looks for room: a pool of many machines hears most news of them while none waits. What
    // it is made from is the same until then, or there is another pass.
    get packing() {
      packing ??= packed(state, offers, tried, now);
      return packing;
    },
    gate: openGate(state, now),
    offers,
    disappointing: disappointing(state.record),
    reserved: null,
    isLeft: (mayLeave) => state.workers.derive(leaving).some((row) => now < leavesBy(row) && mayLeave(row)),
    tried,
    roomless: new Set(),
    promised: null,
    awaited: new Set(),
    asked: false,
  };
}

function leaving(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.kind === "cloud" && (row.phase === "shutdown" || row.stopUntil > 0));
}

/** A machine that has not left after so long is no room to come: another one is let go. */
const LEAVES_WITHIN_MS = 5 * 60_000;

/** Until when a machine that is to leave counts as room to come. */
function leavesBy(row: WorkerRow): Instant {
  return row.phase === "shutdown" ? endingSince(row) + LEAVES_WITHIN_MS : row.stopUntil;
}

function packed(
  state: ReadonlyConfigured,
  offers: readonly Offer[],
  tried: Map<string, MayLeave>,
  now: Instant,
): Packing {
  const { config, holds } = state.record;
  const allForAll = offers.every(({ room }) => room.gpus === 0) && !state.workers.derive(haveGpus);
  const packing = new Packing((need) => allForAll || mayUseGpus(config, need, offers));
  const quota = holds.some(({ cause }) => cause === "quota");
  for (const row of state.workers.derive(byAge)) {
    if (!mayTakeRuns(row, now)) continue;
    packing.add(machineOf(state, row, now));
    const mayLeave = quota ? triedDespiteQuota(state, row) : null;
    if (mayLeave !== null) tried.set(row.worker, mayLeave);
  }
  return packing;
}

/** Whether any of these machines has a GPU. */
export function haveGpus(workers: readonly WorkerRow[]): boolean {
  return workers.some(({ resources, type }) => (resources ?? type).gpus > 0);
}

function walk(pass: Pass, queue: RunRow[]): Plan {
  const result: Plan = { places: [], creates: [], waits: new Map(), reserved: null, pass };
  for (const run of queue) {
    const verdict = consider(pass, run);
    if ("worker" in verdict) {
      result.places.push({ run, worker: verdict.worker });
      continue;
    }
    result.waits.set(run.run, verdict.wait);
    if (verdict.create !== undefined) result.creates.push(verdict.create);
  }
  return { ...result, reserved: pass.reserved };
}

function consider(pass: Pass, run: RunRow): Verdict {
  const found = pass.packing.bestFitting(run);
  if (found === undefined) return ask(pass, run);
  pass.packing.occupy(found, run.resources);
  if (found.ready && found.worker !== null) return { worker: found.worker };
  promise(pass, run, found);
  if (found.worker === null) return { wait: { code: "machine_asked" } };
  const mayLeave = pass.tried.get(found.worker);
  if (mayLeave !== undefined) keepLeaver(pass, run, mayLeave);
  return { wait: { code: "machine_booting", worker: found.worker } };
}

function promise(pass: Pass, run: RunRow, { worker }: Machine): void {
  pass.promised = run;
  if (worker !== null) pass.awaited.add(worker);
}

/** A run that no machine has room for: a new one, if one may be asked for. */
function ask(pass: Pass, run: RunRow): Verdict {
  const { packing, gate, config } = pass;
  let refused: Blocked | undefined;
  const types = eligibleTypes(config, run.resources, pass.offers);
  for (const { name, room } of types) {
    const blocked = gate.why(name);
    refused ??= blocked ?? undefined;
    if (blocked !== null) continue;
    const machine = {
      worker: null,
      row: null,
      ready: false,
      acts: null,
      room,
      left: { ...room },
      slots: slotsOf(config.maxRunsPerInstance),
      runs: 0,
    };
    packing.add(machine);
    packing.occupy(machine, run.resources);
    promise(pass, run, machine);
    gate.take(name);
    pass.asked = true;
    return { wait: { code: "machine_asked", type: name }, create: name };
  }
  if (packing.hasTooOld(run)) return { wait: { code: "agent_too_old" } };
  const wait: Wait = refused ?? { code: whyNoType(pass, run.resources) };
  // One that only waits for creates under way will have a machine of its own.
  const worker = wait.code === "machine_asked" ? null : reserve(pass, run);
  for (const { name } of types) makeRoom(pass, run, name);
  return { wait: worker === null ? wait : { ...wait, worker } };
}

/** Why no machine of any type would hold it, as far as is known now. */
function whyNoType(pass: Pass, need: Resources): "own_machine" | "less_memory" | "no_type" {
  if (fitsOwnMachine(pass, need)) return "own_machine";
  return pass.disappointing.some(({ room }) => accommodates(room, need)) ? "less_memory" : "no_type";
}

/**
 * Keeps a machine for the first run that nothing has room for: the one that has the fewest runs to wait for,
 * of those that could hold it. Nothing behind it comes onto that machine, so that number only falls, or
 * another machine's has fallen below it: its turn comes as soon as those have ended.
 */
function reserve(pass: Pass, run: RunRow): string | null {
  if (pass.reserved !== null) return null;
  const machine = pass.packing.soonestFree(run);
  if (machine === undefined) return null;
  pass.packing.close(machine);
  pass.reserved = { run: run.run, worker: machine.worker };
  promise(pass, run, machine);
  return machine.worker;
}

/**
 * As many machines are there as may be, by our own limit or by a quota of the provider, and none could ever
 * hold this run: the least used one takes nothing from behind it, and ends when it is idle, though it be one
 * of the least that shall stay (pool.md#making-room): without that, small runs, or the minimum of machines,
 * would keep this one waiting for ever (decisions/pool.md#d20). While another one leaves, the run waits for
 * that, and none behind it is
 * first.
 */
function makeRoom(pass: Pass, run: RunRow, type: string): void {
  if (pass.reserved !== null || pass.roomless.has(type)) return;
  const mayLeave = pass.gate.filledBy(type);
  if (mayLeave === null) return;
  if (pass.isLeft(mayLeave)) pass.reserved = { run: run.run, worker: null };
  else if (!keepLeaver(pass, run, mayLeave, true)) pass.roomless.add(type);
  if (pass.reserved !== null) pass.promised = run;
}

/**
 * Keeps the least used of these machines from the runs behind this one; `leaves`: for it to leave. False: no
 * machine can. While the run's own machine is tried in spite of a quota, the one that shall leave if that
 * fails is only kept: runs that came onto it with each try would keep it for ever.
 */
function keepLeaver(pass: Pass, run: RunRow, mayLeave: MayLeave, leaves = false): boolean {
  const machine = pass.reserved === null ? pass.packing.leastUsed(mayLeave) : undefined;
  if (machine === undefined) return false;
  pass.packing.close(machine);
  pass.reserved = { run: run.run, worker: machine.worker, ...(leaves ? { leaves } : {}) };
  return true;
}

function slotsOf(maxRunsPerInstance: number): number {
  return maxRunsPerInstance === 0 ? Number.POSITIVE_INFINITY : maxRunsPerInstance;
}

function machineOf({ memo, record }: ReadonlyConfigured, row: WorkerRow, now: Instant): Machine {
  const on = memo.index.placed.get(row.worker);
  const needs: Resources[] = [];
  if (on !== undefined) for (const run of on.values()) needs.push(run.resources);
  const capacity = capacityOfRow(row);
  const known = knownMemory(record, row);
  return {
    worker: row.worker,
    row,
    ready: row.phase === "ready" && now >= row.pausedUntil,
    acts: row.phase === "ready" ? (row.acts ?? []) : null,
    room: remaining(capacity, [], known),
    left: remaining(capacity, needs, known),
    slots: slotsOf(row.settings.maxRuns) - needs.length,
    runs: needs.length,
  };
}

/** A worker that has refused this often in a row is not counted on any more: another machine is asked for. */
const COUNTED_ON_REFUSALS = 2;

function mayTakeRuns(row: WorkerRow, now: Instant): boolean {
  // Of a self-hosted machine nobody knows whether it will ever join: it counts when it is ready.
  const toCome = (row.phase === "booting" || row.phase === "asked") && row.kind === "cloud";
  const phase = row.phase === "ready" || toCome;
  const paused = now < row.pausedUntil && row.refusals > COUNTED_ON_REFUSALS;
  return phase && row.idleBehavior === "run" && now >= row.stopUntil && !paused;
}

/** When time alone changes the plan that was made then. */
export function changesAt({ record, workers }: ReadonlyConfigured, now: Instant): Instant | undefined {
  const times = workers.derive(timesOf).filter((at) => at > now);
  for (const { until } of record.holds) if (until !== null && until > now) times.push(until);
  return earliest(...times);
}

/** The times in the rows of workers that a plan depends on. */
function timesOf(workers: readonly WorkerRow[]): Instant[] {
  const times: Instant[] = [];
  for (const row of workers) {
    for (const at of [row.stopUntil, row.pausedUntil]) if (at > 0) times.push(at);
    if (row.phase === "shutdown") times.push(leavesBy(row));
  }
  return times;
}

/** Asks for machines until `minInstances` are there to be kept, of the cheapest types that may be had. */
function keepMinimum(pass: Pass, now: Instant, result: Plan): void {
  const { config } = pass;
  if (config.minInstances === 0) return;
  let kept = keptInstances(pass, now) + result.creates.length;
  for (const { name } of eligibleTypes(config, NO_RESOURCES, pass.offers)) {
    for (; kept < config.minInstances && pass.gate.why(name) === null; kept += 1) {
      pass.gate.take(name);
      pass.asked = true;
      result.creates.push(name);
    }
  }
}

/** The provider's machines that count for `minInstances`: not those that are to go, or take no runs. */
export function keptInstances(state: Pick<ReadonlyConfigured, "workers">, now: Instant): number {
  let kept = 0;
  for (const row of providedWorkers(state)) {
    if (row.phase !== "shutdown" && row.idleBehavior === "run" && now >= row.stopUntil) kept += 1;
  }
  return kept;
}

/** Whether a self-hosted machine could hold it, were it empty: no instance type need be able to then. */
export function fitsOwnMachine({ workers }: Pick<ReadonlyConfigured, "workers">, need: Resources): boolean {
  return workers.derive(roomOfOwn).some((room) => accommodates(room, need));
}

function roomOfOwn(workers: readonly WorkerRow[]): ReturnType<typeof remaining>[] {
  return workers.filter((row) => row.kind === "self-hosted").map((row) => remaining(capacityOfRow(row), []));
}
