import type { Resources } from "../../../schema/common.ts";
import { lackedOf } from "../../../shared/means.ts";
import { accommodates, subtract } from "../../resources.ts";
import type { RunRow, WorkerRow } from "../record.ts";

type Room = Resources & { shared: boolean };

/** A machine that runs can be counted on. */
export interface Machine {
  /** Absent while it is only asked for by the present plan. */
  worker: string | null;
  /** Its row in the ledger; null while it is only asked for by the present plan. */
  row: WorkerRow | null;
  ready: boolean;
  /** What its agent acts on; null: it is to come, with the agent of this version. */
  acts: string[] | null;
  /** What it has when it is empty. */
  room: Room;
  left: Room;
  /** How many more runs it may have, and how many it has. */
  slots: number;
  runs: number;
}

/**
 * The same view gives the same plan, whichever of its workers was seen first. Those that were asked for
 * together have numbers at the end of their names.
 */
export function byAge<Row extends WorkerRow>(workers: readonly Row[]): Row[] {
  return workers.toSorted(
    (a, b) => a.askedAt - b.askedAt || a.worker.length - b.worker.length || (a.worker < b.worker ? -1 : 1),
  );
}

/** No run asks for more vCPUs: machines that have more left than this need not be told apart. */
const HIGHEST_SHELF = 1_024;

/**
 * Machines by what is left of them. Room only shrinks while a plan is made: a need that has found none finds
 * none later, and neither does a greater one. Only another machine changes that.
 */
export class Packing {
  readonly #machines: Machine[] = [];
  readonly #order = new Map<Machine, number>();
  /** By the number of vCPUs that are left, in the order in which machines were added. */
  readonly #ready: Machine[][] = [];
  readonly #coming: Machine[][] = [];
  readonly #workers = new Map<string, Machine>();
  readonly #mayUseGpus: (need: Resources) => boolean;
  readonly #unfit: Misses;
  readonly #hopeless: Misses;

  /** `mayUseGpus`: whether a run with such a need is placed on machines that have GPUs. */
  constructor(mayUseGpus: (need: Resources) => boolean) {
    this.#mayUseGpus = mayUseGpus;
    this.#unfit = new Misses(mayUseGpus);
    this.#hopeless = new Misses(mayUseGpus);
  }

  add(machine: Machine): void {
    this.#order.set(machine, this.#machines.length);
    this.#machines.push(machine);
    if (machine.worker !== null) this.#workers.set(machine.worker, machine);
    this.#shelve(machine);
    this.#unfit.clear();
    this.#hopeless.clear();
  }

  /**
   * The machine for a run, if any has room: ready ones before others; among those, the one that keeps the
   * run's data, though the run has failed there; then ones on which it has not failed yet; among those, the
   * one with the least left, since packing empties the others (pool.md#rule-4). A run does not wait
   * for its data: if their worker has no room now, it goes to another one.
   *
   * Of machines to come the first that was added: one that a plan asks for is the last of them in the next
   * plan, which so promises nobody else's room to it, and asks for no more.
   */
  bestFitting(run: RunRow): Machine | undefined {
    if (this.#unfit.cover(run)) return undefined;
    const home = this.#home(run);
    const ready = home?.ready ? home : this.#fullest(run);
    const found = ready ?? home ?? this.#earliest(run);
    if (found === undefined) this.#unfit.add(run);
    return found;
  }

  #earliest(run: RunRow): Machine | undefined {
    const { resources, avoid = [] } = run;
    let best: Machine | undefined;
    for (const shelf of this.#coming.slice(resources.vcpus)) {
      const fitting = this.#firstTaking(shelf, run);
      if (fitting !== undefined && (best === undefined || this.#isBetter(fitting, best, avoid)))
        best = fitting;
    }
    return best;
  }

  #isBetter(one: Machine, other: Machine, avoid: readonly string[]): boolean {
    const avoided = [one, other].map((machine) => isAvoided(machine, avoid));
    if (avoided[0] !== avoided[1]) return avoided[1] === true;
    return this.#orderOf(one) < this.#orderOf(other);
  }

  /** The machine with the data of a sticky run, if it has room for it (tasks.md#sticky-data). */
  #home(run: RunRow): Machine | undefined {
    const home = run.prefer ? this.#workers.get(run.prefer) : undefined;
    if (home === undefined || !this.#takes(home, run)) return undefined;
    return this.#shelfOf(home).includes(home) ? home : undefined;
  }

  /** Whether a machine has room for the run, and an agent that would not do all that it asks for. */
  hasTooOld(run: RunRow): boolean {
    if (run.needs === undefined) return false;
    return this.#machines.some(
      (one) => one.slots >= 1 && this.#hasRoom(one, one.left, run) && isTooOld(one, run),
    );
  }

  occupy(machine: Machine, need: Resources): void {
    this.close(machine);
    subtract(machine.left, need);
    machine.slots -= 1;
    machine.runs += 1;
    this.#shelve(machine);
  }

