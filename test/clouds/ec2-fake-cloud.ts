// The state of a fake EC2: machines, their disks and spot requests, which change as its clock goes on.

import { SEED } from "../chance/seed.ts";
import type { KnownKeys, SkewAnswer } from "./ec2-fake-signature.ts";
import { Ec2Fault } from "./ec2-fake-wire.ts";
import { quotaGroupOf } from "./ec2-families.ts";

export const REGION = "eu-west-1";
export const ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"] as const;
export const ACCOUNT = "123456789012";
export const KEYS: KnownKeys = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const GIB_PER_HOUR = 0.08 / 730;
/** How long a machine that has ended is shown. */
const SHOWN_AFTER_END_MS = HOUR_MS;
/** A running machine is paid for at least this long. */
const LEAST_PAID_S = 60;

export type State = "pending" | "running" | "shutting-down" | "terminated";
const STATE_CODES: Record<State, number> = { pending: 0, running: 16, "shutting-down": 32, terminated: 48 };

export interface Reason {
  code: string;
  message: string;
}

export interface FakeVolume {
  id: string;
  device: string;
  sizeGib: number;
  deleteOnTermination: boolean;
  tags: Record<string, string>;
}

export interface FakeSpotRequest {
  id: string;
  type: string;
  state: "active" | "closed";
  tags: Record<string, string>;
}

export interface FakeInstance {
  id: string;
  token: string | undefined;
  image: string;
  type: string;
  zone: string;
  subnet: string;
  state: State;
  launchedAt: number;
  runsAt: number | undefined;
  /** When it left the state `running`, or would have. */
  stoppedAt: number | undefined;
  endedAt: number | undefined;
  reason: Reason | undefined;
  /** `StateTransitionReason`. */
  transition: string;
  tags: Record<string, string>;
  userData: string;
  shutdownBehavior: string;
  hopLimit: number;
  httpTokens: string;
  profile: string | undefined;
  securityGroups: string[];
  publicIp: string | undefined;
  privateIp: string;
  networkTags: Record<string, string>;
  volumes: FakeVolume[];
  spot: FakeSpotRequest | undefined;
  /** What it ends with instead of running. */
  failsWith: Reason | undefined;
  /** Never leaves the state `pending` (case 62). */
  isStuck: boolean;
  isProtected: boolean;
  /** When EC2 takes it away: what its metadata say. */
  takenAt: number | undefined;
  /** Its states so far, for listings that are late. */
  history: { at: number; state: State }[];
}

export interface FakeImage {
  rootDevice: string;
  snapshotGib: number;
  deleteOnTermination: boolean;
  isAvailable: boolean;
  isAllowed: boolean;
}

export interface FakeType {
  vcpus: number;
  memoryGib: number;
  arch?: "arm64";
  price: number;
  zones: readonly string[];
}

/** Faults by name, which may be changed at any time. */
export interface Ec2Faults {
  /** Calls that fail with this code, one after the other, before they have any effect. */
  errors: string[];
  /** A part of all calls that fails with this code, by chance from one seed. */
  errorRate: { code: string; part: number } | undefined;
  /** Answers that are never given, although their calls have their effect. */
  lostAnswers: number;
  /** Answers that are replaced, although their calls have their effect. */
  bodies: ("html" | "html-503" | "cut" | "huge")[];
  /** Answers have fields that nobody knows. */
  unknownFields: boolean;
  /** Zones that are out. */
  zoneOutage: Set<string>;
  /** What calls fail with because of that. */
  outageCode: string;
  /** `TYPE`, `TYPE@ZONE` or `TYPE@ZONE:spot`. */
  noCapacity: Set<string>;
  /** The next machines end so instead of running. */
  failLater: Reason[];
  /** The next machines never run. */
  stuck: number;
  /** New machines are not shown for this long, and states are those of this long ago. */
  listDelayMs: number;
  staleMs: number;
  /** The first page of a listing is empty, and has a token. */
  emptyPages: boolean;
  /** Actions that these keys may not do. */
  denied: Set<string>;
  noSpotRole: boolean;
  isPendingVerification: boolean;
  noDefaultVpc: boolean;
  /** vCPUs by quota group, `:spot` apart. */
  vcpuLimits: Record<string, number>;
  /** Subnets without a free address, and how EC2 says so. */
  fullSubnets: Map<string, "code" | "text">;
  skewAnswer: SkewAnswer;
  /** The account's rates are enforced. */
  enforcesRates: boolean;
}

