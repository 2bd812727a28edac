import type { CreateWorker } from "../../src/core/messages.ts";
import { LATE_MACHINE_MS } from "../../src/core/pool/rows/workers.ts";
import type {
  CreateAnswer,
  DestroyAnswer,
  FindAnswer,
  ListAnswer,
  ProviderFailure,
} from "../../src/core/provider-answers.ts";
import type { Fault, Instance } from "../../src/schema/provider.ts";
import { POOL_TAG, WORKER_TAG } from "../../src/shared/cloud/tags.ts";
import type { Chance } from "./rng.ts";
import type { World } from "./world.ts";

/** A machine counts as seen once listings have shown it for so long. */
const LISTED_TWICE_MS = 5_000;
/** How old a listing of this cloud may be, compared with its own acts. */
export const LIST_CONSISTENCY_MS = 10_000;

/** When a machine comes to be that comes late: after `UNLISTED_MS`, and while it is looked for. */
const LATE_FROM_MS = 150_000;
const LATE_UNTIL_MS = LATE_MACHINE_MS;

/** A call whose caller has given up takes effect within this time, or never. */
const SLOWEST_CREATE_MS = 50_000;

/**
 * A machine that was missing is not missing again for some time: that would be no lie any more, but chance.
 */
const BETWEEN_OMISSIONS_MS = 300_000;

interface Machine {
  instance: Instance;
  bornAt: number;
  endedAt: number | undefined;
  /** Until when listings miss it; and from when on they may again. */
  missedUntil: number;
  missableFrom: number;
  /** When listings have missed it although it lived. */
  missedAt: number[];
  /** It came to be long after the answer that named it. */
  late: boolean;
  /** Another machine has its name, and is the one that its worker was answered with. */
  second: boolean;
  /** Since when listings have shown it; undefined: none has. */
  listedSince: number | undefined;
  /** Another listing has shown it a while later, when that could be stored. */
  isListed: boolean;
  /** Its provider may take it back. */
  spot: boolean;
}

/** For how long a machine was paid for. */
export interface Life extends Pick<Machine, "late" | "second" | "isListed" | "bornAt" | "missedAt"> {
  worker: string;
  type: string;
  endedAt: number;
}

/** A machine that exists now. */
export interface LivingMachine extends Pick<Machine, "late" | "second" | "bornAt"> {
  worker: string;
  instance: string;
}

/** What a machine of this cloud runs: set by the simulation. `dead`: it comes to be, and that is all. */
export interface Boot {
  boot(worker: string, dead: boolean): void;
  end(worker: string, why: string): void;
}

/** What this account gets of the cloud; what is absent is no limit. */
export interface Account {
  /** Machines that may be there at once. */
  quota?: number;
  /** The name of a machine that has ended can be used again. */
  namesAreFree?: boolean;
  /** Of this type there are never any. */
  outOfCapacity?: string;
  /** Machines of this type are dead on arrival, until so long after the beginning. */
  deadOnArrival?: { type: string; forMs: number };
}

/** A time in which every call is refused, counted from the beginning. */
export interface Refusal {
  fromMs: number;
  forMs: number;
  failure: ProviderFailure;
}

/** When the provider begins to refuse everything, at the latest, and for how long it does. */
const REFUSED_WITHIN_MS = 300_000;
const REFUSED_FOR_MS = 3_600_000;

/** How and when a provider refuses everything. */
export function refusal(chance: Chance): Refusal {
  const causes = ["temporary", "rate_limit", "quota", "auth"] as const;
  const retryAfterMs = chance.chance(0.3) ? chance.between(1_000, 600_000) : undefined;
  const said = { class: chance.pick(causes) ?? "temporary", text: "not now" };
  const failure = retryAfterMs === undefined ? said : { ...said, retryAfterMs };
  return { fromMs: chance.between(0, REFUSED_WITHIN_MS), forMs: REFUSED_FOR_MS, failure };
}

/**
 * A cloud that lies as clouds do: it loses answers, refuses, lists late, misses what exists, and destroys
 * with delay or not at all. What it keeps is its word on consistency: nothing is missing for longer than the
 * window.
 */
