// Which run is placed where, and which machines are created?
import type { Resources } from "../../../schema/common.ts";
import { servesProject } from "../../../shared/access/project.ts";
import { PROTOCOL } from "../../../shared/compat.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { accommodates, NO_RESOURCES, remaining, withGpus } from "../../resources.ts";
import { endsWithArray } from "../arrays/array-ends.ts";
import { claimedFor } from "../concurrency/claims.ts";
import { inTurns } from "../concurrency/round-robin.ts";
import { takesTurns } from "../concurrency/slots.ts";
import { isOutOfUse } from "../projects.ts";
import { openGate, triedDespiteQuota } from "../provider/gate.ts";
import { priceOfRow } from "../read/money.ts";
import { capacityOfRow, providedWorkers, type RunRow, type WorkerRow } from "../record.ts";
import { runToOutlive } from "../rows/replaced.ts";
import { byQueueOrder } from "../rows/run-index.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { likenessOf, Refusals } from "./alike.ts";
import { asksKey, suits } from "./asks.ts";
import { canHold, eligibleOffers, mayUseGpus, offersOf, type TwinRule, undersizedTypes } from "./eligible.ts";
import { type Held, Limits, nearer, usageOf } from "./limits.ts";
import { byAge, type EngineState, type Machine, Packing } from "./packing.ts";
import type { Blocked, MayLeave, Offer, Pass, Plan, Verdict, Wait, WaitCode } from "./pass.ts";
import { Reasons } from "./reasons.ts";
import { groundOf, makeOwnRoom, makeRoom, noteReserved, reserve, reserveLeastUsed } from "./room.ts";
import { engineOf, showsEngine } from "./seen/engineless.ts";
import { knownGpus, knownMemory } from "./seen/learned.ts";
import { isLikeNew } from "./seen/like-new.ts";
import { fitsSelfHosted } from "./seen/self-hosted.ts";
import { leavesUntil } from "./times.ts";
import { isTwin } from "./types.ts";

/**
 * Decides which runs are placed where, and which machines are created. A pure function of the rows.
 *
 * Runs are taken by priority, then by submission. Each run goes to the fullest ready worker that has room
 * (pool.md#rule-4). If no ready worker has room, the run counts on a booting machine without being bound to
 * it, or on a new machine of the first eligible type (pool.md#rule-5). A run that cannot be placed is skipped
 * with a reason, and does not block the runs behind it. But a machine is reserved for the first such run: no
 * later run is placed there, so small runs do not starve a big run (decisions/pool.md#d19,
 * decisions/pool.md#d20).
 */
export function plan(state: Configured, now: Instant): Plan {
  const result = emptyPlan(openPass(state, now), inTurns(state));
  const ageCounts = Number.isFinite(result.pass.impatientUntil);
  walk(result, ageCounts ? undefined : state.memo.index.kinds.count);
  keepMinimum(now, result);
  return result;
}

/**
 * The plan after one more run has arrived and nothing else has changed, without walking the queue again.
 * Undefined: a full walk might differ.
 *
 * The runs behind the last run with reserved room were refused when at least as much room was free as now. So
 * a full walk would refuse these runs again, whatever room the new run takes. Where keys take turns, a new
 * run may come anywhere. A run that its concurrency key shuts out takes nothing, wherever it comes.
 */
export function planOneMore(pass: Pass, run: RunRow): Plan | undefined {
  if (!pass.limits.isShutOut(run) && mayChange(pass, run)) return undefined;
  const result = emptyPlan(pass, [run]);
  walk(result);
  return result;
}

/** Whether the run may get what a later run has, or may be anywhere in the queue. */
function mayChange(pass: Pass, run: RunRow): boolean {
  const isBehind = pass.lastReserved === null || byQueueOrder(pass.lastReserved, run) < 0;
  return pass.asked || !isBehind || pass.takesTurns || takesTurns(run);
}

