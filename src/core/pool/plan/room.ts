// For which run is a machine kept free, and which machine leaves to make room?
import { resourcesOfType } from "../../spec.ts";
import { keepsMachinesApart } from "../projects.ts";
import type { RunRow } from "../record.ts";
import { eligibleOffers } from "./eligible.ts";
import type { Ground } from "./limits.ts";
import type { Machine } from "./packing.ts";
import type { MayLeave, Offer, Pass } from "./pass.ts";

/** The part of a new machine on which limits depend. */
export function groundOf({ type }: Offer): Ground {
  return { project: null, isProvided: true, price: type.price ?? null, has: resourcesOfType(type) };
}

/** Notes that the run has room to come: runs behind it cannot take that room. */
export function noteReserved(pass: Pass, run: RunRow, { worker }: Machine): void {
  pass.lastReserved = run;
  if (worker !== null) pass.awaited.add(worker);
}

/**
 * Reserves a machine for the first run that found no room. Of the machines that could hold the run when
 * empty, the machine with the fewest runs is chosen. No later run is placed there, so the machine only gets
 * emptier.
 */
export function reserve(pass: Pass, run: RunRow): string | null {
  if (pass.reserved !== null) return null;
  const machine = pass.packing.soonestFree(run);
  if (machine === undefined) return null;
  pass.packing.close(machine);
  pass.reserved = { run: run.run, worker: machine.worker };
  pass.step += 1;
  noteReserved(pass, run, machine);
  return machine.worker;
}

/**
 * Makes room for a run that no present machine could ever hold, if `maxInstances` or a quota of the provider
 * is reached. The least used machine takes no later runs and stops when it is idle, even if `minInstances`
 * would keep it (pool.md#making-room). Otherwise small runs or `minInstances` could keep the run waiting
 * forever (decisions/pool.md#d20). If a machine is already leaving, the run waits for this machine, and
 * nothing is reserved for later runs.
 */
export function makeRoom(pass: Pass, run: RunRow, offer: Offer): void {
  const kind = `${offer.name}@${offer.zone}`;
  if (pass.reserved !== null || pass.roomless.has(kind)) return;
  const mayLeave = pass.gate.filledBy(offer);
  if (mayLeave === null) return;
  pass.step += 1;
  if (pass.isAnyLeaving(mayLeave)) pass.reserved = { run: run.run, worker: null };
  else if (!reserveLeastUsed(pass, run, mayLeave, true)) pass.roomless.add(kind);
  if (pass.reserved !== null) pass.lastReserved = run;
}

/**
 * Makes room for a run that no machine of its project could ever hold, if only the quotas of the project keep
 * it from another machine: the least used machine of the project leaves (projects.md#room-within-a-quota).
 */
export function makeOwnRoom(pass: Pass, run: RunRow): void {
  const { config, gate, limits, roomless } = pass;
  const key = `of ${run.project}`; // no name of a type has a space
  if (pass.reserved !== null || roomless.has(key) || !keepsMachinesApart(config)) return;
  const isOwn: MayLeave = (row) => row.kind === "cloud" && row.project === run.project;
  const isPossible = eligibleOffers(config, run, pass.offers).some((offer) => {
    const blocked = gate.why(offer);
    const isOpen = blocked === null || blocked.code === "max_instances";
    return isOpen && limits.mayReplace(run, groundOf(offer));
  });
  if (!isPossible || pass.packing.soonestFree(run) !== undefined || pass.isAnyLeaving(isOwn)) return;
  pass.step += 1;
  if (reserveLeastUsed(pass, run, isOwn, true)) pass.lastReserved = run;
  else roomless.add(key);
}

/**
 * Of the machines that may leave, reserves the least used machine. `evict`: the machine must stop. Returns
 * false if no machine was reserved. While a machine is tried despite a quota, the machine that must leave if
 * the trial fails is reserved without `evict`. Otherwise the runs that each trial lets onto this machine
 * would keep it busy forever.
 */
export function reserveLeastUsed(pass: Pass, run: RunRow, mayLeave: MayLeave, evict = false): boolean {
  const machine = pass.reserved === null ? pass.packing.leastUsed(mayLeave) : undefined;
  if (machine === undefined) return false;
  pass.packing.close(machine);
  pass.reserved = { run: run.run, worker: machine.worker, ...(evict ? { evict } : {}) };
  return true;
}