export class Cloud {
  readonly #world: World;
  readonly #boot: Boot;
  readonly #account: Account;
  readonly #beganAt: number;
  readonly #machines = new Map<string, Machine>();
  /** Second machines under the name of a worker. */
  readonly #seconds = new Map<string, Machine>();
  /** Those of all machines that live. */
  readonly #living = new Set<Machine>();
  readonly #chance: Chance;
  /** What was promised, and is still to come to be, by worker. */
  readonly #toCome = new Map<string, Instance>();
  #refusal: { until: number; failure: ProviderFailure } | undefined;
  /** Machines that have ended, of whose names there is another one now. */
  readonly #former: [worker: string, machine: Machine][] = [];
  /** Whether a name can be used again once its machine has ended. */
  readonly #namesAreFree: boolean;
  /** Of what the bytes of each token were made. */
  readonly #bytes = new Map<string, string>();
  /** Tokens whose create has been answered as pending. */
  readonly #pending = new Set<string>();
  /** Until when each zone has an outage. */
  readonly #outages = new Map<string, number>();
  /** Until when others use up the calls of the account. */
  #scarceUntil = 0;
  /** When it was called, and for what. */
  readonly calls: { what: "create" | "destroy" | "list"; at: number }[] = [];

  /** `chance`: for what must move no other fault. */
  constructor(world: World, boot: Boot, chance: Chance, account: Account = {}) {
    this.#chance = chance;
    this.#world = world;
    this.#boot = boot;
    this.#account = account;
    this.#namesAreFree = account.namesAreFree ?? false;
    this.#beganAt = world.now;
  }

