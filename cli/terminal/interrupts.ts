import { constants } from "node:os";
import { exitCodeOfSignal } from "../errors.ts";

/** What a person, a terminal that closes, or a CI system that gives up sends. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** What a terminal sends for Ctrl-\. */
const DETACH = "SIGQUIT";

/** Below npx a single Ctrl-C arrives twice: from the terminal, and once more handed on by npm. */
const ONE_PRESS_MS = 500;

/** A wish that this command ends, made from outside. */
export interface Interrupt {
  signal: (typeof SIGNALS)[number] | typeof DETACH;
  exitCode: number;
}

export interface Interrupts {
  first: Promise<Interrupt>;
  second: Promise<Interrupt>;
  /** The wish that only this command ends, and what it watches goes on (Ctrl-\). */
  detach: Promise<Interrupt>;
  /** Gives the signals their ordinary meaning back. */
  release(): void;
}

/** Listens for wishes that this command ends, in place of ending at once. */
export function listenForInterrupts(): Interrupts {
  const waiting: ((interrupt: Interrupt) => void)[] = [];
  const first = new Promise<Interrupt>((resolve) => waiting.push(resolve));
  const second = new Promise<Interrupt>((resolve) => waiting.push(resolve));
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
    const hear = () => (signal === DETACH ? detachNow : press)({ signal, exitCode });
    process.on(signal, hear);
    return () => process.off(signal, hear);
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
