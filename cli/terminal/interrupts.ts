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

export interface Interrupts {
  first: Promise<Interrupt>;
  second: Promise<Interrupt>;
  /** Asks this command to end and to leave the run alone (Ctrl-\). */
  detach: Promise<Interrupt>;
  /** Restores the default meaning of the signals. */
  release(): void;
}

/** Catches the signals that would end this command at once. */
export function listenForInterrupts(): Interrupts {
  const waiting: ((interrupt: Interrupt) => void)[] = [];
  const next = () => new Promise<Interrupt>((resolve) => waiting.push(resolve));
  const [first, second] = [next(), next()];
  let pressedAt = Number.NEGATIVE_INFINITY;
  const press = (interrupt: Interrupt) => {
    const isEcho = performance.now() - pressedAt < ONE_PRESS_MS;
    if (isEcho) return;
    pressedAt = performance.now();
    waiting.shift()?.(interrupt);
  };
  let detachNow: (interrupt: Interrupt) => void = () => {};
  const detach = new Promise<Interrupt>((resolve) => {
    detachNow = resolve;
  });
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
