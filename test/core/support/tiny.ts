import { Actor, type World } from "../../../src/objects/actor.ts";
import type { Envelope, Instant, Machine, Violation } from "../../../src/shared/machine.ts";

/** A machine that owes a message until it receives the confirmation. */
export interface TinyState {
  /** By destination, or `destination/about`: the text that is owed to it. */
  owes: Record<string, string>;
  at: Instant | undefined;
  events: string[];
}

export type TinyEvent =
  | { type: "tick" }
  | { type: "owe"; to: string; text: string }
  | { type: "done"; to: string }
  | { type: "settled nothing" }
  | { type: "wake"; at: Instant }
  | { type: "unbearable" };

export type TinyMessage = Envelope & { text: string };

export function tinyMachine(repeatedBy: Envelope["repeatedBy"]): Machine<TinyState, TinyEvent, TinyMessage> {
  return {
    name: "tiny",
    invariants: [],
    apply(state, event) {
      if (event.type === "unbearable") throw new Error("unbearable");
      const next = { ...state, events: [...state.events, event.type] };
      if (event.type === "owe") return { ...next, owes: { ...state.owes, [event.to]: event.text } };
      if (event.type === "wake") return { ...next, at: event.at };
      if (event.type !== "done") return next;
      const { [event.to]: _done, ...owes } = state.owes;
      return { ...next, owes };
    },
    due: (state) =>
      Object.entries(state.owes).map(([whom, text]) => {
        const [to = whom, about] = whom.split("/");
        return { to, kind: "tell", repeatedBy, text, ...(about === undefined ? {} : { about }) };
      }),
    wakeAt: (state) => state.at,
  };
}

/** What was sent, and how to answer it. */
export interface Sent {
  message: TinyMessage;
  at: Instant;
  reply(event: TinyEvent): Promise<void>;
  fail(): Promise<void>;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A world in memory: time passes only when the test says so, and nothing is answered by itself. */
export class TinyWorld implements World<TinyState, TinyEvent, TinyMessage> {
  time: Instant = 1_000_000;
  stored: TinyState = { owes: {}, at: undefined, events: [] };
  loads = 0;
  commits = 0;
  crashes = false;
  isChecked = () => true;
  isStored?: (state: TinyState) => boolean;
  readonly violations: Violation[] = [];
  readonly wakes: Instant[] = [];
  readonly timers = new Set<{ at: Instant; happen: () => void }>();
  readonly sent: Sent[] = [];
  readonly failures: { tries: number; at: Instant; text: string }[] = [];

  now = () => this.time;
  wake = (at: Instant) => void this.wakes.push(at);

  timer = (ms: number, happen: () => void) => {
    const timer = { at: this.time + ms, happen };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  };

  /** Lets time pass, with everything that was to happen by then. */
  async pass(ms: number): Promise<void> {
    this.time += ms;
    for (const timer of this.timers) {
      if (timer.at > this.time) continue;
      this.timers.delete(timer);
      timer.happen();
    }
    await turn();
  }

  load(): TinyState {
    this.loads += 1;
    return this.stored;
  }

  commit(write: () => void): void {
    const before = this.stored;
    write();
    if (this.crashes) {
      this.stored = before;
      throw new Error("the disk is gone");
    }
    this.commits += 1;
  }

  save(state: TinyState): void {
    this.stored = state;
  }

  send(message: TinyMessage): Promise<TinyEvent> {
    return new Promise((resolve, reject) => {
      this.sent.push({
        message,
        at: this.time,
        reply: async (event) => {
          resolve(event);
          await turn();
        },
        fail: async () => {
          reject(new Error("no answer"));
          await turn();
        },
      });
    });
  }

  failed(_message: TinyMessage, error: unknown, tries: number): void {
    this.failures.push({
      tries,
      at: this.time,
      text: error instanceof Error ? error.message : String(error),
    });
  }

  violated(violations: readonly Violation[]): void {
    this.violations.push(...violations);
  }

  /** The latest message that left. */
  get last(): Sent {
    const last = this.sent.at(-1);
    if (last === undefined) throw new Error("nothing was sent");
    return last;
  }

  /** The time of the latest alarm that was requested. */
  get alarm(): Instant | undefined {
    return this.wakes.at(-1);
  }
}

/** An actor of the tiny machine in a world of its own. */
export function tiny(repeatedBy: Envelope["repeatedBy"] = "self") {
  const world = new TinyWorld();
  const actor = new Actor(tinyMachine(repeatedBy), world);
  /** Lets time pass, and then wakes the actor, as an alarm does. */
  const pass = (ms: number) => {
    world.time += ms;
    actor.apply({ type: "tick" });
  };
  return { world, actor, pass };
}
