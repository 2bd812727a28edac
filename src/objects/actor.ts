// How does an object run its machine: load, apply, store, send, retry? Durable Objects and the simulator
// share this code.
import { MAX_IN_FLIGHT, RETRY_LONGEST_MS } from "../shared/limits.ts";
import {
  check,
  type Envelope,
  earliest,
  type Instant,
  type Machine,
  type Violation,
} from "../shared/machine.ts";
import { backOffMs } from "../shared/time/backoff.ts";
import type { Timer } from "./waiting.ts";

/**
 * How soon after a crash a message is sent again, if nobody else would repeat it. A run that ends sooner
 * needs one alarm for both of its messages to the pool (budgets.md#alarms-of-a-run).
 */
export const REPEAT_AFTER_CRASH_MS = 5_000;
/** How soon an object looks again at what is overdue, if nothing of it is in flight. */
export const LOOK_AGAIN_MS = 1_000;
/** The first back-off of a message that failed (rules.md#r7). */
export const RETRY_FIRST_MS = 1_000;
/**
 * A message that gets no reply within this time has failed. The slowest call to a provider takes less time.
 */
export const SEND_TIMEOUT_MS = 45_000;

/**
 * What the shell needs from its environment: storage, alarm and stubs in a Durable Object, fakes in the
 * simulator.
 */
export interface World<State, Event, Message> {
  now(): Instant;
  /** The state as stored. Synchronous, like all methods that are listed before `send`. */
  load(): State;
  /** Runs `write` so that either all of its changes are stored or none. */
  commit(write: () => void): void;
  /** Whether the storage has all of this state, so that no commit is needed. Absent: unknown. */
  isStored?(state: State): boolean;
  /** Stores the changes. Called within `commit`. */
  save(state: State): void;
  /** Makes sure that the object wakes at `at` or earlier. Called in the synchronous block of the commit. */
  wake(at: Instant): void;
  /** Delivers a message, and turns its reply into an event. If this rejects, the message is sent again. */
  send(message: Message): Promise<Event>;
  timer: Timer;
  /** Logs a failed message. */
  failed(message: Message, error: unknown, tries: number): void;
  /** Whether the next step is checked against the invariants of its machine. */
  isChecked(): boolean;
  /**
   * Logs and counts the invariants that a step has broken, after the step's result is stored. Never throws.
   */
  violated(violations: readonly Violation[]): void;
  /** Logs that a listener threw an error. The listener will be called again. */
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
 * The shell only carries messages: one in flight per destination and kind, retries with a back-off of 1 s
 * doubling to 60 s (rule R7), and an alarm for everything that a crash would lose. A crash may lose the
 * shell's memory, since `due` yields the same messages again.
 */
export class Actor<State, Event, Message extends Envelope> {
  readonly #machine: Machine<State, Event, Message>;
  readonly #world: World<State, Event, Message>;
  /** The messages in flight, and since when. */
  readonly #inFlight = new Map<string, Instant>();
  readonly #retries = new Map<string, Retry>();
  readonly #watchers = new Set<() => void>();
  #state: State | undefined;
  #notifiesAgain = false;

  constructor(machine: Machine<State, Event, Message>, world: World<State, Event, Message>) {
    this.#machine = machine;
    this.#world = world;
  }

  /** The present state: as stored, with its memo. */
  get state(): State {
    this.#state ??= this.#world.load();
    return this.#state;
  }

  /**
   * Applies an event, stores the result, and sends what is then due. Returns the new state. `now` is the
   * present; a caller that derives an answer from the new state passes it, so that step and answer have one.
   */
  apply(event: Event, now: Instant = this.#world.now()): State {
    this.#step(event, now);
    this.#pump(this.#machine.due(this.state, now), now);
    this.#notify();
    return this.state;
  }