function openPass(state: ReadonlyConfigured, now: Instant): Pass {
  let packing: Packing | undefined;
  const { config } = state.record;
  const offers = offersOf(state.record);
  const tried = new Map<string, MayLeave>();
  const limits = new Limits(state.record.config, () => usageOf(state));
  const hasTwins = offers.some(({ name }) => isTwin(name));
  return {
    config,
    workers: state.workers,
    // The packing is built only when a run needs room: a pool with many machines gets most of its news while
    // no run waits. Its inputs do not change until then, since any change of the inputs begins a new pass.
    get packing() {
      packing ??= packMachines(state, { offers, tried, limits }, now);
      return packing;
    },
    limits,
    toOutlive: (run) => runToOutlive(state, run),
    endsWithArray: (run) => endsWithArray(state.memo.index.arrays, run),
    gate: openGate(state, now),
    offers,
    undersized: undersizedTypes(state.record),
    reserved: null,
    isAnyLeaving: (mayLeave) =>
      state.workers.derive(leavingMachines).some((row) => now < leavesUntil(row) && mayLeave(row)),
    tried,
    now,
    roomless: new Set(),
    lastReserved: null,
    awaited: new Set(),
    asked: false,
    takesTurns: state.memo.index.turning > 0,
    step: 0,
    impatientUntil: hasTwins ? now - durationMs(config.spotPatience) : Number.NEGATIVE_INFINITY,
    refusals: { patient: new Refusals(), impatient: new Refusals() },
  };
}

function leavingMachines(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.kind === "cloud" && (row.phase === "shutdown" || row.stopUntil > 0));
}

