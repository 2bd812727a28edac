import type { Envelope, Instant, Machine } from "../shared/machine.ts";
import { Actor } from "./actor.ts";
import { LazyAlarm } from "./alarm.ts";
import { droverNow } from "./clock.ts";
import { meter } from "./meter.ts";
import { logFailure } from "./report-failure.ts";
import { platformTimer } from "./waiting.ts";

/**
 * What differs from object to object: how its state is loaded and stored, and how its messages are delivered.
 */
export interface Wiring<State, Event, Message> {
  /**
   * `alarmAt`: when the armed alarm fires; now, if it is that which wakes the object; null: none is armed.
   */
  load(alarmAt: Instant | null, now: Instant): State;
  save(state: State): void;
  /** After each commit, in the same synchronous block. */
  saved?(): void;
  send(message: Message): Promise<Event>;
}

/** The actor of a Durable Object, with the platform's clock, transactions and alarm. */
export class Shell<State, Event extends { type: string }, Message extends Envelope> {
  readonly actor: Actor<State, Event, Message>;
  readonly now = droverNow;
  readonly #alarm: LazyAlarm;
  readonly #tick: Event;
  #firing = false;

  constructor(
    ctx: DurableObjectState,
    machine: Machine<State, Event, Message>,
    tick: Event,
    wiring: Wiring<State, Event, Message>,
  ) {
    this.#tick = tick;
    this.#alarm = new LazyAlarm(ctx.storage);
    this.actor = new Actor(machine, {
      now: droverNow,
      load: () => wiring.load(this.#firing ? droverNow() : this.#alarm.armedFor, droverNow()),
      commit: (write) => {
        ctx.storage.transactionSync(write);
        wiring.saved?.();
      },
      save: wiring.save,
      wake: (at) => this.#alarm.arm(at, droverNow()),
      send: wiring.send,
      timer: platformTimer,
      failed: (message, error, tries) => logFailure(ctx.id.name ?? "", message, error, tries),
      unheard: (error) => console.warn({ event: "unheard", of: ctx.id.name, error: String(error) }),
    });
    void ctx.blockConcurrencyWhile(() => this.#alarm.load());
  }

  /** Every entry is billed, lets time do its work, and repairs what a crash may have left unsaid. */
  enter(event: Event = this.#tick): State {
    this.count();
    return this.actor.apply(event);
  }

  /** An entry that brings its own event later, and must not be judged before that. */
  count(): void {
    meter.requests += 1;
  }

  /**
   * The alarm has fired. It never throws for what can be expected: what fails is tried again by the actor.
   */
  alarm(): void {
    this.#alarm.fired();
    this.#firing = true;
    this.enter();
    this.#firing = false;
  }

  /** The storage, and with it the alarm, has been emptied. */
  emptied(): void {
    this.#alarm.emptied();
  }
}
