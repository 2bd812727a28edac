// What do Ctrl-C, Ctrl-\ and SIGTERM mean to a verb that has something to finish first?
import { constants } from "node:os";
import { exitCodeOfSignal } from "../errors.ts";

/** Sent by a person, a closing terminal, or a CI system that gives up. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Sent by a terminal for Ctrl-\. */
const DETACH = "SIGQUIT";

/**
 * A second signal within this time belongs to the same Ctrl-C: under npx, both the terminal and npm send a
 * signal.
 */
const ONE_PRESS_MS = 500;

/** A signal that asks this command to end. */
export interface Interrupt {
  signal: (typeof SIGNALS)[number] | typeof DETACH;
  exitCode: number;
}

/** What an interrupt is to mean. */
export type Meaning = "abort" | "detach" | "go on";
/** Decides what the first interrupt means. If another one comes before that, it means `abort`. */
export type Decide = (signal: Interrupt["signal"]) => Promise<Meaning>;

export interface Interrupts {
  first: Promise<Interrupt>;
  second: Promise<Interrupt>;
  /** Asks this command to end and to leave the run alone (Ctrl-\). */
  detach: Promise<Interrupt>;
  /** Restores the default meaning of the signals. */
  release(): void;
}

/**
 * Catches the signals that would end this command at once. With `decide`, an interrupt counts as `first` only
 * if that is decided; it may also count as `detach`, or as none.
 */
export function listenForInterrupts(decide?: Decide): Interrupts {
  const waiting: ((interrupt: Interrupt) => void)[] = [];
  const next = () => new Promise<Interrupt>((resolve) => waiting.push(resolve));
  const [first, second] = [next(), next()];
  let pressedAt = Number.NEGATIVE_INFINITY;
  let state: "open" | "asking" | "decided" = decide === undefined ? "decided" : "open";
  const press = (interrupt: Interrupt) => {
    const isEcho = performance.now() - pressedAt < ONE_PRESS_MS;
    if (isEcho) return;
    pressedAt = performance.now();
    if (state === "open" && decide !== undefined) {
      state = "asking";
      void decide(interrupt.signal).then((meaning) => settle(meaning, interrupt));
    } else {
      state = "decided";
      waiting.shift()?.(interrupt);
    }
  };
  let detachNow: (interrupt: Interrupt) => void = () => {};
  const detach = new Promise<Interrupt>((resolve) => {
    detachNow = resolve;
  });
  const settle = (meaning: Meaning, interrupt: Interrupt) => {
    if (state !== "asking") return;
    state = meaning === "go on" ? "open" : "decided";
    if (meaning === "abort") waiting.shift()?.(interrupt);
    if (meaning === "detach") detachNow(interrupt);
  };
  const listeners = ([...SIGNALS, DETACH] as const).map((signal) => {
    const exitCode = exitCodeOfSignal(constants.signals[signal]);
    const listener = () => (signal === DETACH ? detachNow : press)({ signal, exitCode });
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return {
    first,
    second,
    detach,
    release: () => {
      for (const release of listeners) release();
    },
  };
}
