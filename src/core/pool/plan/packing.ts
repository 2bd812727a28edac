// Which machine has room for a run while a plan is made?
import type { Resources } from "../../../schema/common.ts";
import type { InstanceType } from "../../../schema/pool.ts";
import { accommodates, subtract } from "../../resources.ts";
import type { RunRow, WorkerRow } from "../record.ts";

type Room = Resources & { shared: boolean };

/** `down`: it does not answer now, and is expected to. */
export type EngineState = "usable" | "down" | "none";

/** A machine as a plan sees it: runs are placed on it, or count on it until it is ready. */
export interface Machine {
  /** Null: created by the present plan. */
  worker: string | null;
  /** The worker's row; null: created by the present plan. */
  row: WorkerRow | null;
  ready: boolean;
  /** The project to which it belongs. Null: every project's runs can be placed on it. */
  project: string | null;
  /** Whether a provider makes it. */
  isProvided: boolean;
  type: InstanceType;
  /** The GPUs that its host can use; undefined: it names none, or will be asked yet. */
  gpus?: WorkerRow["gpus"];
  /** Where it is; null: unknown. */
  zone: string | null;
  /** Its price per hour; null: unknown. */
  price: number | null;
  /** What it has in all, by which runs are charged. */
  has: Resources;
  /** The protocol version of its host. A machine that is not ready yet will have the present version. */
  protocol: number;
  /** Its container engine. A machine that boots is like those of its type (containers.md#engines). */
  engine: EngineState;
  /** Its room when it is empty. */
  total: Room;
  free: Room;
  /** How many more runs it can take, and how many it has. */
  slots: number;
  runs: number;
}

/**
 * Workers from oldest to youngest, so that the same rows always give the same plan. Workers requested at the
 * same time are sorted by the number at the end of their names.
 */
export function byAge<Row extends WorkerRow>(workers: readonly Row[]): Row[] {
  return workers.toSorted(
    (a, b) => a.askedAt - b.askedAt || a.worker.length - b.worker.length || (a.worker < b.worker ? -1 : 1),
  );
}

/** No run asks for more vCPUs than this, so all machines with so many free vCPUs or more share one shelf. */
const HIGHEST_SHELF = 1_024;

/** Which runs may be placed on which machines, if there is room. */
export interface PackingRules {
  /** Whether the run may be placed on machines with GPUs. */
  mayUseGpus(run: RunRow): boolean;
  /** Whether the run may be placed on the machine. While a plan is made, a "no" never becomes a "yes". */
  mayUse(machine: Machine, run: RunRow): boolean;
  /** Of two runs with the same key, the one that asks for more may use no machine that the other may not. */
  keyOf(run: RunRow): string;
  /** Notes that the run is placed, or counts, on the machine. */
  take(machine: Machine, run: RunRow): void;
}

/**
 * Machines by free vCPUs. Free room only shrinks while a plan is made. So after a run has found no machine,
 * neither this run nor a larger run can find a machine until a machine is added.
 */
export class Packing {
  readonly #machines: Machine[] = [];
  readonly #order = new Map<Machine, number>();
  /**
   * A shelf of machines for each whole number of free vCPUs. On the shelves of `#ready` the fullest machine
   * is first, and of equals the machine that was added first. On those of `#coming` the machines are in the
   * order in which they were added.
   */
  readonly #ready: Machine[][] = [];
  readonly #coming: Machine[][] = [];
  readonly #workers = new Map<string, Machine>();
  /** The protocol version of the oldest agent. */
  #oldest = Number.POSITIVE_INFINITY;
  readonly #rules: PackingRules;
  readonly #unfit: Misses;
  readonly #hopeless: Misses;

  constructor(rules: PackingRules) {
    this.#rules = rules;
    this.#unfit = new Misses(rules);
    this.#hopeless = new Misses(rules);
  }

  add(machine: Machine): void {
    this.#order.set(machine, this.#machines.length);
    this.#machines.push(machine);
    this.#oldest = Math.min(this.#oldest, machine.protocol);
    if (machine.worker !== null) this.#workers.set(machine.worker, machine);
    this.#shelve(machine);
    this.#unfit.clear();
    this.#hopeless.clear();
  }

  /**
   * The machine for a run, if any machine has room. Ready machines come first: a run does not wait until the
   * machine that keeps its data is ready. Among ready machines, the machine that keeps the run's data comes
   * first, even if the run failed there. Next come the machines on which the run has not failed. Among these,
   * the fullest machine is taken, so that other machines become empty (pool.md#rule-4).
   *
   * The order of machines that are not ready is the same, but the machine that was added first is taken
   * instead of the fullest machine. A machine that one plan creates comes last in the next plan. So the next
   * plan makes the same reservations and creates no second machine.
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
    const { resources, avoid } = run;
    let best: Machine | undefined;
    for (const shelf of this.#coming.slice(Math.floor(resources.vcpus))) {
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

  /** The machine with the data of a sticky run, if it has room (tasks.md#sticky-data). */
  #home(run: RunRow): Machine | undefined {
    const home = run.prefer ? this.#workers.get(run.prefer) : undefined;
    if (home === undefined || !this.#takes(home, run)) return undefined;
    return this.#shelfOf(home).includes(home) ? home : undefined;
  }

  /** Whether any machine has room for the run, but its agent is too old for the run. */
  hasTooOld(run: RunRow): boolean {
    if (this.#oldest >= run.protocol) return false;
    return this.#machines.some(
      (one) => one.slots >= 1 && this.#hasRoom(one, one.free, run) && isTooOld(one, run),
    );
  }