const noFaults = (): Ec2Faults => ({
  errors: [],
  errorRate: undefined,
  lostAnswers: 0,
  bodies: [],
  unknownFields: false,
  zoneOutage: new Set(),
  outageCode: "Unavailable",
  noCapacity: new Set(),
  failLater: [],
  stuck: 0,
  listDelayMs: 0,
  staleMs: 0,
  emptyPages: false,
  denied: new Set(),
  noSpotRole: false,
  isPendingVerification: false,
  noDefaultVpc: false,
  vcpuLimits: {},
  fullSubnets: new Map(),
  skewAnswer: "RequestExpired",
  enforcesRates: false,
});

export interface Ec2Options {
  /** The time, which stands still until `advance`. Absent: as the clock of this machine says. */
  startAt?: number;
  /** How long a machine takes to run, and to end. */
  bootMs?: number;
  endMs?: number;
  onBoot?: (instance: FakeInstance) => void;
  onEnd?: (instance: FakeInstance) => void;
}

/** A call as it was made. */
export interface FakeCall {
  action: string;
  at: number;
  /** The code of the error that was answered. Undefined: none. */
  code: string | undefined;
  body: string;
}

export class Ec2Cloud {
  readonly instances = new Map<string, FakeInstance>();
  readonly volumes = new Map<string, FakeVolume>();
  readonly spotRequests = new Map<string, FakeSpotRequest>();
  readonly calls: FakeCall[] = [];
  readonly faults: Ec2Faults = noFaults();
  readonly keys: KnownKeys[] = [{ ...KEYS }];
  readonly images: Record<string, FakeImage> = {
    "ami-0a1b2c3d4e5f60718": image({ rootDevice: "/dev/sda1", deleteOnTermination: false }),
    "ami-0ffffffffffffffff": image({ rootDevice: "/dev/xvda" }),
    "ami-0eeeeeeeeeeeeeeee": image({ isAvailable: false }),
    "ami-0dddddddddddddddd": image({ isAllowed: false }),
  };
  readonly types: Record<string, FakeType> = {
    "m7i.large": { vcpus: 2, memoryGib: 8, price: 0.1, zones: ZONES },
    "m7i.xlarge": { vcpus: 4, memoryGib: 16, price: 0.2, zones: ZONES },
    "c7g.large": { vcpus: 2, memoryGib: 4, arch: "arm64", price: 0.08, zones: ["eu-west-1a", "eu-west-1b"] },
    "g5.xlarge": { vcpus: 4, memoryGib: 16, price: 1.1, zones: ["eu-west-1b"] },
  };
  /** Prices of spot machines by `TYPE@ZONE`. */
  readonly spotPrices: Record<string, number> = {
    "m7i.large@eu-west-1a": 0.0312,
    "m7i.large@eu-west-1b": 0.0279,
    "m7i.large@eu-west-1c": 0.0444,
    "c7g.large@eu-west-1a": 0.0301,
  };
  /** Subnets by id, with their zones. The first of each zone is the default one. */
  readonly subnets: Record<string, string> = {
    "subnet-0000000a": "eu-west-1a",
    "subnet-0000000b": "eu-west-1b",
    "subnet-0000000c": "eu-west-1c",
    "subnet-1111111a": "eu-west-1a",
    "subnet-1111111b": "eu-west-1b",
  };
  /** How many vCPUs Service Quotas says that the account may have. Nothing is refused because of it. */
  readonly serviceQuotas: Record<string, number> = { "L-1216C47A": 64, "L-34B43A08": 64 };
  /** What the consoles of machines have shown, by id. */
  readonly consoles = new Map<string, string | Uint8Array>();
  /** Whether machines are of a type that shows its latest output. */
  hasLatestConsole = true;
  readonly securityGroups = ["sg-00000001", "sg-00000002"];
  readonly profiles = ["drover-machines"];
  readonly #options: Required<Pick<Ec2Options, "bootMs" | "endMs">> & Ec2Options;
  #advanced = 0;
  #ids = 0;
  #dice = SEED;

