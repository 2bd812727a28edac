import { FAULTS, type Fault } from "./faults.ts";
import { Chance } from "./rng.ts";
import { Timeline } from "./timeline.ts";

/** V8 has this limit; the types of the platform do not name it. */
const traced = Error as ErrorConstructor & { stackTraceLimit: number };

/** What a fault leads to. Nobody reads where it was thrown, and to find out costs more than most steps. */
export class Faulted extends Error {
  constructor(message?: string) {
    const { stackTraceLimit } = traced;
    traced.stackTraceLimit = 0;
    super(message);
    traced.stackTraceLimit = stackTraceLimit;
  }
}

/** A request that got no reply: all that a caller can know. */
export class NoReply extends Faulted {}

/** Something that must never be was found to be. */
export class Violation extends Error {
  readonly about: string[];

  constructor(message: string, about: string[]) {
    super(message);
    this.about = about;
  }
}

/** One line of the story: when, about whom, what. */
export interface Line {
  at: number;
  about: string;
  text: string;
}

const REPLY_TIMEOUT_MS = 5_000;
const SLOWEST_MS = 20_000;

/** Time, chance, the network and the story of one simulation. */
export class World {
  readonly time = new Timeline();
  readonly chance: Chance;
  readonly story: Line[] = [];
  readonly #faults: Set<Fault>;
  readonly #rates: Record<Fault, number>;
  /** No fault happens any more: what is owed must now come about. */
  quiet = false;
  /** Until then nothing of the control plane runs, and nobody is answered. */
  awayUntil = 0;
  /** By how much the control plane's clock is ahead. */
  planeAheadMs = 0;
  /** By how much that clock has jumped, in all. */
  planeJumpedMs = 0;
  /** The latest time that clock has shown before it went back. */
  planeWasAt = Number.NEGATIVE_INFINITY;
  /** When any clock last jumped. */
  jumpedAt = Number.NEGATIVE_INFINITY;
  /** Until then no storage takes a write. */
  readOnlyUntil = 0;
  /** For how long storages have taken no writes, in all. */
  readOnlyMs = 0;
  violation: Violation | undefined;
  /** What machines have stored of sticky runs: by snapshot, of which placements there are data in it. */
  readonly snapshots = new Map<string, string[]>();
  /** Processes that have died in this step, to be buried after it. */
  readonly dying = new Set<{ bury(): void }>();

  /** `rates`: where a fault strikes more or less often than it usually does. */
  constructor(seed: number, faults: Fault[], rates: Partial<Record<Fault, number>> = {}) {
    this.chance = new Chance(seed);
    this.#rates = { ...FAULTS, ...rates };
    this.#faults = new Set(faults);
  }

  get now(): number {
    return this.time.now;
  }

  /** The control plane's clock, in whole milliseconds as any clock of a Worker. */
  get planeNow(): number {
    return this.planeTime(this.now);
  }

  /** An instant of the world on that clock. */
  planeTime(at: number): number {
    return Math.floor(at + this.planeAheadMs);
  }

  /**
   * Whether a fault happens here. Chance is asked even where it cannot, so that stories stay comparable.
   * `chance`: another source, so that a fault of its own kind moves no other.
   */
  strikes(fault: Fault, chance = this.chance): boolean {
    const struck = chance.chance(this.#rates[fault]);
    return struck && !this.quiet && this.#faults.has(fault);
  }

  tell(about: string, text: string): void {
    this.story.push({ at: this.now, about, text });
  }

  /** Notes the first violation. It is looked at after the step, so that no code under test can swallow it. */
  violated(message: string, ...about: string[]): void {
    this.violation ??= new Violation(message, about);
  }

  /**
   * Carries a request and its reply. Either can be lost, doubled or late; then the caller gets a `NoReply`
   * and cannot know whether it was served.
   */
  call<Reply>(from: string, to: string, what: string, serve: () => Promise<Reply>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const fail = () => this.time.after(REPLY_TIMEOUT_MS, () => reject(new NoReply(`${what} to ${to}`)));
      // A cloud or a receiver is called over connections, which lose and delay, but never double.
      if (to !== "cloud" && to !== "receiver" && this.strikes("doubling")) this.#serveAgain(serve);
      if (this.strikes("loss")) {
        this.tell(from, `${what} to ${to} is lost`);
        fail();
        return;
      }
      this.time.after(this.#latency(), () => {
        serve().then((reply) => {
          if (!this.strikes("loss")) {
            this.time.after(this.#latency(), () => resolve(reply));
            return;
          }
          this.tell(to, `the reply to ${what} from ${from} is lost`);
          fail();
        }, fail);
      });
    });
  }

  /** Asks again, a second later, until there is a reply. */
  async retrying(attempt: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await attempt();
      } catch {
        await this.time.sleep(1_000);
      }
    }
  }

  /** The doubled request arrives whenever it likes: long after the first, perhaps. */
  #serveAgain<Reply>(serve: () => Promise<Reply>): void {
    this.time.after(this.chance.between(1, SLOWEST_MS), () => void serve().catch(() => undefined));
  }

  #latency(): number {
    return this.strikes("delay") ? this.chance.between(1_000, SLOWEST_MS) : this.chance.between(1, 50);
  }
}
