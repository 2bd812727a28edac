import type { Resources } from "../../schema/common.ts";
import type { InstanceType } from "../../schema/pool.ts";
import type { Instant } from "../machine.ts";
import { accommodates, remaining, subtract } from "../resources.ts";
import { resourcesOfType } from "../spec.ts";
import {
  type Configured,
  capacityOfRow,
  isOpen,
  providedWorkers,
  type RunRow,
  type WorkerRow,
} from "./state.ts";

/** Why a run that waits was not placed (`architecture.md` §5, invariant 5). */
export type WaitCode =
  | "machine_booting"
  | "machine_asked"
  | "no_workers"
  | "max_instances"
  | "hold_off"
  | "own_machine"
  | "no_type";

export interface Plan {
  places: { run: RunRow; worker: string }[];
  /** Instance types to ask machines of. */
  creates: string[];
  /** By run: why it waits. */
  waits: Map<string, { code: WaitCode; worker?: string }>;
}

interface Machine {
  worker: string | null;
  ready: boolean;
  left: Resources & { shared: boolean };
  slots: number;
}

/**
 * Decides who is placed where and which machines are asked for. A pure function of the rows: the same view
 * gives the same decision.
 *
 * By priority, then by submission. Each run goes to the fullest ready worker that it fits (`arvados.md` §3.5
 * rule 4); else it counts on a machine that is booting, to which it is not bound; else on a new one of the
 * cheapest type that fits. What cannot be placed is skipped with a reason, so that nothing behind it is
 * blocked (`decisions.md`, D19).
 */
export function plan(state: Configured, now: Instant): Plan {
  const machines = machinesOf(state, now);
  const result: Plan = { places: [], creates: [], waits: new Map() };
  const budget = creationBudget(state, now);
  for (const run of queueOf(state)) {
    const found = fullestFitting(machines, run);
    if (found === undefined) {
      askForMachine(state, run, machines, budget, result);
      continue;
    }
    occupy(found, run.resources);
    if (found.ready && found.worker !== null) result.places.push({ run, worker: found.worker });
    else result.waits.set(run.run, waitingFor(found));
  }
  addMinimum(state, budget, result);
  return result;
}

function waitingFor(machine: Machine): { code: WaitCode; worker?: string } {
  if (machine.worker === null) return { code: "machine_asked" };
  return { code: "machine_booting", worker: machine.worker };
}

/** The runs that want a place and have none, in the order in which they get it. */
export function queueOf(state: Configured): RunRow[] {
  const queue: RunRow[] = [];
  for (const row of state.runs.live()) if (row.wants === "place" && !isOpen(row)) queue.push(row);
  return queue.sort(
    (a, b) => b.priority - a.priority || a.submittedAt - b.submittedAt || (a.run < b.run ? -1 : 1),
  );
}

/** The workers that runs can be counted on, with what is left of them. */
function machinesOf(state: Configured, now: Instant): Machine[] {
  const used = new Map<string, Resources[]>();
  for (const run of state.runs.live()) {
    if (!isOpen(run) || run.worker === null) continue;
    const runs = used.get(run.worker);
    if (runs === undefined) used.set(run.worker, [run.resources]);
    else runs.push(run.resources);
  }
  const machines: Machine[] = [];
  for (const row of state.workers.live()) {
    if (!mayTakeRuns(row, now)) continue;
    const on = used.get(row.worker) ?? [];
    machines.push({
      ...machineOf(capacityOfRow(row), row.settings.maxRuns, on),
      worker: row.worker,
      ready: row.phase === "ready" && now >= row.pausedUntil,
    });
  }
  return machines;
}

/** A worker that has refused this often in a row is not counted on any more: another machine is asked for. */
const COUNTED_ON_REFUSALS = 2;

function mayTakeRuns(row: WorkerRow, now: Instant): boolean {
  // Of a machine of one's own nobody knows whether it will ever join: it counts when it is ready.
  const toCome = (row.phase === "booting" || row.phase === "asked") && row.own === undefined;
  const phase = row.phase === "ready" || toCome;
  const paused = now < row.pausedUntil && row.refusals > COUNTED_ON_REFUSALS;
  return phase && row.idleBehavior === "run" && now >= row.stopUntil && !paused;
}