  constructor(options: Ec2Options = {}) {
    this.#options = { bootMs: 20 * SECOND_MS, endMs: 30 * SECOND_MS, ...options };
  }

  get now(): number {
    return (this.#options.startAt ?? Date.now()) + this.#advanced;
  }

  /** Lets time go by, step by step, so that nothing that happens in between is passed over. */
  advance(ms: number): void {
    const until = this.#advanced + ms;
    while (this.#advanced < until) {
      this.#advanced = Math.min(until, this.#advanced + SECOND_MS);
      this.settle();
    }
  }

  /** Changes the states whose time has come. */
  settle(): void {
    const { bootMs, endMs } = this.#options;
    const isOver = (at: number) => this.now >= at;
    for (const instance of this.instances.values()) {
      const bootsAt = instance.isStuck ? Infinity : instance.launchedAt + bootMs;
      if (instance.state === "pending" && isOver(bootsAt)) this.#boot(instance, bootsAt);
      const { takenAt = Infinity } = instance;
      if (instance.state === "running" && isOver(takenAt)) this.#take(instance, takenAt);
      const endsAt = (instance.stoppedAt ?? Infinity) + endMs;
      if (instance.state === "shutting-down" && isOver(endsAt)) this.#end(instance, endsAt);
      if (isOver((instance.endedAt ?? Infinity) + SHOWN_AFTER_END_MS)) this.instances.delete(instance.id);
    }
  }

  add(instance: FakeInstance): void {
    const reason = this.faults.failLater.shift();
    const isStuck = this.faults.stuck > 0;
    if (isStuck) this.faults.stuck -= 1;
    this.instances.set(instance.id, { ...instance, failsWith: reason, isStuck });
    for (const volume of instance.volumes) this.volumes.set(volume.id, volume);
    if (instance.spot !== undefined) this.spotRequests.set(instance.spot.id, instance.spot);
  }

  /** Begins the end of a machine, as by `TerminateInstances`. */
  terminate(instance: FakeInstance): void {
    const message = "Client.UserInitiatedShutdown: User initiated shutdown";
    this.#stop(instance, this.now, { code: "Client.UserInitiatedShutdown", message }, "User initiated");
  }

  /** The machine switches itself off. */
  powerOff(id: string): void {
    const instance = this.named(id);
    const message = "Client.InstanceInitiatedShutdown: Instance initiated shutdown";
    const reason = { code: "Client.InstanceInitiatedShutdown", message };
    if (instance.shutdownBehavior !== "terminate")
      throw new Error(`${id} would be stopped, and go on costing`);
    this.#stop(instance, this.now, reason, "Instance initiated");
  }

  /** Gives notice that a spot machine is taken away in two minutes. */
  interrupt(id: string, inMs = 120 * SECOND_MS): void {
    const instance = this.named(id);
    if (instance.spot === undefined) throw new Error(`${id} is no spot machine`);
    instance.takenAt = this.now + inMs;
  }

  named(id: string): FakeInstance {
    const instance = this.instances.get(id);
    if (instance === undefined) throw new Error(`there is no ${id}`);
    return instance;
  }

  /** The machine of a token, if there is one. */
  byToken(token: string): FakeInstance[] {
    return [...this.instances.values()].filter((instance) => instance.token === token);
  }

  get living(): FakeInstance[] {
    return [...this.instances.values()].filter(({ state }) => state !== "terminated");
  }

  newId(prefix: string): string {
    this.#ids += 1;
    return `${prefix}-${this.#ids.toString(16).padStart(17, "0")}`;
  }

  /** A number below 1, by chance from one seed. */
  chance(): number {
    this.#dice = (Math.imul(this.#dice, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#dice / 2 ** 32;
  }

  /** The state that a listing shows: that of a while ago, if listings are late. Undefined: not shown yet. */
  shown(instance: FakeInstance): State | undefined {
    const { listDelayMs, staleMs } = this.faults;
    if (this.now < instance.launchedAt + listDelayMs) return undefined;
    const then = this.now - staleMs;
    return instance.history.findLast(({ at }) => at <= then)?.state ?? instance.history[0]?.state;
  }

  /** How many vCPUs run of a quota group. */
  vcpusOf(group: string, isSpot: boolean): number {
    return this.living
      .filter(({ type, spot }) => quotaGroupOf(type) === group && (spot !== undefined) === isSpot)
      .reduce((sum, { type }) => sum + (this.types[type]?.vcpus ?? 0), 0);
  }

  /** Dollars for a machine so far: while it ran, by the second, and at least a minute. */
  bill(instance: FakeInstance): number {
    const { runsAt, stoppedAt, type, zone, spot, volumes } = instance;
    if (runsAt === undefined) return 0;
    const seconds = Math.max(LEAST_PAID_S, Math.ceil(((stoppedAt ?? this.now) - runsAt) / SECOND_MS));
    const price = this.types[type]?.price ?? 0;
    const perHour = spot === undefined ? price : (this.spotPrices[`${type}@${zone}`] ?? price);
    const disks = volumes.reduce((sum, { sizeGib }) => sum + sizeGib * GIB_PER_HOUR, 0);
    return ((perHour + disks) * seconds) / 3_600;
  }

  /** Disks that no living machine has: they cost money for ever. */
  get leftVolumes(): FakeVolume[] {
    const used = new Set(this.living.flatMap(({ volumes }) => volumes.map(({ id }) => id)));
    return [...this.volumes.values()].filter(({ id }) => !used.has(id));
  }

  failIfOut(zones: Iterable<string>): void {
    for (const zone of zones) {
      if (!this.faults.zoneOutage.has(zone)) continue;
      throw new Ec2Fault(this.faults.outageCode, "The server is overloaded and can't handle the request.");
    }
  }

  #boot(instance: FakeInstance, at: number): void {
    const { failsWith } = instance;
    if (failsWith !== undefined) {
      instance.reason = failsWith;
      instance.transition = `${failsWith.code}: ${failsWith.message}`;
      this.#end(instance, at);
      return;
    }
    instance.runsAt = at;
    instance.reason = undefined;
    this.#enter(instance, "running", at);
    this.#options.onBoot?.(instance);
  }

