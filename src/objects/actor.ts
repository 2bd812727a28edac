import {
  MAX_IN_FLIGHT,
  REPEAT_AFTER_CRASH_MS,
  RETRY_FIRST_MS,
  RETRY_LONGEST_MS,
  SEND_TIMEOUT_MS,
} from "../shared/limits.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../shared/machine.ts";
import { backOffMs } from "../shared/time/backoff.ts";
import type { Timer } from "./waiting.ts";

/**
 * What the shell needs of the world. In a Durable Object it is storage, alarm and stubs; in the simulator all
 * is fake.
 */
export interface World<State, Event, Message> {
  now(): Instant;
  /** The state as stored. Synchronous, like everything up to `send`. */
  load(): State;
  /** Runs `write` so that all of it is stored or nothing. */
  commit(write: () => void): void;
  /** Stores what has changed. Called within `commit`. */
  save(state: State): void;
  /**
   * Sees to it that we are woken at `at` or before. Called within the same synchronous block as the commit.
   */
  wake(at: Instant): void;
  /**
   * Delivers a message and turns its reply into an event. Rejects if there is none: then it is tried again.
   */
  send(message: Message): Promise<Event>;
  /** Calls back after so many milliseconds, unless what it returns is called before. */
  timer: Timer;
  /** Told of every message that failed, for the log. */
  failed(message: Message, error: unknown, tries: number): void;
  /** Told of a listener that threw, for the log. It is called again. */
  unheard?(error: unknown): void;
}

interface Retry {
  tries: number;
  notBefore: Instant;
}

/**
 * The shell around a machine, the same for all objects (shell.md#shell):
 *
 *     load → apply → commit (state and alarm in one block) → send what is due → each reply is an event
 *
 * It holds no rule but how messages are carried: one in flight for each destination and kind, a failed one
 * again after a back-off of 1 s doubling to 60 s (rule R7), and an alarm for whatever would be forgotten if
 * this process died now. Nothing of what it remembers must survive: after a crash `due` says the same again.
 */
export class Actor<State, Event, Message extends Envelope> {
  readonly #machine: Machine<State, Event, Message>;
  readonly #world: World<State, Event, Message>;
  /** What is under way, and since when. */
  readonly #inFlight = new Map<string, Instant>();
  readonly #retries = new Map<string, Retry>();
  readonly #watchers = new Set<() => void>();
  #state: State | undefined;
  #notifiesAgain = false;

  constructor(machine: Machine<State, Event, Message>, world: World<State, Event, Message>) {
    this.#machine = machine;
    this.#world = world;
  }

  /** The present state, as stored, with what is remembered beside it. */
  get state(): State {
    this.#state ??= this.#world.load();
    return this.#state;
  }

  /** Folds an event in, stores the result, and sends what is then due. Returns the state after the event. */
  apply(event: Event): State {
    const now = this.#world.now();
    try {
      const next = this.#machine.apply(this.state, event, now);
      this.#world.commit(() => this.#world.save(next));
      this.#state = next;
    } catch (error) {
      // Whatever was half done in memory is not what is stored: begin again from there.
      this.#state = undefined;
      throw error;
    }
    this.#pump(now);
    this.#notify();
    return this.state;
  }

