/**
 * The one idea everywhere: a machine is three pure functions (shell.md#machine).
 *
 * Nothing in here, or in any implementation of it, reads a clock, a random source, an environment or a
 * network.
 */

/**
 * Milliseconds since the Unix epoch on the clock of whoever runs the machine. Always an argument, never read.
 */
export type Instant = number;

/** A length of time in milliseconds. */
export type Millis = number;

/**
 * What an object is, said as three pure functions.
 *
 * `apply` consumes the state that it is given (it changes bulk tables in place, see `rows.ts`): only what it
 * returns is valid afterwards. `due` and `wakeAt` change nothing: where there are tables, they take a view.
 */
export interface Machine<State, Event, Message> {
  /**
   * Folds one fact in. Total: every event is legal in every state; one that means nothing there changes
   * nothing.
   */
  apply(state: State, event: Event, now: Instant): State;
  /** What is owed to others right now, derived from what is wanted and what has been acknowledged. */
  due(state: State, now: Instant): Message[];
  /** When time alone will change `due`, or `apply` of a `tick`, next. */
  wakeAt(state: State): Instant | undefined;
}

/** What every message has, so that the shell can carry it without knowing what it says. */
export interface Envelope {
  /** Whom it is for: the name of an object, a provider, a host. */
  to: string;
  /** What it is. One message of a kind is in flight to one destination at any time (rule R7). */
  kind: string;
  /** What it is about, if several of a kind may be in flight to one destination. */
  about?: string;
  /**
   * Who makes us say it again if this process dies right now. `self`: nobody else will, so the shell arms an
   * alarm before it sends. `peer`: the other side repeats what made us say it, so an alarm would be a row for
   * nothing.
   */
  repeatedBy: "self" | "peer";
}

/** The earliest of some instants, of which any may be absent. */
export function earliest(...instants: (Instant | undefined)[]): Instant | undefined {
  let first: Instant | undefined;
  for (const at of instants) {
    if (at !== undefined && (first === undefined || at < first)) first = at;
  }
  return first;
}