  /** Whether one of these machines could hold the run when empty, if its engine were not in such a state. */
  lacksEngine(
    run: RunRow,
    states: readonly EngineState[],
    isOne: (row: WorkerRow | null) => boolean = () => true,
  ): boolean {
    if (run.containers === undefined) return false;
    const { containers: _, ...asProcess } = run;
    return this.#machines.some(
      (one) =>
        states.includes(one.engine) &&
        isOne(one.row) &&
        this.#hasRoom(one, one.total, asProcess) &&
        !isTooOld(one, run),
    );
  }

  occupy(machine: Machine, run: RunRow): void {
    this.close(machine);
    this.#rules.take(machine, run);
    subtract(machine.free, run.resources);
    machine.slots -= 1;
    machine.runs += 1;
    this.#shelve(machine);
  }

  /** Of the machines that could hold this run when empty, the machine with the fewest runs. */
  soonestFree(run: RunRow): Machine | undefined {
    if (this.#hopeless.cover(run)) return undefined;
    let best: Machine | undefined;
    for (const machine of this.#machines) {
      if (machine.runs >= (best?.runs ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#hasRoom(machine, machine.total, run) && !isTooOld(machine, run)) best = machine;
    }
    if (best === undefined) this.#hopeless.add(run);
    return best;
  }

  /**
   * The machine that should leave: a booting machine on which no run counts, or else the ready machine with
   * the fewest runs.
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

  /** Takes the machine off its shelf: no further run is placed on it. */
  close(machine: Machine): void {
    const shelf = this.#shelfOf(machine);
    const at = shelf.indexOf(machine);
    if (at >= 0) shelf.splice(at, 1);
  }

  #shelve(machine: Machine): void {
    if (machine.slots < 1 || machine.free.vcpus <= 0) return;
    const shelf = this.#shelfOf(machine);
    let at = shelf.length;
    while (at > 0 && this.#comesBefore(machine, shelf[at - 1])) at -= 1;
    shelf.splice(at, 0, machine);
  }

  #comesBefore(machine: Machine, other: Machine | undefined): boolean {
    const fuller = machine.ready && other !== undefined ? machine.free.vcpus - other.free.vcpus : 0;
    return fuller === 0 ? this.#orderOf(other) > this.#orderOf(machine) : fuller < 0;
  }

  #orderOf(machine: Machine | undefined): number {
    return machine === undefined ? -1 : (this.#order.get(machine) ?? -1);
  }

  #shelfOf(machine: Machine): Machine[] {
    const shelves = machine.ready ? this.#ready : this.#coming;
    const vcpus = Math.min(HIGHEST_SHELF, Math.max(0, Math.floor(machine.free.vcpus)));
    while (shelves.length <= vcpus) shelves.push([]);
    return shelves[vcpus] ?? [];
  }

  #fullest(run: RunRow): Machine | undefined {
    const { resources, avoid } = run;
    let avoided: Machine | undefined;
    for (let vcpus = Math.floor(resources.vcpus); vcpus < this.#ready.length; vcpus += 1) {
      const machine = this.#firstTaking(this.#ready[vcpus] ?? [], run);
      if (machine !== undefined && !isAvoided(machine, avoid)) return machine;
      avoided ??= machine;
    }
    return avoided;
  }

  /** The first machine on the shelf that can take the run, preferably one on which the run has not failed. */
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
    return this.#hasRoom(machine, machine.free, run) && !isTooOld(machine, run);
  }

  #hasRoom(machine: Machine, room: Room, run: RunRow): boolean {
    const { resources } = run;
    const holds = accommodates(room, resources) && this.#rules.mayUse(machine, run);
    if (!holds || (run.containers !== undefined && machine.engine !== "usable")) return false;
    return machine.total.gpus === 0 || this.#rules.mayUseGpus(run);
  }
}

function isAvoided({ worker }: Machine, avoid: readonly string[]): boolean {
  return worker !== null && avoid.includes(worker);
}

/** Whether the machine's agent is too old for what the run asks for. */
function isTooOld(machine: Machine, run: RunRow): boolean {
  return machine.protocol < run.protocol;
}

/**
 * Runs that found no machine. Another run will find no machine either if it needs the same protocol and an
 * engine as they do, has the same right to GPUs and the same key, and asks for at least as much as one of
 * these runs.
 */
class Misses {
  readonly #byNeeds = new Map<string, Needs>();
  readonly #rules: PackingRules;

  constructor(rules: PackingRules) {
    this.#rules = rules;
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

  #keyOf(run: RunRow): string {
    const needs = `${this.#rules.mayUseGpus(run)} ${run.containers !== undefined} ${run.protocol}`;
    return `${needs} ${this.#rules.keyOf(run)}`;
  }

  clear(): void {
    this.#byNeeds.clear();
  }
}

/**
 * Requests for which there is no room. A request that is at least as large as another request in the list is
 * left out.
 */
class Needs {
  #least: Resources[] = [];

  add(need: Resources): void {
    this.#least = [...this.#least.filter((one) => !isWithin(need, one)), need];
  }

  /** Whether `need` is at least as large as one of these requests. */
  reach(need: Resources): boolean {
    for (const one of this.#least) if (isWithin(one, need)) return true;
    return false;
  }
}

/**
 * Whether a machine that has no room for `less` can have none for `more` either. A run that asks for no vCPU
 * needs a share in a whole one, so it may find no room where half a vCPU is left (pool.md#fit).
 */
function isWithin(less: Resources, more: Resources): boolean {
  const least = less.vcpus === 0 && more.vcpus !== 0 ? 1 : less.vcpus;
  return (
    least <= more.vcpus &&
    less.memoryBytes <= more.memoryBytes &&
    less.diskBytes <= more.diskBytes &&
    less.gpus <= more.gpus
  );
}
