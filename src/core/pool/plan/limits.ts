// What may the runs of a project, or of one payer, use of a pool (projects.md#quotas)?
import type { Resources } from "../../../schema/common.ts";
import type { ProjectQuota } from "../../../schema/pool/quota.ts";
import type { PoolConfig } from "../../../schema/pool.ts";
import { MAX_HOLDERS_NAMED } from "../../../shared/limits.ts";
import type { ReadonlyRows } from "../../rows.ts";
import { concurrencyName, holdsSlot } from "../concurrency/slots.ts";
import { keepsMachinesApart } from "../projects.ts";
import { priceOfRow, rateOf, shareOfPrice } from "../read/money.ts";
import { isKept, type PoolRecord, providedWorkers, type RunRow, type WorkerRow } from "../record.ts";
import type { ReadonlyIndex } from "../rows/run-index.ts";
import type { Machine } from "./packing.ts";

/** A quota, a budget, or the limit of an array or of a concurrency key that holds a run back. */
export interface Held {
  limit: "maxRuns" | "maxInstances" | "maxCostPerHour" | "budget" | "maxParallel" | "concurrency";
  /** What the limit allows, and how much of this is used. */
  most: number;
  used: number;
  /** What the run would add. Null: unknown, since the price of the machine is unknown. */
  adds: number | null;
  /** Of a concurrency key: the first runs that are about to get a slot in this plan. */
  coming?: readonly string[];
}

/** The part of a machine on which limits depend. */
export type Ground = Pick<Machine, "project" | "isProvided" | "price" | "has">;

/** What is in use, by project or by payer. A name that is missing uses nothing. */
export interface Usage {
  /** Placed runs. */
  runs: Map<string, number>;
  /** Machines of a provider that belong to a project. */
  machines: Map<string, number>;
  /** The cost per hour of a project's machines or, if machines are shared, of its placed runs. */
  cost: Map<string, number>;
  /** Machines or runs with an unknown price that count as 0 in `cost`. */
  unpriced: Map<string, number>;
  /** The cost per hour of a payer's placed runs. */
  spent: Map<string, number>;
  /** Placed runs by array (`arrayKey`). */
  arrays: Map<string, number>;
  /** Runs that hold a slot of a concurrency key, by its name (`concurrencyName`). */
  keys: Map<string, number>;
}

/** Counts what is in use, from the rows (invariant 6). */
export function usageOf(state: {
  readonly record: PoolRecord;
  readonly workers: ReadonlyRows<WorkerRow>;
  readonly memo: { readonly index: Pick<ReadonlyIndex, "placed"> };
}): Usage {
  const usage: Usage = {
    runs: new Map(),
    machines: new Map(),
    cost: new Map(),
    unpriced: new Map(),
    spent: new Map(),
    arrays: new Map(),
    keys: new Map(),
  };
  const isApart = keepsMachinesApart(state.record.config);
  for (const [worker, on] of state.memo.index.placed) {
    const row = state.workers.get(worker);
    for (const one of on.values()) {
      const { project, budget, resources, array } = one;
      add(usage.runs, project, 1);
      if (array !== undefined && !isKept(one)) add(usage.arrays, arrayKey(project, array), 1);
      const key = concurrencyName(one);
      if (key !== undefined && holdsSlot(one)) add(usage.keys, key, 1);
      const rate = row === undefined ? 0 : rateOf(resources, row);
      if (!isApart) addCost(usage, project, rate);
      if (budget !== null) add(usage.spent, budget.payer, rate ?? 0);
    }
  }
  if (!isApart) return usage;
  for (const row of providedWorkers(state)) {
    if (row.project === null) continue;
    add(usage.machines, row.project, 1);
    addCost(usage, row.project, priceOfRow(row));
  }
  return usage;
}

/** The limits of one plan: what its rows use, and what it has given away so far. */
export class Limits {
  readonly #isApart: boolean;
  readonly #quotas: Map<string, ProjectQuota>;
  readonly #count: () => Usage;
  #usage: Usage | undefined;
  /** Runs that hold a slot of a concurrency key by their rows, whatever this plan has given away. */
  #holders: ReadonlyMap<string, number> = new Map();
  /** By concurrency key: the first runs that this plan has promised a slot. */
  readonly #coming = new Map<string, string[]>();