  /** Whether a message of this kind is in flight. Whoever watches hears when that changes. */
  busy(kind: Message["kind"]): boolean {
    for (const key of this.#inFlight.keys()) if (key.startsWith(`${kind} `)) return true;
    return false;
  }

  /** Calls `listener` after every event. Returns how to stop that. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  /**
   * Calls all listeners. One that cannot store what it wants, because the disk takes nothing now, is called
   * again: the event that it was to hear of is stored, and must not fail for that.
   */
  #notify(): void {
    for (const listener of [...this.#watchers]) {
      try {
        listener();
      } catch (error) {
        this.#world.unheard?.(error);
        this.#notifyAgain();
      }
    }
  }

  #notifyAgain(): void {
    if (this.#notifiesAgain) return;
    this.#notifiesAgain = true;
    this.#world.timer(RETRY_FIRST_MS, () => {
      this.#notifiesAgain = false;
      this.#notify();
    });
  }

  /** Sends what is due and may be sent, and arms the alarm for the rest. */
  #pump(now: Instant): void {
    const due = this.#machine.due(this.state, now);
    const keys = new Set(due.map(keyOf));
    for (const key of this.#retries.keys()) if (!keys.has(key)) this.#retries.delete(key);
    let again: Instant | undefined;
    for (const message of due) {
      const key = keyOf(message);
      const retryAt = this.#retries.get(key)?.notBefore ?? now;
      const waits = retryAt > now || this.#inFlight.size >= MAX_IN_FLIGHT;
      const sentAt = this.#inFlight.get(key);
      const timesOutAt = (sentAt ?? Number.NEGATIVE_INFINITY) + SEND_TIMEOUT_MS;
      // A clock that was set may be past the time-out of what is still in flight: its timer is not.
      const repeatAt = timesOutAt > now ? timesOutAt : now + REPEAT_AFTER_CRASH_MS;
      if (message.repeatedBy === "self") again = earliest(again, Math.max(retryAt, repeatAt));
      else if (waits) again = earliest(again, Math.max(retryAt, now + RETRY_FIRST_MS));
      if (waits || this.#inFlight.has(key)) continue;
      this.#inFlight.set(key, now);
      void this.#carry(message, key, now);
    }
    const wanted = this.#machine.wakeAt(this.state);
    // What should have happened by now is being tried already: an alarm at once would only turn in circles.
    const overdue = again ?? now + (this.#inFlight.size > 0 ? SEND_TIMEOUT_MS : REPEAT_AFTER_CRASH_MS);
    const at = earliest(again, wanted === undefined || wanted > now ? wanted : overdue);
    if (at !== undefined) this.#world.wake(at);
  }

  async #carry(message: Message, key: string, sentAt: Instant): Promise<void> {
    try {
      const reply = await this.#sent(message);
      // It still counts as in flight here, so that it is not sent again before we have looked.
      this.apply(reply);
    } catch (error) {
      this.#inFlight.delete(key);
      this.#backOff(message, key, error);
      this.#notify();
      return;
    }
    this.#inFlight.delete(key);
    this.#afterReply(message, key, sentAt);
    this.#notify();
  }

  /** A call that hangs would keep its kind from that destination for ever: it counts as failed. */
  #sent(message: Message): Promise<Event> {
    return new Promise((resolve, reject) => {
      const stop = this.#world.timer(SEND_TIMEOUT_MS, () => reject(new Error("no reply in time")));
      this.#world.send(message).then(resolve, reject).finally(stop);
    });
  }

  /**
   * A reply after which the very same is still due has settled nothing: that is a failure like any other.
   * What is due is asked as of the sending: what is left of a time limit is another number with each
   * millisecond.
   */
  #afterReply(message: Message, key: string, sentAt: Instant): void {
    const still = this.#machine.due(this.state, sentAt).find((one) => keyOf(one) === key);
    if (still !== undefined && JSON.stringify(still) === JSON.stringify(message)) {
      this.#backOff(message, key, new Error("the reply settled nothing"));
      return;
    }
    this.#retries.delete(key);
    this.#pump(this.#world.now());
  }

  #backOff(message: Message, key: string, error: unknown): void {
    const tries = (this.#retries.get(key)?.tries ?? 0) + 1;
    const delay = backOffMs({ firstMs: RETRY_FIRST_MS, longestMs: RETRY_LONGEST_MS }, tries);
    this.#retries.set(key, { tries, notBefore: this.#world.now() + delay });
    this.#world.failed(message, error, tries);
    this.#pump(this.#world.now());
  }
}

function keyOf({ kind, to, about = "" }: Envelope): string {
  return `${kind} ${to} ${about}`;
}