function machineOf(total: Resources, maxRuns: number, on: Resources[]): Machine {
  const slots = maxRuns === 0 ? Number.POSITIVE_INFINITY : maxRuns - on.length;
  return { worker: null, ready: false, left: remaining(total, on), slots };
}

/**
 * Ready ones before others; among those, ones on which the run has not failed yet; among those, the one with
 * the least left: packing empties the others.
 */
function fullestFitting(machines: Machine[], { resources, avoid = [] }: RunRow): Machine | undefined {
  let best: { machine: Machine; rank: number } | undefined;
  for (const machine of machines) {
    if (machine.slots < 1 || !accommodates(machine.left, resources)) continue;
    const avoided = machine.worker !== null && avoid.includes(machine.worker);
    const rank = (machine.ready ? 2 : 0) + (avoided ? 0 : 1);
    const fuller = rank === best?.rank && machine.left.vcpus < best.machine.left.vcpus;
    if (best === undefined || rank > best.rank || fuller) best = { machine, rank };
  }
  return best?.machine;
}

function occupy(machine: Machine, need: Resources): void {
  subtract(machine.left, need);
  machine.slots -= 1;
}

interface Budget {
  instances: number;
  creates: number;
  held: boolean;
}

/**
 * How many machines may be asked for now. Counts are queries over rows (invariant 6). `maxInstances` bounds
 * what a provider is asked for and paid for, so machines of one's own do not count.
 */
function creationBudget(state: Configured, now: Instant): Budget {
  const { config, hold } = state.record;
  let instances = config.maxInstances;
  let creates = config.maxConcurrentCreates;
  for (const row of providedWorkers(state)) {
    instances -= 1;
    if (row.instance === null && (row.phase === "asked" || row.phase === "booting")) creates -= 1;
  }
  return { instances, creates, held: hold !== null && now < hold.until };
}

function askForMachine(
  state: Configured,
  run: RunRow,
  machines: Machine[],
  budget: Budget,
  result: Plan,
): void {
  const type = cheapestFitting(state, run.resources);
  if (type === undefined) {
    result.waits.set(run.run, { code: fitsOwnMachine(state, run.resources) ? "own_machine" : "no_type" });
    return;
  }
  const blocked = whyNoCreate(state, budget);
  if (blocked !== null) {
    result.waits.set(run.run, { code: blocked });
    return;
  }
  const machine = machineOf(resourcesOfType(type.type), state.record.config.maxRunsPerInstance, []);
  occupy(machine, run.resources);
  machines.push(machine);
  budget.instances -= 1;
  budget.creates -= 1;
  result.creates.push(type.name);
  result.waits.set(run.run, { code: "machine_asked" });
}

function whyNoCreate(state: Configured, budget: Budget): WaitCode | null {
  if (budget.held) return "hold_off";
  if (state.record.config.maxInstances === 0) return "no_workers";
  if (budget.instances < 1) return "max_instances";
  return budget.creates < 1 ? "machine_asked" : null;
}

function addMinimum(state: Configured, budget: Budget, result: Plan): void {
  const { config } = state.record;
  const smallest = cheapestFitting(state, { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 });
  while (smallest !== undefined && whyNoCreate(state, budget) === null) {
    if (config.maxInstances - budget.instances >= config.minInstances) return;
    budget.instances -= 1;
    budget.creates -= 1;
    result.creates.push(smallest.name);
  }
}

/** The cheapest instance type that an empty machine of which holds `need`; by name where prices are equal. */
export function cheapestFitting(
  state: Configured,
  need: Resources,
): { name: string; type: InstanceType } | undefined {
  let best: { name: string; type: InstanceType } | undefined;
  for (const [name, type] of Object.entries(state.record.config.instanceTypes).sort()) {
    if (!accommodates(remaining(resourcesOfType(type), []), need)) continue;
    if (best === undefined || type.price < best.type.price) best = { name, type };
  }
  return best;
}

/** Whether a machine of one's own could hold it, were it empty: no instance type need be able to then. */
export function fitsOwnMachine({ workers }: Configured, need: Resources): boolean {
  for (const row of workers.live()) {
    if (row.own !== undefined && accommodates(remaining(capacityOfRow(row), []), need)) return true;
  }
  return false;
}
