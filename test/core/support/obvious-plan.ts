import type { Hold, RunRow, WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { resourcesOfType } from "../../../src/core/spec.ts";
import type { Resources } from "../../../src/schema/common.ts";
import type { InstanceType } from "../../../src/schema/pool.ts";

/** Dearer than any price that is known. */
const UNKNOWN = Number.MAX_VALUE;

/** The result of the obvious plan, in a form that can be compared with the real one. */
export interface Obvious {
  places: string[];
  creates: string[];
  waits: Record<string, string>;
  reserved: { run: string; worker: string | null; evict?: true } | null;
}

interface Machine {
  /** Null: this plan asks for the machine. */
  row: WorkerRow | null;
  ready: boolean;
  has: Resources;
  on: RunRow[];
  /** To whom it belongs: only to the first project, unless all share it. */
  project: string | null;
  price: number | null;
  /** All that it has, with the memory that cannot be used. */
  whole: Resources;
  slots: number;
  /** Kept from all runs that come later in the queue. */
  kept: boolean;
}

/**
 * The plan of a pool as its rules are written down, with no index, no cache and no shortcut: every run looks
 * at every machine, and every sum is added up again. It is slow: it only serves to judge `plan.ts`.
 */
export function obviousPlan(state: Configured, now: number): Obvious {
  return new ObviousPlan(state, now).made();
}

class ObviousPlan {
  readonly #state: Configured;
  readonly #now: number;
  readonly #machines: Machine[];
  /** Runs that wait for a machine that is sure to come, and keep a slot of their key meanwhile. */
  readonly #claims: RunRow[] = [];
  readonly #said: Obvious = { places: [], creates: [], waits: {}, reserved: null };

  constructor(state: Configured, now: number) {
    this.#state = state;
    this.#now = now;
    this.#machines = this.#workers()
      .filter((row) => this.#takesRuns(row))
      .map((row) => this.#machineOf(row));
  }

  made(): Obvious {
    for (const run of withTurns(this.#queue(), [...this.#state.runs.live()])) {
      this.#decide(run);
      const isSure =
        this.#said.waits[run.run]?.startsWith("machine_asked") || this.#said.reserved?.run === run.run;
      const isCounted = this.#counted().some((one) => one.run === run.run);
      if (isSure && !isCounted) this.#claims.push(run);
    }
    this.#keepMinimum();
    return this.#said;
  }

  #queue(): RunRow[] {
    const waiting = [...this.#state.runs.live()].filter(
      (row) => row.wants === "place" && row.opened <= row.ended,
    );
    return waiting.sort(
      (a, b) => b.priority - a.priority || a.submittedAt - b.submittedAt || (a.run < b.run ? -1 : 1),
    );
  }

  /** The workers, oldest first. */
  #workers(): WorkerRow[] {
    const live = [...this.#state.workers.live()];
    return live.sort((a, b) => a.askedAt - b.askedAt || (a.worker < b.worker ? -1 : 1));
  }

  #takesRuns(row: WorkerRow): boolean {
    if (row.idleBehavior !== "run" || row.stopUntil > this.#now) return false;
    if (row.pausedUntil > this.#now && row.refusals > 2) return false;
    if (row.project !== null && !this.#isServed(row.project)) return false;
    return (
      row.phase === "ready" || (row.kind === "cloud" && (row.phase === "booting" || row.phase === "asked"))
    );
  }

  #machineOf(row: WorkerRow): Machine {
    const { maxRuns } = row.settings;
    const on = [...this.#state.runs.live()].filter(
      (run) => run.opened > run.ended && run.worker === row.worker,
    );
    const has = row.resources ?? resourcesOfType(row.type);
    return {
      row,
      ready: row.phase === "ready" && row.pausedUntil <= this.#now,
      has: { ...has, memoryBytes: Math.floor((has.memoryBytes * 95) / 100) },
      on,
      project: row.project,
      price: row.kind === "cloud" ? (row.listedPrice?.price ?? row.type.price ?? null) : 0,
      whole: has,
      slots: maxRuns === 0 ? Number.POSITIVE_INFINITY : maxRuns,
      kept: false,
    };
  }

  #isServed(project: string): boolean {
    return Object.keys(this.#state.record.config.projects ?? { default: {} }).includes(project);
  }

  /** Whether a machine takes runs of its own project only. */
  get #isApart(): boolean {
    const { projects, shareMachines } = this.#state.record.config;
    return projects !== undefined && !shareMachines;
  }

  #decide(run: RunRow): void {
    if (!this.#isServed(run.project)) {
      this.#said.waits[run.run] = "project_not_served";
      return;
    }
    const { array } = run;
    const ofArray = this.#counted().filter(
      (one) => one.project === run.project && one.array?.id === array?.id,
    );
    if (array?.maxParallel !== undefined && ofArray.length >= array.maxParallel) {
      this.#said.waits[run.run] = "max_parallel";
      return;
    }
    const { concurrency } = run;
    const ofKey = [...this.#counted(), ...this.#claims].filter((one) => isSameKey(one, run));
    if (concurrency !== undefined && ofKey.length >= concurrency.limit) {
      this.#said.waits[run.run] = "concurrency_key";
      return;
    }
    const { maxRuns = Number.POSITIVE_INFINITY } = this.#quota(run);
    if (this.#counted().filter(({ project }) => project === run.project).length >= maxRuns) {
      this.#said.waits[run.run] = "project_quota";
      return;
    }
    const machine = this.#best(run);
    if (machine !== undefined) {
      machine.on.push(run);
      machine.project ??= run.project;
      const { row } = machine;
      if (row !== null && machine.ready) this.#said.places.push(`${run.run}@${row.worker}`);
      else this.#said.waits[run.run] = row === null ? "machine_asked" : `machine_booting ${row.worker}`;
      if (row !== null && !machine.ready) this.#keepForTrial(run, row);
      return;
    }
    const all = this.#typesFor(run.resources);
    const held = all.map(([, type]) => this.#limitOn(this.#newMachine(type), run));
    const types = all.filter((_, at) => held[at] === null);
    for (const [name, type] of types) {
      if (this.#stops(name) !== null) continue;
      this.#machines.push({ ...this.#newMachine(type), on: [run], project: run.project });
      this.#said.creates.push(name);
      this.#said.waits[run.run] = "machine_asked";
      return;
    }
    if (all.length > 0 && types.length === 0) {
      this.#said.waits[run.run] = held[0] ?? "";
      this.#makeOwnRoom(run, all);
      return;
    }
    const first = types[0];
    const code = first === undefined ? this.#noType(run) : (this.#stops(first[0]) ?? "");
    const kept = code === "machine_asked" ? undefined : this.#reserve(run);
    for (const [name] of types) this.#makeRoom(run, name);
    this.#said.waits[run.run] = kept ? `${code} ${kept}` : code;
  }

  #quota({ project }: RunRow) {
    return this.#state.record.config.projects?.[project] ?? {};
  }

  /** The runs that are placed, or have been promised room by this plan. */
  #counted(): RunRow[] {
    return this.#allMachines().flatMap(({ on }) => on);
  }

  /** The machines of this plan, and those that take no runs but have some. */
  #allMachines(): Machine[] {
    const there = this.#machines.map(({ row }) => row?.worker);
    const others = this.#workers().filter(({ worker }) => !there.includes(worker));
    return [...this.#machines, ...others.map((row) => this.#machineOf(row))];
  }

  /** Which quota of its project, or which budget, keeps a run off a machine. */
  #limitOn(machine: Machine, run: RunRow): string | null {
    const { maxInstances = Infinity, maxCostPerHour = Infinity } = this.#quota(run);
    const isProvided = machine.row?.kind !== "self-hosted";
    const own = this.#allMachines().filter(
      ({ project, row }) => project === run.project && row?.kind !== "self-hosted",
    );
    if (this.#isApart && machine.project === null && isProvided) {
      const cost = own.reduce((all, { price }) => all + (price ?? 0), 0);
      const isMore = (machine.price ?? 0) > 0 && isAbove(cost + (machine.price ?? 0), maxCostPerHour);
      if (own.length >= maxInstances || isMore) return "project_quota";
    }
    const rate = rateOn(machine, run);
    if (!this.#isApart && rate !== null && rate > 0) {
      const cost = this.#rates(({ project }) => project === run.project);
      if (isAbove(cost + rate, maxCostPerHour)) return "project_quota";
    }
    if (run.budget === null) return null;
    const { payer, perHour } = run.budget;
    if (rate === null) return "budget";
    const spent = this.#rates(({ budget }) => budget?.payer === payer);
    return rate > 0 && isAbove(spent + rate, perHour) ? "budget" : null;
  }

  /** What the placed and promised runs of this kind cost per hour. */
  #rates(isOne: (run: RunRow) => boolean): number {
    let all = 0;
    for (const machine of this.#allMachines())
      for (const run of machine.on.filter(isOne)) all += rateOn(machine, run) ?? 0;
    return all;
  }

  #isHeld({ instanceType }: WorkerRow): boolean {
    const { holds } = this.#state.record;
    return holds.some((hold) => this.#isIn(hold, instanceType) && this.#now < (hold.until ?? Infinity));
  }

  /** The best machine for a run: ready ones first, then by the rule of each kind. */
  #best(run: RunRow): Machine | undefined {
    const { avoid = [], prefer } = run;
    const fitting = this.#machines.filter((one) => !one.kept && this.#fits(one, one.on, run));
    const avoided = ({ row }: Machine) => Number(row !== null && avoid.includes(row.worker));
    const left = ({ has, on }: Machine) => 1_000 * has.vcpus - Math.round(1_000 * sum(needsOf(on), "vcpus"));
    const ready = fitting.filter((one) => one.ready);
    const coming = fitting.filter((one) => !one.ready);
    const home = (some: Machine[]) => some.find(({ row }) => row !== null && row.worker === prefer);
    const fullest = ready.toSorted((a, b) => avoided(a) - avoided(b) || left(a) - left(b))[0];
    return home(ready) ?? fullest ?? home(coming) ?? coming.toSorted((a, b) => avoided(a) - avoided(b))[0];
  }

  #fits(machine: Machine, on: RunRow[], run: RunRow): boolean {
    const { has, slots, project: owner } = machine;
    const { resources, project } = run;
    if (this.#isApart && owner !== null && owner !== project) return false;
    if (this.#limitOn(machine, run) !== null) return false;
    if (has.gpus > 0 && !this.#mayUseGpus(resources)) return false;
    return on.length < slots && areHeld(has, [...needsOf(on), resources]);
  }

  /** Machines with GPUs are for runs that ask for GPUs, or that no other type can hold. */
  #mayUseGpus(need: Resources): boolean {
    const { config } = this.#state.record;
    if (need.gpus > 0 || config.allowRunsWithoutGpus === true || config.maxInstances === 0) return true;
    const plain = Object.values(config.instanceTypes).filter(({ gpus }) => gpus === 0);
    return !plain.some((type) => areHeld(this.#newMachine(type).has, [need]));
  }

  #newMachine(type: InstanceType): Machine {
    const { maxRunsPerInstance: most } = this.#state.record.config;
    const has = resourcesOfType(type);
    const usable = { ...has, memoryBytes: Math.floor((has.memoryBytes * 95) / 100) };
    const slots = most === 0 ? Number.POSITIVE_INFINITY : most;
    const price = type.price ?? null;
    const nobodys = { row: null, project: null, price, whole: has };
    return { ...nobodys, ready: false, has: usable, on: [], slots, kept: false };
  }

  /** The cheapest type that holds the resources, and those that cost at most `priceFactor` times as much. */
  #typesFor(need: Resources): [string, InstanceType][] {
    const { instanceTypes, priceFactor = 1.5 } = this.#state.record.config;
    const gpus = this.#mayUseGpus(need);
    const holding = Object.entries(instanceTypes)
      .filter(([, type]) => areHeld(this.#newMachine(type).has, [need]) && (gpus || type.gpus === 0))
      .sort(([, a], [, b]) => (a.price ?? UNKNOWN) - (b.price ?? UNKNOWN));
    const cheapest = holding[0]?.[1].price ?? UNKNOWN;
    return holding.filter(([, { price = 0 }]) => price <= cheapest * priceFactor);
  }

  /** What keeps the pool from another machine of this type; null: nothing does. */
  #stops(type: string): string | null {
    const { maxInstances, maxConcurrentCreates } = this.#state.record.config;
    const provided = this.#provided();
    const { length: asked } = this.#said.creates;
    if (this.#holdsOn(type).length > 0) return "hold_off";
    if (maxInstances === 0) return "no_workers";
    if (provided.length + asked >= maxInstances) return "max_instances";
    return provided.filter(isBeingMade).length + asked >= maxConcurrentCreates ? "machine_asked" : null;
  }

  #provided(): WorkerRow[] {
    return this.#workers().filter((row) => row.kind === "cloud");
  }

  /** The hold-offs of this type that have not ended, or whose one trial is under way. */
  #holdsOn(type: string): Hold[] {
    const scoped = this.#state.record.holds.filter((hold) => this.#isIn(hold, type));
    return scoped.filter((hold) => {
      if (hold.until === null || this.#now < hold.until) return true;
      const { until } = hold;
      // A trial requested since; or one that waits for its turn, and will get it before any other.
      const trials = this.#provided().filter((row) => {
        if (!isBeingMade(row)) return false;
        return isWaiting(row) ? !this.#isHeld(row) : (row.turn?.at ?? row.askedAt) >= until;
      });
      const tried = trials.some((row) => this.#isIn(hold, row.instanceType));
      return tried || this.#said.creates.some((name) => this.#isIn(hold, name));
    });
  }

  #isIn({ scope }: Hold, type: string): boolean {
    const { quotaGroup } = this.#state.record.config.instanceTypes[type] ?? {};
    const group = quotaGroup === undefined ? "all" : `group:${quotaGroup}`;
    return ["all", group, `type:${type}`].includes(scope);
  }

  #noType({ resources, project }: RunRow): string {
    const isOpen = (row: WorkerRow) =>
      row.project === null || row.project === project || (!this.#isApart && this.#isServed(row.project));
    const own = this.#workers().filter((row) => row.kind === "self-hosted" && isOpen(row));
    const machines = own.map((row) => this.#machineOf(row).has);
    return machines.some((has) => areHeld(has, [resources])) ? "self_hosted_only" : "no_type";
  }

  /** For the first waiting run, keeps the machine with the fewest runs, of those that could hold it. */
  #reserve(run: RunRow): string | null {
    if (this.#said.reserved !== null) return null;
    const able = this.#machines.filter((one) => this.#fits({ ...one, slots: 1 }, [], run));
    const machine = able.toSorted((a, b) => a.on.length - b.on.length)[0];
    if (machine === undefined) return null;
    machine.kept = true;
    const worker = machine.row?.worker ?? null;
    this.#said.reserved = { run: run.run, worker };
    return worker;
  }

  /** Or, where no more machines are allowed, keeps the least used of the machines that are in the way. */
  #makeRoom(run: RunRow, type: string): void {
    const held = this.#holdsOn(type);
    const onlyQuota = held.length > 0 && held.every(({ cause }) => cause === "quota");
    const full = onlyQuota || (held.length === 0 && this.#stops(type) === "max_instances");
    const none = this.#state.record.config.maxInstances === 0;
    if (this.#said.reserved !== null || !full || none) return;
    const isInWay = (row: WorkerRow) =>
      row.kind === "cloud" && held.every((hold) => this.#isIn(hold, row.instanceType));
    const isLeft = this.#workers().some((row) => isInWay(row) && this.#isLeaving(row));
    if (isLeft) this.#said.reserved = { run: run.run, worker: null };
    else this.#keep(run, isInWay, true);
  }

  /** Or, where only quotas of its project are in the way, keeps the least used machine of the project. */
  #makeOwnRoom(run: RunRow, all: [string, InstanceType][]): void {
    const { maxCostPerHour = Infinity } = this.#quota(run);
    const couldBe = all.some(([name, type]) => {
      const own = { ...this.#newMachine(type), project: run.project };
      if (!this.#isApart || isAbove(own.price ?? 0, maxCostPerHour)) return false;
      return this.#limitOn(own, run) === null && [null, "max_instances"].includes(this.#stops(name));
    });
    if (this.#said.reserved !== null || !couldBe) return;
    if (this.#machines.some((one) => this.#fits({ ...one, slots: 1 }, [], run))) return;
    const isOwn = (row: WorkerRow) => row.kind === "cloud" && row.project === run.project;
    if (!this.#workers().some((row) => isOwn(row) && this.#isLeaving(row))) this.#keep(run, isOwn, true);
  }

  #isLeaving(row: WorkerRow): boolean {
    return row.phase === "shutdown" ? this.#now < (row.endingAt ?? 0) + 300_000 : this.#now < row.stopUntil;
  }

  /** While a run's machine is tried in spite of a quota, keeps the machine that would have to leave. */
  #keepForTrial(run: RunRow, { instanceType, instance }: WorkerRow): void {
    const quotas = this.#state.record.holds.filter(
      (one) => one.cause === "quota" && this.#isIn(one, instanceType),
    );
    if (this.#said.reserved !== null || quotas.length === 0 || instance !== null) return;
    const inWay = (row: WorkerRow) =>
      row.kind === "cloud" && quotas.every((hold) => this.#isIn(hold, row.instanceType));
    this.#keep(run, inWay, false);
  }

  #keep(run: RunRow, isInWay: (row: WorkerRow) => boolean, evict: boolean): void {
    const able = this.#machines.filter(({ row }) => row !== null && isInWay(row));
    const booting = able.find(({ row, on }) => row?.phase === "booting" && on.length === 0);
    const ready = able.filter((one) => one.ready).toSorted((a, b) => a.on.length - b.on.length)[0];
    const machine = booting ?? ready;
    if (machine === undefined) return;
    machine.kept = true;
    const worker = machine.row?.worker ?? null;
    this.#said.reserved = { run: run.run, worker, ...(evict ? { evict } : {}) };
  }

  #keepMinimum(): void {
    const { minInstances } = this.#state.record.config;
    const stay = ({ phase, idleBehavior, stopUntil }: WorkerRow) =>
      phase !== "shutdown" && idleBehavior === "run" && stopUntil <= this.#now;
    const kept = this.#provided().filter(stay).length;
    const nothing = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };
    if (minInstances === 0) return;
    for (const [name] of this.#typesFor(nothing)) {
      while (kept + this.#said.creates.length < minInstances && this.#stops(name) === null)
        this.#said.creates.push(name);
    }
  }
}

function isSameKey(one: RunRow, other: RunRow): boolean {
  return one.project === other.project && one.concurrency?.key === other.concurrency?.key;
}

/**
 * Where keys take turns, the place of each such run in the queue goes to the run that is chosen next: of the
 * keys with the fewest runs chosen so far, one of the key whose turn was the longest ago.
 */
function withTurns(queue: RunRow[], all: RunRow[]): RunRow[] {
  const turns = (run: RunRow) => run.concurrency?.strategy === "round-robin";
  const left = queue.filter(turns);
  const chosen: RunRow[] = [];
  return queue.map((run) => {
    if (!turns(run)) return run;
    const rivals = left.filter(({ priority }) => priority === run.priority);
    const firsts = rivals.filter((one) => rivals.find((other) => isSameKey(other, one)) === one);
    const had = (one: RunRow) =>
      chosen.filter((other) => other.priority === one.priority && isSameKey(other, one)).length;
    const first = (one: RunRow) =>
      queue.find((other) => turns(other) && other.priority === one.priority && isSameKey(other, one)) ?? one;
    const turn = (one: RunRow) => {
      const holders = all.filter((other) => other.opened > other.ended && isSameKey(other, one));
      return Math.max(...[first(one), ...holders].map((other) => other.turn ?? 0));
    };
    const next = firsts.sort((a, b) => had(a) - had(b) || turn(a) - turn(b))[0] ?? run;
    left.splice(left.indexOf(next), 1);
    chosen.push(next);
    return next;
  });
}

function isBeingMade({ instance, phase }: WorkerRow): boolean {
  return instance === null && (phase === "asked" || phase === "booting");
}

function isWaiting({ phase, turn, waits, version }: WorkerRow): boolean {
  return phase === "asked" ? turn === undefined : waits !== null && turn?.version !== version;
}

function needsOf(runs: RunRow[]): Resources[] {
  return runs.map(({ resources }) => resources);
}

/** What a run costs on a machine: the greatest share that it asks for of anything. */
function rateOn({ price, whole }: Machine, { resources }: RunRow): number | null {
  if (price === null || price === 0) return price;
  const kinds = ["vcpus", "memoryBytes", "diskBytes", "gpus"] as const;
  const shares = kinds.filter((kind) => whole[kind] > 0).map((kind) => resources[kind] / whole[kind]);
  return price * Math.min(1, Math.max(0, ...shares));
}

function isAbove(amount: number, limit: number): boolean {
  return amount > limit + limit * 1e-9;
}

/** The sum, to thousandths. */
function sum(needs: Resources[], what: keyof Resources): number {
  const parts = needs.reduce((all, one) => all + Math.round(1_000 * one[what]), 0);
  return parts / 1_000;
}

/** Whether a machine holds all of these together. Those that ask for no vCPU share one. */
function areHeld(has: Resources, needs: Resources[]): boolean {
  const shared = needs.some(({ vcpus }) => vcpus === 0) ? 1 : 0;
  return (
    sum(needs, "vcpus") + shared <= has.vcpus &&
    sum(needs, "memoryBytes") <= has.memoryBytes &&
    sum(needs, "diskBytes") <= has.diskBytes &&
    sum(needs, "gpus") <= has.gpus
  );
}