  /** `count` counts what is in use. It is called only if a run has a limit. */
  constructor(config: PoolConfig, count: () => Usage) {
    this.#isApart = keepsMachinesApart(config);
    this.#quotas = new Map(Object.entries(config.projects ?? {}).filter(([, quota]) => isPlanned(quota)));
    this.#count = count;
  }

  /** What keeps the run off every machine. Null: nothing does. */
  heldBack(run: RunRow): Held | null {
    return this.#heldByArray(run) ?? this.#heldByKey(run) ?? this.#heldByProject(run);
  }

  /** Whether as many runs with its key hold a slot as the run allows (pool.md#concurrency-keys). */
  #heldByKey(run: RunRow): Held | null {
    const key = concurrencyName(run);
    if (key === undefined) return null;
    const most = limitOf(run);
    const used = countOf(this.#used.keys, key);
    if (used < most) return null;
    return { limit: "concurrency", most, used, adds: 1, coming: [...(this.#coming.get(key) ?? [])] };
  }

  /** Whether its key has no slot for the run, wherever the run is in the queue. */
  isShutOut(run: RunRow): boolean {
    return (
      this.#heldByKey(run) !== null && countOf(this.#holders, concurrencyName(run) ?? "") >= limitOf(run)
    );
  }

  /**
   * Notes that a slot of its key is kept for the run, which waits for a machine: no run behind it takes that
   * slot. Returns whether the run has a key.
   */
  claim(run: RunRow): boolean {
    const key = concurrencyName(run);
    if (key === undefined) return false;
    add(this.#used.keys, key, 1);
    const coming = this.#coming.get(key) ?? [];
    if (coming.length < MAX_HOLDERS_NAMED) this.#coming.set(key, [...coming, run.run]);
    return true;
  }

  /** Whether as many runs of its array are placed as the run allows (pool.md#arrays). */
  #heldByArray({ project, array }: RunRow): Held | null {
    const most = array?.maxParallel;
    if (array === undefined || most === undefined) return null;
    const used = countOf(this.#used.arrays, arrayKey(project, array));
    return used >= most ? { limit: "maxParallel", most, used, adds: 1 } : null;
  }

  #heldByProject(run: RunRow): Held | null {
    const most = this.#quotas.get(run.project)?.maxRuns;
    const used = most === undefined ? 0 : countOf(this.#used.runs, run.project);
    return most !== undefined && used >= most ? { limit: "maxRuns", most, used, adds: 1 } : null;
  }

  /** Which limit keeps the run off this machine, whose owner allows the run. Null: none does. */
  heldOn(run: RunRow, ground: Ground): Held | null {
    return this.#isLimited(run) ? (this.#quotaOn(run, ground) ?? this.#budgetOn(run, ground)) : null;
  }

  /** Whether the run could use such a new machine once other machines of its project have ended. */
  mayReplace(run: RunRow, ground: Ground): boolean {
    const { maxCostPerHour } = this.#quotas.get(run.project) ?? {};
    const isTooDear = maxCostPerHour !== undefined && isBeyond(0, ground.price ?? 0, maxCostPerHour);
    return !isTooDear && this.#budgetOn(run, ground) === null;
  }

  mayUse(machine: Ground, run: RunRow): boolean {
    const isOthers = this.#isApart && machine.project !== null && machine.project !== run.project;
    return !isOthers && this.heldOn(run, machine) === null;
  }

  keyOf({ project, budget }: RunRow): string {
    const whose = this.#isApart || this.#quotas.has(project) ? project : "";
    return budget === null ? whose : `${whose} ${budget.payer} ${budget.perHour}`;
  }

  /**
   * Notes that the run is placed, or counts, on the machine, which belongs to the run's project from then on.
   */
  take(machine: Ground, run: RunRow): void {
    const { project, budget, resources, array, concurrency } = run;
    const isNew = this.#isApart && machine.project === null;
    if (isNew) machine.project = project;
    // Nothing was counted before: no run before this one has a limit. A run that comes later may have the
    // limit of the array, although this one has not.
    const usage = array === undefined && concurrency === undefined ? this.#usage : this.#used;
    if (usage === undefined) return;
    add(usage.runs, project, 1);
    if (array !== undefined) add(usage.arrays, arrayKey(project, array), 1);
    this.claim(run);
    const rate = rateOn(resources, machine);
    if (budget !== null) add(usage.spent, budget.payer, rate ?? 0);
    if (!this.#isApart) addCost(usage, project, rate);
    if (!isNew || !machine.isProvided) return;
    add(usage.machines, project, 1);
    addCost(usage, project, machine.price);
  }

  get #used(): Usage {
    if (this.#usage === undefined) {
      this.#usage = this.#count();
      this.#holders = new Map(this.#usage.keys);
    }
    return this.#usage;
  }

  #isLimited({ budget, project }: RunRow): boolean {
    return budget !== null || (this.#quotas.size > 0 && this.#quotas.has(project));
  }

  #quotaOn({ project, resources }: RunRow, ground: Ground): Held | null {
    const { maxInstances, maxCostPerHour } = this.#quotas.get(project) ?? {};
    // A machine that is the project's already is no further one, and a self-hosted one is free.
    if (this.#isApart && (ground.project !== null || !ground.isProvided)) return null;
    const used = countOf(this.#used.machines, project);
    if (this.#isApart && maxInstances !== undefined && used >= maxInstances)
      return { limit: "maxInstances", most: maxInstances, used, adds: 1 };
    const adds = (this.#isApart ? ground.price : rateOn(resources, ground)) ?? 0;
    const costs = countOf(this.#used.cost, project);
    return maxCostPerHour !== undefined && isBeyond(costs, adds, maxCostPerHour)
      ? { limit: "maxCostPerHour", most: maxCostPerHour, used: costs, adds }
      : null;
  }

  #budgetOn({ budget, resources }: RunRow, ground: Ground): Held | null {
    if (budget === null) return null;
    const adds = rateOn(resources, ground);
    const used = countOf(this.#used.spent, budget.payer);
    const isHeld = adds === null || isBeyond(used, adds, budget.perHour);
    return isHeld ? { limit: "budget", most: budget.perHour, used, adds } : null;
  }
}

/** Of the limits on two types of machines: the one within which the run would be sooner. */
export function nearer(one: Held | undefined, other: Held): Held {
  if (one === undefined) return other;
  const isNearer = (other.adds ?? Number.POSITIVE_INFINITY) < (one.adds ?? Number.POSITIVE_INFINITY);
  return one.limit === other.limit && isNearer ? other : one;
}

/** Whether a project has a quota that a plan must keep. */
function isPlanned({ maxRuns, maxInstances, maxCostPerHour }: ProjectQuota): boolean {
  return maxRuns !== undefined || maxInstances !== undefined || maxCostPerHour !== undefined;
}

/** The hourly cost of a run on a machine; null: the price is unknown. */
function rateOn(need: Resources, { price, has }: Ground): number | null {
  return price === null ? null : shareOfPrice(need, has, price);
}

/** Sums of prices are inexact: three times 0.1 must not exceed 0.3. */
const INEXACT = 1 + 1e-9;

/** Whether more cost would be beyond the limit. What costs nothing never is. */
function isBeyond(used: number, adds: number, most: number): boolean {
  return adds > 0 && used + adds > most * INEXACT;
}

function addCost(usage: Usage, project: string, price: number | null): void {
  add(usage.cost, project, price ?? 0);
  if (price === null) add(usage.unpriced, project, 1);
}

function add(counts: Map<string, number>, name: string, value: number): void {
  counts.set(name, countOf(counts, name) + value);
}

/** How many runs with its key may hold a slot together, as this run says. */
function limitOf({ concurrency }: RunRow): number {
  return concurrency?.limit ?? Number.POSITIVE_INFINITY;
}

/** The key of an array: two projects may use the same id. */
function arrayKey(project: string, { id }: { id: string }): string {
  return `${project} ${id}`;
}

/** The value under a name; 0: there is none. */
export function countOf(counts: ReadonlyMap<string, number>, name: string): number {
  return counts.get(name) ?? 0;
}