  /** All machines that there have ever been: from when to when they were paid for. */
  *lives(): Generator<Life> {
    for (const [worker, machine] of this.#all()) {
      const { bornAt, endedAt = this.#world.now, missedAt, late, second, isListed, instance } = machine;
      const span = { bornAt, endedAt, missedAt };
      yield { worker, type: instance.instanceType, late, second, isListed, ...span };
    }
  }

  /** The machines that exist now, by their workers. */
  *living(): Generator<LivingMachine> {
    for (const machine of this.#living) yield livingMachine(machine);
  }

  /** The machine of a worker, if it lives. A second one of its name is another. */
  livingOf(worker: string): LivingMachine | undefined {
    const machine = this.#machines.get(worker);
    return machine === undefined || machine.endedAt !== undefined ? undefined : livingMachine(machine);
  }

  #all(): [worker: string, machine: Machine][] {
    return [...this.#machines, ...this.#seconds, ...this.#former];
  }

  /** Until when anything of a zone cannot be seen. */
  outageUntil(zone: string | undefined): number {
    return (zone === undefined ? undefined : this.#outages.get(zone)) ?? 0;
  }

  /** A zone has an outage from now on. */
  loseZone(zone: string, forMs: number): void {
    this.#world.tell("cloud", `zone ${zone} has an outage for ${Math.round(forMs / 1_000)} s`);
    this.#outages.set(zone, this.#world.now + forMs);
  }

  /** Others use up the account's calls from now on. */
  runShort(forMs: number): void {
    this.#world.tell("cloud", `others use up its calls for ${Math.round(forMs / 1_000)} s`);
    this.#scarceUntil = this.#world.now + forMs;
  }

  /** Takes a spot machine back, if it is one. */
  takeBack(worker: string): boolean {
    const machine = this.#machines.get(worker);
    if (machine === undefined || !machine.spot || machine.endedAt !== undefined) return false;
    this.end(worker, "its provider takes it back", { class: "capacity", text: "it was taken back" });
    return true;
  }

  #isOut(zone: string | null | undefined): boolean {
    return this.#world.now < this.outageUntil(zone ?? undefined) && !this.#world.quiet;
  }

  /** The workers of machines that were promised, and are still to come to be. */
  get toCome(): string[] {
    return [...this.#toCome.keys()];
  }

  /** Until when it refuses every call. */
  get refusesUntil(): number {
    return this.#refusal?.until ?? 0;
  }

  /** From now on it refuses every call, for so long or until nothing fails any more. */
  refuseAll({ forMs, failure }: Refusal): void {
    this.#world.tell("cloud", `it refuses every call for ${forMs / 1_000} s (${failure.class})`);
    this.#refusal = { until: this.#world.now + forMs, failure };
  }

  /** What it answers to any call while it refuses all. */
  #called(what: "create" | "destroy" | "list"): { kind: "failed"; failure: ProviderFailure } | undefined {
    const { now, quiet } = this.#world;
    this.calls.push({ what, at: now });
    const refuses = this.#refusal !== undefined && now < this.#refusal.until && !quiet;
    if (refuses && this.#refusal) return { kind: "failed", failure: this.#refusal.failure };
    if (what === "destroy" || now >= this.#scarceUntil || quiet || this.#chance.chance(0.5)) return undefined;
    return { kind: "failed", failure: { class: "rate_limit", text: "too many calls", retryAfterMs: 2_000 } };
  }

  async create(intent: CreateWorker): Promise<CreateAnswer> {
    const world = this.#world;
    const { worker } = intent;
    const refused = this.#called("create");
    if (refused !== undefined) return refused;
    this.#checkBytes(intent);
    this.#forget(worker);
    const known = this.#machines.get(worker)?.instance ?? this.#toCome.get(worker);
    if (known !== undefined) return { kind: "created", instance: known };
    if (world.strikes("pendingCreate", this.#chance) && !this.#pending.has(worker)) {
      this.#pending.add(worker);
      world.tell(worker, "the cloud works on its machine");
      if (this.#chance.chance(0.5)) this.#make(intent);
      return { kind: "pending", retryAfterMs: this.#chance.between(100, 10_000), text: "it works on it" };
    }
    const refusal = this.#refuses(intent);
    if (refusal !== undefined) {
      world.tell(worker, `the cloud makes no machine for it: ${refusal.text}`);
      return { kind: "failed", failure: refusal };
    }
    if (world.strikes("refusedCreate")) {
      world.tell(worker, "the cloud refuses to create its machine");
      return { kind: "failed", failure: { class: "capacity", text: "no capacity" } };
    }
    if (world.strikes("lateMachine")) return { kind: "created", instance: this.#makeLate(intent) };
    if (!world.strikes("lostCreate")) return { kind: "created", instance: this.#make(intent) };
    const slow = world.chance.chance(0.5);
    world.tell(worker, `the answer to its create call is lost${slow ? ", which takes effect late" : ""}`);
    world.time.after(slow ? world.chance.between(1, SLOWEST_CREATE_MS) : 0, () => void this.#make(intent));
    return { kind: "failed", failure: { class: "temporary", text: "connection reset" } };
  }

  /** The same token comes with the same bytes, or the cloud would refuse it (clouds.md#same-bytes). */
  #checkBytes({ worker, type, zone, image, tags, provider, frozen, notAfter }: CreateWorker): void {
    const account = "credentials" in provider ? { ...provider, credentials: null } : provider.kind;
    const bytes = JSON.stringify([type, zone, image, tags, account, frozen, notAfter]);
    const known = this.#bytes.get(worker) ?? bytes;
    this.#bytes.set(worker, known);
    if (known !== bytes) this.#world.violated(`8: the token of ${worker} comes with other bytes`, worker);
  }

  /** The name of a machine that has ended is free again, where the cloud goes by names. */
  #forget(worker: string): void {
    const machine = this.#machines.get(worker);
    if (machine?.endedAt === undefined || !this.#namesAreFree) return;
    this.#former.push([worker, machine]);
    this.#machines.delete(worker);
  }

  /**
   * An error comes first, then the quota, and then what there is
   * (pool.md#faults-of-a-provider).
   */
  #refuses({ instanceType, zone }: CreateWorker): ProviderFailure | undefined {
    if (this.#isOut(zone)) return { class: "capacity", scope: "zone", text: `zone ${zone} is down` };
    const { quota = Number.POSITIVE_INFINITY, outOfCapacity } = this.#account;
    if (this.#world.strikes("createError")) return { class: "temporary", text: "internal server error" };
    if (this.#living.size >= quota) return { class: "quota", text: `${quota} machines are allowed` };
    return instanceType === outOfCapacity ? { class: "capacity", text: "none left" } : undefined;
  }

  #isDeadOnArrival({ instanceType }: CreateWorker): boolean {
    const { type, forMs = 0 } = this.#account.deadOnArrival ?? {};
    return instanceType === type && this.#world.now < this.#beganAt + forMs;
  }

  #make(intent: CreateWorker): Instance {
    const known = this.#machines.get(intent.worker)?.instance ?? this.#toCome.get(intent.worker);
    return known ?? this.#begin(intent, this.#promise(intent), false);
  }

  /** Answers with a machine that comes to be much later. */
  #makeLate(intent: CreateWorker): Instance {
    const { time, chance } = this.#world;
    const { worker } = intent;
    const instance = this.#promise(intent);
    this.#world.tell(worker, "the cloud promises a machine, which comes late");
    this.#toCome.set(worker, instance);
    time.after(chance.between(LATE_FROM_MS, LATE_UNTIL_MS), () => {
      this.#toCome.delete(worker);
      this.#begin(intent, instance, true);
    });
    return instance;
  }

  #promise({ worker, instanceType, pool, zone }: CreateWorker): Instance {
    const nth = this.#former.filter(([name]) => name === worker).length + 1;
    return {
      ...(zone === null ? {} : { zone }),
      id: nth === 1 ? `i-${worker}` : `i-${worker}-${nth}`,
      name: worker,
      address: null,
      state: "running",
      instanceType,
      tags: { [WORKER_TAG]: worker, [POOL_TAG]: pool },
      createdAt: new Date(this.#world.now).toISOString(),
    };
  }

  #begin(intent: CreateWorker, instance: Instance, late: boolean): Instance {
    const { worker } = intent;
    const common = {
      bornAt: this.#world.now,
      endedAt: undefined,
      missedUntil: 0,
      missableFrom: 0,
      listedSince: undefined,
      isListed: false,
      spot: intent.type.preemptible === true,
    };
    const machine: Machine = { ...common, missedAt: [], instance, late, second: false };
    this.#machines.set(worker, machine);
    this.#living.add(machine);
    // A name has one at most: another would take the place of the first in all listings.
    if (this.#world.strikes("secondMachine", this.#chance) && !this.#seconds.has(worker)) {
      const other = { ...instance, id: `${instance.id}-second` };
      const second: Machine = { ...common, missedAt: [], instance: other, late: false, second: true };
      this.#seconds.set(worker, second);
      this.#living.add(second);
      this.#world.tell(worker, `the cloud creates ${other.id}, a second machine of its name`);
    }
    this.#world.tell(worker, `the cloud creates ${instance.id}`);
    const isWithdrawn = intent.provider.kind !== "http" && this.#world.strikes("withdrawn", this.#chance);
    this.#boot.boot(worker, isWithdrawn || this.#isDeadOnArrival(intent));
    if (isWithdrawn) {
      this.#world.time.after(this.#chance.between(1, 30_000), () =>
        this.end(worker, "its provider has no room for it", { class: "capacity", text: "no room after all" }),
      );
    }
    return instance;
  }

  /**
   * Looks for one machine, by its id if that is known: what it says is true (pool.md#faults-of-a-provider).
   */
  async find(worker: string, id: string | null): Promise<FindAnswer> {
    if (this.#called("list") !== undefined) return { kind: "unsure", text: "it is down" };
    const second = this.#seconds.get(worker);
    const machine = id !== null && second?.instance.id === id ? second : this.#machines.get(worker);
    if (this.#isOut(machine?.instance.zone)) return { kind: "unsure", text: "its zone is down" };
    if (machine === undefined || machine.endedAt !== undefined) return { kind: "none" };
    return { kind: "found", instance: machine.instance };
  }

  async list(_known: readonly unknown[]): Promise<ListAnswer> {
    const refused = this.#called("list");
    if (refused !== undefined) return refused;
    const { now: beganAt } = this.#world;
    if (this.#world.strikes("listError", this.#chance))
      return { kind: "failed", failure: { class: "temporary", text: "internal error" } };
    const items: Instance[] = [];
    const machines = this.#all();
    // Of two machines of one name either may come first.
    if (this.#seconds.size > 0 && this.#chance.chance(0.5)) machines.reverse();
    for (const [worker, machine] of machines) {
      if (this.#isOut(machine.instance.zone)) continue;
      const young = beganAt - machine.bornAt < LIST_CONSISTENCY_MS && !this.#world.quiet;
      if (young && this.#world.chance.chance(0.5)) continue;
      if (machine.endedAt !== undefined && beganAt - machine.endedAt >= LIST_CONSISTENCY_MS) continue;
      if (machine.endedAt === undefined && this.#misses(worker, machine)) continue;
      // Who was told of a listing may have died before it could pass it on, and so may who came right after.
      machine.listedSince ??= beganAt;
      const isOld = beganAt - machine.listedSince >= LISTED_TWICE_MS;
      machine.isListed ||= isOld && beganAt >= this.#world.readOnlyUntil;
      items.push(machine.instance);
    }
    const zones = [...this.#outages.keys()].filter((zone) => this.#isOut(zone));
    const budget = beganAt < this.#scarceUntil ? { budget: { limit: 100, remaining: 5 } } : {};
    const partial = zones.length === 0 ? {} : { partial: { why: `${zones} cannot be read`, zones } };
    return { kind: "listed", beganAt, items, ...partial, ...budget };
  }

  /**
   * A machine that exists can be missing from all listings for a time, which is shorter than the consistency
   * window.
   */
  #misses(worker: string, machine: Machine): boolean {
    const { now, chance } = this.#world;
    if (now >= machine.missableFrom && this.#world.strikes("omission")) {
      machine.missedUntil = now + chance.between(1, LIST_CONSISTENCY_MS - 1);
      machine.missableFrom = now + BETWEEN_OMISSIONS_MS;
      this.#world.tell(worker, "a listing misses its machine");
    }
    if (now >= machine.missedUntil) return false;
    machine.missedAt.push(now);
    return true;
  }

  async destroy(worker: string, instance: string): Promise<DestroyAnswer> {
    const refused = this.#called("destroy");
    if (refused !== undefined) return refused;
    const machines = [this.#machines.get(worker), this.#seconds.get(worker)];
    const machine = machines.find((one) => one?.instance.id === instance);
    if (machine === undefined || machine.endedAt !== undefined) return { kind: "asked" };
    if (this.#world.strikes("destroyError")) {
      this.#world.tell(worker, "the cloud fails to destroy its machine");
      return { kind: "failed", failure: { class: "temporary", text: "internal server error" } };
    }
    if (this.#world.strikes("idleDestroy")) {
      this.#world.tell(worker, "the cloud says that it destroys the machine, and does nothing");
      return { kind: "asked" };
    }
    this.#world.time.after(this.#world.chance.between(10, 5_000), () => {
      if (machine.second) this.#endSecond(worker, machine);
      else this.end(worker, "it is destroyed");
    });
    return { kind: "asked" };
  }

  #endSecond(worker: string, machine: Machine): void {
    this.#world.tell(worker, `${machine.instance.id} is destroyed`);
    machine.endedAt ??= this.#world.now;
    this.#living.delete(machine);
    machine.instance = { ...machine.instance, state: "terminated" };
  }

  /** A machine ends: destroyed, or by itself. */
  end(worker: string, why: string, fault?: Fault): void {
    const machine = this.#machines.get(worker);
    if (machine === undefined || machine.endedAt !== undefined) return;
    machine.endedAt = this.#world.now;
    this.#living.delete(machine);
    const endedAt = fault === undefined ? {} : { fault, endedAt: new Date(this.#world.now).toISOString() };
    machine.instance = { ...machine.instance, state: "terminated", ...endedAt };
    this.#boot.end(worker, why);
  }
}

function livingMachine({ instance, late, second, bornAt }: Machine): LivingMachine {
  return { worker: instance.name, instance: instance.id, late, second, bornAt };
}