function packMachines(
  state: ReadonlyConfigured,
  { offers, tried, limits }: Pick<Pass, "offers" | "tried" | "limits">,
  now: Instant,
): Packing {
  const { config, holds } = state.record;
  const allForAll = offers.every(({ room }) => room.gpus === 0) && !state.workers.derive(haveGpus);
  const packing = new Packing({
    mayUseGpus: (run) => allForAll || mayUseGpus(config, run, offers),
    mayUse: (machine, run) => suits(run.asks, machine) && limits.mayUse(machine, run),
    keyOf: (run) => `${limits.keyOf(run)} ${asksKey(run.asks)}`,
    take: (machine, run) => limits.take(machine, run),
  });
  const quota = holds.some(({ cause }) => cause === "quota");
  for (const row of state.workers.derive(byAge)) {
    if (!mayTakeRuns(row, now) || isOutOfUse(config, row)) continue;
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

function emptyPlan(pass: Pass, queue: readonly RunRow[]): Plan {
  const reasons = new Reasons<Wait>();
  return {
    queue,
    places: [],
    creates: [],
    reasons,
    get waits() {
      return reasons.byRun;
    },
    reserved: pass.reserved,
    pass,
  };
}

/**
 * Adds what is decided on the runs, one after the other, until all `kinds` of runs in the queue are refused
 * as things stand: a plan looks at no more of a long queue than it must (pool.md#alike). Undefined: the whole
 * queue is walked.
 */
function walk(result: Plan, kinds?: number): void {
  const { pass, queue, reasons } = result;
  for (const [place, run] of queue.entries()) {
    const refused = pass.refusals.patient.at(pass.step);
    if (refused !== undefined && refused.size === kinds) {
      reasons.noteRest(queue.slice(place), refused);
      break;
    }
    const verdict = verdictOn(pass, run);
    if ("worker" in verdict) {
      result.places.push({ run, worker: verdict.worker });
      continue;
    }
    reasons.note(run, verdict.wait);
    if (verdict.create !== undefined) result.creates.push(verdict.create);
  }
  result.reserved = pass.reserved;
}

/** Decides on a run, or repeats what was decided on an equal run if that would be decided again. */
function verdictOn(pass: Pass, run: RunRow): Verdict {
  const likeness = likenessOf(run);
  if (likeness === undefined) return placeOrWait(pass, run);
  const refusals = isImpatient(pass, run) ? pass.refusals.impatient : pass.refusals.patient;
  const { step } = pass;
  const known = refusals.of(likeness, step);
  if (known !== undefined) return { wait: known };
  const verdict = placeOrWait(pass, run);
  if (pass.step === step && "wait" in verdict) refusals.note(likeness, step, verdict.wait);
  return verdict;
}

function placeOrWait(pass: Pass, run: RunRow): Verdict {
  if (!servesProject(pass.config, run.project)) return { wait: { code: "project_not_served" } };
  if (run.replacedBy !== undefined) return { wait: { code: "replaced", run: run.replacedBy.run } };
  const failed = pass.endsWithArray(run);
  if (failed !== undefined) return { wait: { code: "array_failed", reason: failed } };
  const before = pass.toOutlive(run);
  if (before !== undefined) return { wait: { code: "replacing", run: before.run } };
  const held = pass.limits.heldBack(run);
  if (held !== null) return { wait: heldWait(held) };
  const found = pass.packing.bestFitting(run);
  if (found === undefined) return claimedFor(pass, run, requestMachine(pass, run));
  pass.packing.occupy(found, run);
  pass.step += 1;
  if (found.ready && found.worker !== null) return { worker: found.worker };
  noteReserved(pass, run, found);
  if (found.worker === null) return { wait: { code: "machine_asked" } };
  const mayLeave = pass.tried.get(found.worker);
  if (mayLeave !== undefined) reserveLeastUsed(pass, run, mayLeave);
  return { wait: { code: "machine_booting", worker: found.worker } };
}

/** Why a run waits that a quota, a budget, or the limit of its array or of its key holds back. */
function heldWait(held: Held): Wait {
  if (held.limit === "maxParallel") return { code: "max_parallel", held };
  if (held.limit === "concurrency") return { code: "concurrency_key", held };
  return { code: held.limit === "budget" ? "budget" : "project_quota", held };
}

/** When the on-demand twins of preemptible types may be created for a run (clouds.md#twins). */
function twinRule(pass: Pass, run: RunRow): TwinRule {
  return { isImpatient: isImpatient(pass, run), isHeld: (offer) => isHeldOff(pass, offer) };
}

function isImpatient({ impatientUntil }: Pass, { submittedAt }: RunRow): boolean {
  return submittedAt <= impatientUntil;
}

function isHeldOff({ gate }: Pass, offer: Offer): boolean {
  return gate.why(offer)?.code === "hold_off";
}

/** Creates a machine for a run that found no room, if possible. */
function requestMachine(pass: Pass, run: RunRow): Verdict {
  const { packing, gate, config, limits } = pass;
  let refused: Blocked | undefined;
  let held: Held | undefined;
  let isDown = false;
  const open: Offer[] = [];
  for (const offer of eligibleOffers(config, run, pass.offers, twinRule(pass, run))) {
    const { name, type, zone, room } = offer;
    if (isTypeDown(pass, run, name)) {
      isDown = true;
      continue;
    }
    const beyond = limits.heldOn(run, groundOf(offer));
    if (beyond !== null) {
      held = nearer(held, beyond);
      continue;
    }
    open.push(offer);
    const blocked = gate.why(offer);
    refused ??= blocked ?? undefined;
    if (blocked !== null) continue;
    const machine = {
      ...groundOf(offer),
      type,
      zone,
      worker: null,
      row: null,
      ready: false,
      protocol: PROTOCOL,
      engine: "usable" as const,
      total: room,
      free: { ...room },
      slots: slotsOf(config.maxRunsPerInstance),
      runs: 0,
    };
    packing.add(machine);
    packing.occupy(machine, run);
    noteReserved(pass, run, machine);
    gate.take(offer);
    pass.asked = true;
    pass.step += 1;
    return { wait: { code: "machine_asked", type: name }, create: offer };
  }
  if (packing.hasTooOld(run)) return { wait: { code: "agent_too_old" } };
  if (held !== undefined && open.length === 0) {
    makeOwnRoom(pass, run);
    return { wait: heldWait(held) };
  }
  // Its engine may be back in a moment, so no machine leaves for that.
  const isFull = refused?.code === "max_instances";
  if ((isFull || (isDown && refused === undefined)) && isWithoutEngine(pass, run, ["down"]))
    return { wait: { code: "no_engine" } };
  const wait: Wait = refused ?? { code: isDown ? "no_engine" : whyNoType(pass, run) };
  // A run that waits only for creates in progress will get its own machine, so it needs no reservation.
  const worker = wait.code === "machine_asked" ? null : reserve(pass, run);
  for (const offer of open) makeRoom(pass, run, offer);
  return { wait: worker === null ? wait : { ...wait, worker } };
}

/** Why no instance type of the pool can hold the run now. */
function whyNoType(pass: Pass, run: RunRow): WaitCode {
  const { containers, ...asProcess } = run;
  const isEngineless = ({ noEngine }: Offer) => containers !== undefined && noEngine !== undefined;
  const isHeld = pass.offers.some((offer) => isEngineless(offer) && canHold(asProcess, offer));
  if (isHeld || isWithoutEngine(pass, run, ["down", "none"])) return "no_engine";
  if (fitsSelfHosted(pass, pass.config, run)) return "self_hosted_only";
  if (pass.config.provider.kind === "none") return "no_workers";
  const short = pass.undersized.filter(({ room }) => accommodates(room, run.resources));
  if (short.length === 0) return "no_type";
  const lacksGpus = short.some((type) => {
    return pass.offers.some(({ name, room }) => name === type.name && room.gpus < run.resources.gpus);
  });
  return lacksGpus ? "fewer_gpus" : "less_memory";
}

/** Whether only machines whose engines are in such states could hold the run (containers.md#engines). */
function isWithoutEngine({ packing }: Pass, run: RunRow, states: EngineState[]): boolean {
  return packing.lacksEngine(run, states) && packing.soonestFree(run) === undefined;
}

/**
 * Whether another machine of a type would be made in vain for a run with containers: an engine of such a
 * machine is down, and no machine of the type has one that answers (containers.md#outage).
 */
function isTypeDown({ packing, config, workers }: Pass, run: RunRow, type: string): boolean {
  const isOne = (row: WorkerRow | null) =>
    row !== null && row.phase === "ready" && isLikeNew(config, row, type);
  return packing.lacksEngine(run, ["down"], isOne) && !showsEngine({ config, workers }, type);
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
  const usable = withGpus(capacity, knownGpus(record, row));
  return {
    worker: row.worker,
    row,
    ready: row.phase === "ready" && now >= row.pausedUntil,
    project: row.project,
    type: row.type,
    zone: row.zone,
    isProvided: row.kind === "cloud",
    price: priceOfRow(row),
    gpus: row.gpus,
    has: capacity,
    protocol: row.phase === "ready" ? row.protocol : PROTOCOL,
    engine: engineOf(record, row),
    total: remaining(usable, [], known),
    free: remaining(usable, needs, known),
    slots: slotsOf(row.settings.maxRuns) - needs.length,
    runs: needs.length,
  };
}

/**
 * After more refusals in a row than this, no run counts on a paused worker, and another machine is created.
 */
const COUNTED_ON_REFUSALS = 2;

function mayTakeRuns(row: WorkerRow, now: Instant): boolean {
  // A self-hosted machine may never join, so it counts only when it is ready.
  const toCome = (row.phase === "booting" || row.phase === "asked") && row.kind === "cloud";
  const phase = row.phase === "ready" || toCome;
  const paused = now < row.pausedUntil && row.refusals > COUNTED_ON_REFUSALS;
  return phase && row.idleBehavior === "run" && now >= row.stopUntil && !paused;
}

/** Creates machines of the cheapest possible types until there are `minInstances`. */
function keepMinimum(now: Instant, result: Plan): void {
  const { pass } = result;
  const { config } = pass;
  if (config.minInstances === 0) return;
  let kept = keptInstances(pass, now) + result.creates.length;
  const rule = { isImpatient: false, isHeld: (offer: Offer) => isHeldOff(pass, offer) };
  for (const offer of eligibleOffers(config, { resources: NO_RESOURCES }, pass.offers, rule)) {
    for (; kept < config.minInstances && pass.gate.why(offer) === null; kept += 1) {
      pass.gate.take(offer);
      pass.asked = true;
      result.creates.push(offer);
    }
  }
}

/**
 * The number of provider machines that count toward `minInstances`: the machines that take runs and are not
 * about to stop.
 */
export function keptInstances(state: Pick<ReadonlyConfigured, "workers">, now: Instant): number {
  let kept = 0;
  for (const row of providedWorkers(state)) {
    if (row.phase !== "shutdown" && row.idleBehavior === "run" && now >= row.stopUntil) kept += 1;
  }
  return kept;
}
