// The state of a fake cloud with a JSON API: machines, which change as its clock goes on, and faults by name.
import { SEED } from "../../chance/seed.ts";

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;

/** `starts`: it is being made. `ends`: it is on its way out. `ended`: it costs nothing any more. */
export type Phase = "starts" | "runs" | "ends" | "stopped" | "ended";

export interface FakeMachine {
  id: string;
  name: string;
  type: string;
  zone: string;
  spot: boolean;
  labels: Record<string, string>;
  userData: string;
  /** The request as it was sent. */
  request: Record<string, unknown>;
  phase: Phase;
  madeAt: number;
  runsAt: number | undefined;
  /** When its end began. */
  endsAt: number | undefined;
  endedAt: number | undefined;
  /** Never runs (case 62). */
  isStuck: boolean;
  isProtected: boolean;
  /** What its creation ends with later on, if it fails. */
  failsWith: string | undefined;
  /** What it was, for listings that are late. */
  history: { at: number; phase: Phase }[];
}

/** An answer of an API that is not a success. */
export class CloudFault extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, string>;

  constructor(status: number, body: unknown, headers: Record<string, string> = {}) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** Faults by name, which may be changed at any time. */
export interface Faults {
  /** Calls that fail so, one after the other, before they have any effect. */
  errors: CloudFault[];
  /** A part of all calls that fails so, by chance from one seed. */
  errorRate: { error: CloudFault; part: number } | undefined;
  /** Answers that are never given, although their calls have their effect. */
  lostAnswers: number;
  /** Answers that are replaced, although their calls have their effect. */
  bodies: ("html" | "html-503" | "cut" | "huge")[];
  /** Answers have fields that nobody knows. */
  unknownFields: boolean;
  /** Zones that are out. */
  zoneOutage: Set<string>;
  /** Zones that have no room for anything. */
  fullZones: Set<string>;
  /** `TYPE` or `TYPE@ZONE`. */
  noCapacity: Set<string>;
  /** The next machines fail so after they were promised. */
  failLater: string[];
  /** The next machines never run. */
  stuck: number;
  /** New machines are not shown for this long, and states are those of this long ago. */
  listDelayMs: number;
  staleMs: number;
  /** The account's rates are enforced. */
  enforcesRates: boolean;
}

export interface CloudOptions {
  /** The time, which stands still until `advance`. Absent: as the clock of this machine says. */
  startAt?: number;
  /** How long a machine takes to run, and to end. */
  bootMs?: number;
  endMs?: number;
  onBoot?: (machine: FakeMachine) => void;
  onEnd?: (machine: FakeMachine) => void;
}

/** A call as it was made. */
export interface FakeCall {
  method: string;
  path: string;
  at: number;
  status: number;
  body: string;
}

type NewMachine = Pick<FakeMachine, "id" | "name" | "type" | "zone" | "labels" | "userData" | "request"> & {
  spot?: boolean;
};

export class FakeCloud {
  readonly machines = new Map<string, FakeMachine>();
  /** Machines that are shown no more, for the bill. */
  readonly former: FakeMachine[] = [];
  readonly calls: FakeCall[] = [];
  readonly faults: Faults = {
    errors: [],
    errorRate: undefined,
    lostAnswers: 0,
    bodies: [],
    unknownFields: false,
    zoneOutage: new Set(),
    fullZones: new Set(),
    noCapacity: new Set(),
    failLater: [],
    stuck: 0,
    listDelayMs: 0,
    staleMs: 0,
    enforcesRates: false,
  };
  readonly #options: CloudOptions;
  #advanced = 0;
  #ids = 0;
  #dice = SEED;