  /** The machine with the fewest runs among those that could hold this run if they were empty. */
  soonestFree(run: RunRow): Machine | undefined {
    if (this.#hopeless.cover(run)) return undefined;
    let best: Machine | undefined;
    for (const machine of this.#machines) {
      if (machine.runs >= (best?.runs ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#hasRoom(machine, machine.room, run) && !isTooOld(machine, run)) best = machine;
    }
    if (best === undefined) this.#hopeless.add(run);
    return best;
  }

  /**
   * Of the machines of which one shall leave: one that boots and that no run counts on, since nobody else can
   * use it yet; else the one that runs with the fewest runs; of several the first.
   */
  leastUsed(mayLeave: (row: WorkerRow) => boolean): Machine | undefined {
    let best: Machine | undefined;
    for (const machine of this.#machines) {
      const { row, runs } = machine;
      if (row === null || !mayLeave(row)) continue;
      if (row.phase === "booting" && runs === 0) return machine;
      if (machine.ready && runs < (best?.runs ?? Number.POSITIVE_INFINITY)) best = machine;
    }
    return best;
  }

  /** Nothing more is counted on this machine. */
  close(machine: Machine): void {
    const shelf = this.#shelfOf(machine);
    const at = shelf.indexOf(machine);
    if (at >= 0) shelf.splice(at, 1);
  }

  #shelve(machine: Machine): void {
    if (machine.slots < 1 || machine.left.vcpus <= 0) return;
    const shelf = this.#shelfOf(machine);
    let at = shelf.length;
    while (at > 0 && this.#orderOf(shelf[at - 1]) > this.#orderOf(machine)) at -= 1;
    shelf.splice(at, 0, machine);
  }

  #orderOf(machine: Machine | undefined): number {
    return machine === undefined ? -1 : (this.#order.get(machine) ?? -1);
  }

  #shelfOf(machine: Machine): Machine[] {
    const shelves = machine.ready ? this.#ready : this.#coming;
    const vcpus = Math.min(HIGHEST_SHELF, Math.max(0, machine.left.vcpus));
    while (shelves.length <= vcpus) shelves.push([]);
    return shelves[vcpus] ?? [];
  }

  #fullest(run: RunRow): Machine | undefined {
    const { resources, avoid = [] } = run;
    let avoided: Machine | undefined;
    for (let vcpus = resources.vcpus; vcpus < this.#ready.length; vcpus += 1) {
      const machine = this.#firstTaking(this.#ready[vcpus] ?? [], run);
      if (machine !== undefined && !isAvoided(machine, avoid)) return machine;
      avoided ??= machine;
    }
    return avoided;
  }

  /** The first machine that takes the run and that it need not avoid; else the first that takes it. */
  #firstTaking(shelf: readonly Machine[], run: RunRow): Machine | undefined {
    let avoided: Machine | undefined;
    for (const machine of shelf) {
      if (!this.#takes(machine, run)) continue;
      if (!isAvoided(machine, run.avoid)) return machine;
      avoided ??= machine;
    }
    return avoided;
  }

  #takes(machine: Machine, run: RunRow): boolean {
    return this.#hasRoom(machine, machine.left, run) && !isTooOld(machine, run);
  }

  #hasRoom(machine: Machine, room: Room, { resources }: RunRow): boolean {
    return accommodates(room, resources) && (machine.room.gpus === 0 || this.#mayUseGpus(resources));
  }
}

function isAvoided({ worker }: Machine, avoid: readonly string[] = []): boolean {
  return worker !== null && avoid.includes(worker);
}

/** Its agent would not do all that the run asks for. */
function isTooOld({ acts }: Machine, { needs }: RunRow): boolean {
  return acts !== null && lackedOf(needs, acts).length > 0;
}

/**
 * Runs that found no machine. One that asks for the same of agents, may use machines with GPUs if they may,
 * and asks for no less, will find none.
 */
class Misses {
  readonly #byNeeds = new Map<string, Needs>();
  readonly #mayUseGpus: (need: Resources) => boolean;

  constructor(mayUseGpus: (need: Resources) => boolean) {
    this.#mayUseGpus = mayUseGpus;
  }

  add(run: RunRow): void {
    const key = this.#keyOf(run);
    const known = this.#byNeeds.get(key) ?? new Needs();
    this.#byNeeds.set(key, known);
    known.add(run.resources);
  }

  cover(run: RunRow): boolean {
    return this.#byNeeds.get(this.#keyOf(run))?.reach(run.resources) ?? false;
  }

  #keyOf({ needs = [], resources }: RunRow): string {
    return `${this.#mayUseGpus(resources)} ${needs.join()}`;
  }

  clear(): void {
    this.#byNeeds.clear();
  }
}

/** Needs for which there is no room; of several that reach each other only the least is kept. */
class Needs {
  #least: Resources[] = [];

  add(need: Resources): void {
    this.#least = [...this.#least.filter((one) => !isWithin(need, one)), need];
  }

  /** Whether this need is at least as great as one of them. */
  reach(need: Resources): boolean {
    for (const one of this.#least) if (isWithin(one, need)) return true;
    return false;
  }
}

function isWithin(less: Resources, more: Resources): boolean {
  return (
    less.vcpus <= more.vcpus &&
    less.memoryBytes <= more.memoryBytes &&
    less.diskBytes <= more.diskBytes &&
    less.gpus <= more.gpus
  );
}
