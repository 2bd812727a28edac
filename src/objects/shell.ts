// How does an actor run on a Durable Object's clock, transactions and alarm?
import { env } from "cloudflare:workers";
import type { Envelope, Instant, Machine } from "../shared/machine.ts";
import { Actor } from "./actor.ts";
import { LazyAlarm } from "./alarm.ts";
import { droverNow } from "./clock.ts";
import type { Env } from "./env.ts";
import { meter } from "./meter.ts";
import { logFailure } from "./report-failure.ts";
import { platformTimer } from "./waiting.ts";

/** The parts that differ between objects: loading and storing the state, and delivering messages. */
export interface Wiring<State, Event, Message> {
  /** `alarmAt`: when the armed alarm fires; now, if this alarm wakes the object; null: no alarm is armed. */
  load(alarmAt: Instant | null, now: Instant): State;
  /** Whether `save` would write nothing. */
  isStored(state: State): boolean;
  save(state: State): void;
  /** After each commit, in the same synchronous block. */
  saved?(): void;
  send(message: Message): Promise<Event>;
  /** Counts the invariants that a step has broken. Absent: they are only logged. */
  violated?(count: number): void;
}

/** Only time has passed. */
interface Tick {
  type: "tick";
}

const { DROVER_CHECK_EVERY }: Partial<Env> = env;

/** One step in this many is checked, counted over all objects in this isolate. */
const CHECK_EVERY = Number(DROVER_CHECK_EVERY || 64);
let steps = 0;

function isChecked(): boolean {
  steps += 1;
  return steps % CHECK_EVERY === 0;
}

/** The actor of a Durable Object, with the platform's clock, transactions and alarm. */
export class Shell<State, Event, Message extends Envelope> {
  readonly actor: Actor<State, Event | Tick, Message>;
  readonly now = droverNow;
  readonly #alarm: LazyAlarm;
  #firing = false;

  constructor(
    ctx: DurableObjectState,
    machine: Machine<State, Event | Tick, Message>,
    wiring: Wiring<State, Event, Message>,
  ) {
    this.#alarm = new LazyAlarm(ctx.storage);
    this.actor = new Actor(machine, {
      now: droverNow,
      load: () => wiring.load(this.#firing ? droverNow() : this.#alarm.armedFor, droverNow()),
      commit: (write) => {
        meter.commits += 1;
        ctx.storage.transactionSync(write);
        wiring.saved?.();
      },
      isStored: wiring.isStored,
      save: wiring.save,
      wake: (at) => this.#alarm.arm(at, droverNow()),
      send: wiring.send,
      timer: platformTimer,
      failed: (message, error, tries) => logFailure(ctx.id.name ?? "", message, error, tries),
      isChecked,
      violated: (violations) => {
        for (const one of violations) console.error({ event: "invariant_violated", id: ctx.id.name, ...one });
        wiring.violated?.(violations.length);
      },
      unheard: (error) => console.warn({ event: "unheard", of: ctx.id.name, error: String(error) }),
    });
    void ctx.blockConcurrencyWhile(() => this.#alarm.load());
  }

  /**
   * Counts a billed request, and applies its event or a tick. So every request resumes what a crash left
   * undone.
   */
  enter(event: Event | Tick = { type: "tick" }): State {
    this.count();
    return this.actor.apply(event);
  }

  /** Counts a request that applies its event later. */
  count(): void {
    meter.requests += 1;
  }

  /**
   * The alarm has fired. A message that fails now does not throw an error here: the actor sends the message
   * again. `event`: what this applies, if it is more than a tick.
   */
  alarm(event?: Event): void {
    this.#alarm.disarmed();
    this.#firing = true;
    try {
      this.enter(event);
    } catch (error) {
      this.#alarm.comesAgain(this.now());
      throw error;
    } finally {
      this.#firing = false;
    }
  }

  /** Notes that the storage was emptied, and that its alarm is gone, too. */
  emptied(): void {
    this.#alarm.disarmed();
  }
}