  /** Applies an event, and stores the result. What is due then is not sent yet. */
  #step(event: Event, now: Instant): void {
    let violations: readonly Violation[] = [];
    try {
      const before = this.state;
      const next = this.#machine.apply(before, event, now);
      if (this.#world.isChecked()) violations = check(this.#machine, before, next, now);
      if (this.#world.isStored?.(next) !== true) this.#world.commit(() => this.#world.save(next));
      this.#state = next;
    } catch (error) {
      // The state in memory may be half changed, so the next call loads the stored state.
      this.#state = undefined;
      throw error;
    }
    // Even a broken state is stored: a wrong state can be repaired, but a lost state cannot.
    if (violations.length > 0) this.#world.violated(violations);
  }

  /** Whether a message of this kind is in flight. Listeners are called when this changes. */
  busy(kind: Message["kind"]): boolean {
    for (const key of this.#inFlight.keys()) if (key.startsWith(`${kind} `)) return true;
    return false;
  }

  /** Calls `listener` after every event. Returns a function that stops these calls. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  /**
   * Calls all listeners. If a listener throws, for example because the disk is full, all listeners are called
   * again later. The event is already stored, and must not fail because of a listener.
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

  /** Sends the messages that are due and may be sent, and arms the alarm for the rest. */
  #pump(due: readonly Message[], now: Instant): void {
    const keys = new Set(due.map(keyOf));
    for (const key of this.#retries.keys()) if (!keys.has(key)) this.#retries.delete(key);
    let again: Instant | undefined;
    for (const message of due) {
      const key = keyOf(message);
      const retryAt = this.#retries.get(key)?.notBefore ?? now;
      const sentAt = this.#inFlight.get(key);
      const waits = sentAt === undefined && (retryAt > now || this.#inFlight.size >= MAX_IN_FLIGHT);
      const timesOutAt = (sentAt ?? Number.NEGATIVE_INFINITY) + SEND_TIMEOUT_MS;
      // After the clock was set, a call may seem to have timed out although its timer has not fired.
      const repeatAt = timesOutAt > now ? timesOutAt : now + REPEAT_AFTER_CRASH_MS;
      if (waits) again = earliest(again, Math.max(retryAt, now + RETRY_FIRST_MS));
      else if (message.repeatedBy === "self") again = earliest(again, repeatAt);
      if (waits || sentAt !== undefined) continue;
      this.#inFlight.set(key, now);
      void this.#carry(message, key, now);
    }
    const wanted = this.#machine.wakeAt(this.state);
    // Overdue work is already in progress, so an immediate alarm would only repeat itself.
    const overdue = again ?? now + (this.#inFlight.size > 0 ? SEND_TIMEOUT_MS : LOOK_AGAIN_MS);
    const at = earliest(again, wanted === undefined || wanted > now ? wanted : overdue);
    if (at !== undefined) this.#world.wake(at);
  }

  async #carry(message: Message, key: string, sentAt: Instant): Promise<void> {
    try {
      const reply = await this.#sendInTime(message);
      this.#step(reply, this.#world.now());
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

  /**
   * A call that hangs would block all messages of its kind to its destination forever. So it fails after a
   * while.
   */
  #sendInTime(message: Message): Promise<Event> {
    return new Promise((resolve, reject) => {
      const stop = this.#world.timer(SEND_TIMEOUT_MS, () => reject(new Error("no reply in time")));
      this.#world.send(message).then(resolve, reject).finally(stop);
    });
  }

  /**
   * If the same message is still due after the reply, the message has achieved nothing, and counts as failed.
   * Both are compared as of the time of sending, because remaining times in messages change every
   * millisecond.
   */
  #afterReply(message: Message, key: string, sentAt: Instant): void {
    const now = this.#world.now();
    const due = this.#machine.due(this.state, now);
    const isKey = (one: Message) => keyOf(one) === key;
    const still = due.some(isKey) ? this.#machine.due(this.state, sentAt).find(isKey) : undefined;
    if (still !== undefined && JSON.stringify(still) === JSON.stringify(message)) {
      this.#backOff(message, key, new Error("the reply settled nothing"));
      return;
    }
    this.#retries.delete(key);
    this.#pump(due, now);
  }

  #backOff(message: Message, key: string, error: unknown): void {
    const tries = (this.#retries.get(key)?.tries ?? 0) + 1;
    const delay = backOffMs({ firstMs: RETRY_FIRST_MS, longestMs: RETRY_LONGEST_MS }, tries);
    const now = this.#world.now();
    this.#retries.set(key, { tries, notBefore: now + delay });
    this.#world.failed(message, error, tries);
    this.#pump(this.#machine.due(this.state, now), now);
  }
}

function keyOf({ kind, to, about = "" }: Envelope): string {
  return `${kind} ${to} ${about}`;
}
