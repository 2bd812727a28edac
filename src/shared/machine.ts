// What is a machine? It is three pure functions that decide for one object (shell.md#machine). No
// implementation reads a clock, a random source, an environment or a network.

/**
 * Milliseconds since the Unix epoch, on the clock of the machine's shell. It is always an argument: no
 * machine reads a clock.
 */
export type Instant = number;
/** An instant that has always passed. */
export const PAST: Instant = 0;

/** A duration in milliseconds. */
export type Millis = number;

/**
 * The decisions of one object. `apply` consumes the state that it is given, since it changes tables in place
 * (`rows.ts`): only the returned state is valid afterwards. `due` and `wakeAt` change nothing.
 */
export interface Machine<State, Event, Message> {
  /** The name for the log. */
  name: string;
  /** Applies one event to the state. Every event is legal in every state, but may change nothing. */
  apply(state: State, event: Event, now: Instant): State;
  /** The messages that this object owes, derived from what it wants and what was acknowledged. */
  due(state: State, now: Instant): Message[];
  /** The next instant at which time alone changes `due`, or the effect of a `tick`. */
  wakeAt(state: State): Instant | undefined;
  /** The invariants that no `apply` may break, whatever the event. */
  invariants: readonly Invariant<State>[];
}

/** Something that holds for every step of a machine (shell.md#assertions). */
export interface Invariant<State> {
  /** Where the design states the invariant: page and anchor. */
  rule: string;
  /** How this step breaks the invariant; undefined: it does not. Must change nothing, and be cheap. */
  broken(before: State, after: State, now: Instant): string | undefined;
}

/** The part of every message that the shell needs to deliver it. */
export interface Envelope {
  /** The receiver: the name of an object, a provider or a host. */
  to: string;
  /** The kind. At most one message of a kind is in flight to one receiver (rules.md#r7). */
  kind: string;
  /** The subject, if several messages of this kind may be in flight to one receiver. */
  about?: string;
  /**
   * What repeats this message if the process dies now. `self`: only this object's alarm, so the shell sets
   * the alarm before it sends. `peer`: the receiver repeats what caused the message, so an alarm would cost a
   * row for nothing.
   */
  repeatedBy: "self" | "peer";
}

/** An invariant that a step has broken. `rule`: where the design states it. */
export interface Violation {
  machine: string;
  rule: string;
  what: string;
}

/**
 * The invariants that a step of a machine has broken (shell.md#assertions). `before`: the state that `apply`
 * was given. Both states share their tables, and the tables know what has changed (`Rows.changes`). Call this
 * before the changes are flushed. Never throws: an invariant that throws counts as broken.
 */
export function check<State, Event, Message>(
  machine: Machine<State, Event, Message>,
  before: State,
  after: State,
  now: Instant,
): Violation[] {
  const found: Violation[] = [];
  for (const { rule, broken } of [...machine.invariants, wakesInTime(machine.wakeAt)]) {
    let what: string | undefined;
    try {
      what = broken(before, after, now);
    } catch (error) {
      what = `cannot be judged: ${String(error)}`;
    }
    if (what !== undefined) found.push({ machine: machine.name, rule, what });
  }
  return found;
}

/** Checks that the next instant is a whole number, since any other deadline would never come. */
function wakesInTime<State>(wakeAt: (state: State) => Instant | undefined): Invariant<State> {
  const broken = (_before: State, after: State) => {
    const at = wakeAt(after) ?? 0;
    return Number.isInteger(at) ? undefined : `it asks to be woken at ${at}`;
  };
  return { rule: "rules.md#invariant-5", broken };
}

/** The earliest of these instants; undefined values do not count. */
export function earliest(...instants: (Instant | undefined)[]): Instant | undefined {
  let first: Instant | undefined;
  for (const at of instants) {
    if (at !== undefined && (first === undefined || at < first)) first = at;
  }
  return first;
}