  #take(instance: FakeInstance, at: number): void {
    const message = "Server.SpotInstanceTermination: Instance was terminated due to a Spot interruption";
    this.#stop(instance, at, { code: "Server.SpotInstanceTermination", message }, "Service initiated");
  }

  #stop(instance: FakeInstance, at: number, reason: Reason, who: string): void {
    if (instance.state === "terminated" || instance.state === "shutting-down") return;
    instance.stoppedAt = at;
    instance.reason = reason;
    const when = new Date(at)
      .toISOString()
      .replace("T", " ")
      .replace(/\.\d+Z$/, " GMT");
    instance.transition = `${who} (${when})`;
    this.#enter(instance, "shutting-down", at);
  }

  #end(instance: FakeInstance, at: number): void {
    instance.endedAt = at;
    this.#enter(instance, "terminated", at);
    for (const { id, deleteOnTermination } of instance.volumes) {
      if (deleteOnTermination) this.volumes.delete(id);
    }
    if (instance.spot !== undefined) instance.spot.state = "closed";
    this.#options.onEnd?.(instance);
  }

  #enter(instance: FakeInstance, state: State, at: number): void {
    instance.state = state;
    instance.history.push({ at, state });
  }
}

function image(own: Partial<FakeImage>): FakeImage {
  const usual = { rootDevice: "/dev/sda1", snapshotGib: 8, deleteOnTermination: true };
  return { ...usual, isAvailable: true, isAllowed: true, ...own };
}

export function stateCode(state: State): number {
  return STATE_CODES[state];
}