  constructor(options: CloudOptions = {}) {
    this.#options = options;
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

  /** Changes the phases whose time has come. */
  settle(): void {
    const { bootMs = 10 * SECOND_MS, endMs = 5 * SECOND_MS } = this.#options;
    for (const machine of this.machines.values()) {
      const { phase, isStuck, madeAt, failsWith } = machine;
      const bootsAt = isStuck ? Number.POSITIVE_INFINITY : madeAt + bootMs;
      if (phase === "starts" && this.now >= bootsAt) {
        if (failsWith === undefined) this.#run(machine, bootsAt);
        else this.failed(machine, bootsAt);
      }
      if (machine.phase === "ends" && this.now >= (machine.endsAt ?? 0) + endMs) {
        this.end(machine, (machine.endsAt ?? 0) + endMs);
      }
    }
  }

  add(machine: NewMachine): FakeMachine {
    const isStuck = this.faults.stuck > 0;
    if (isStuck) this.faults.stuck -= 1;
    const added: FakeMachine = {
      spot: false,
      ...machine,
      phase: "starts",
      madeAt: this.now,
      runsAt: undefined,
      endsAt: undefined,
      endedAt: undefined,
      isStuck,
      isProtected: false,
      failsWith: this.faults.failLater.shift(),
      history: [{ at: this.now, phase: "starts" }],
    };
    this.machines.set(added.id, added);
    return added;
  }

  /** A machine that was promised does not come. A cloud whose machines then stay stopped overrides this. */
  failed(machine: FakeMachine, at: number): void {
    this.end(machine, at);
  }

  /** Begins the end of a machine. */
  stop(machine: FakeMachine): void {
    if (machine.phase === "ends" || machine.phase === "ended") return;
    machine.endsAt = this.now;
    this.#enter(machine, "ends", this.now);
  }

  /** The machine is off, and goes on costing what its cloud takes for that. */
  halt(machine: FakeMachine, at: number): void {
    this.#enter(machine, "stopped", at);
  }

  end(machine: FakeMachine, at: number): void {
    machine.endedAt = at;
    machine.endsAt ??= at;
    this.#enter(machine, "ended", at);
    if (!this.showsEnded) this.machines.delete(machine.id);
    this.former.push(machine);
    this.#options.onEnd?.(machine);
  }

  /** Whether machines that have ended are still shown. */
  get showsEnded(): boolean {
    return false;
  }

  /** Every machine that there has ever been. */
  get all(): FakeMachine[] {
    return [...new Set([...this.machines.values(), ...this.former])];
  }

  get living(): FakeMachine[] {
    return [...this.machines.values()].filter(({ phase }) => phase !== "ended");
  }

  /** The living machines with this name. */
  byName(name: string): FakeMachine[] {
    return this.living.filter((machine) => machine.name === name);
  }

  /** The fake's only machine with this name. */
  theOne(name: string): FakeMachine {
    const [one, ...others] = this.all.filter((machine) => machine.name === name);
    if (one === undefined || others.length > 0) throw new Error(`there are ${others.length} more of ${name}`);
    return one;
  }

  /** The phase that an answer shows: that of a while ago, if answers are late. Undefined: not shown yet. */
  shown({ madeAt, history }: FakeMachine): Phase | undefined {
    const { listDelayMs, staleMs } = this.faults;
    if (this.now < madeAt + listDelayMs) return undefined;
    return (history.findLast(({ at }) => at <= this.now - staleMs) ?? history[0])?.phase;
  }

  hasRoom(type: string, zone: string): boolean {
    const { noCapacity, fullZones } = this.faults;
    return !fullZones.has(zone) && !noCapacity.has(type) && !noCapacity.has(`${type}@${zone}`);
  }

  newId(): number {
    this.#ids += 1;
    return this.#ids;
  }

  /** A number below 1, by chance from one seed. */
  chance(): number {
    this.#dice = (Math.imul(this.#dice, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#dice / 2 ** 32;
  }

  #run(machine: FakeMachine, at: number): void {
    machine.runsAt = at;
    this.#enter(machine, "runs", at);
    this.#options.onBoot?.(machine);
  }

  #enter(machine: FakeMachine, phase: Phase, at: number): void {
    machine.phase = phase;
    machine.history.push({ at, phase });
  }
}

/** How fast an account may call: calls at once, and more calls a second, by the name of a bucket. */
export class Buckets {
  readonly #cloud: FakeCloud;
  readonly #levels = new Map<string, { tokens: number; at: number }>();

  constructor(cloud: FakeCloud) {
    this.#cloud = cloud;
  }

  /** What is left after one call. Undefined: there was nothing left. */
  take(name: string, burst: number, perSecond: number): number | undefined {
    const { now, faults } = this.#cloud;
    const { tokens, at } = this.#levels.get(name) ?? { tokens: burst, at: now };
    const level = Math.min(burst, tokens + ((now - at) * perSecond) / SECOND_MS);
    const isOver = level < 1 && faults.enforcesRates;
    const left = Math.max(0, isOver ? level : level - 1);
    this.#levels.set(name, { tokens: left, at: now });
    return isOver ? undefined : Math.floor(left);
  }

  /** Another tool uses up all calls but these. */
  leave(name: string, tokens: number): void {
    this.#levels.set(name, { tokens, at: this.#cloud.now });
  }
}
