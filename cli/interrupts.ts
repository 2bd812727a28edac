import { constants } from "node:os";
import { exitCodeOfSignal } from "./errors.ts";

/** What a person, a terminal that closes, or a CI system that gives up sends. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A wish that this command ends, made from outside. */
export interface Interrupt {
  signal: (typeof SIGNALS)[number];
  exitCode: number;
}

export interface Interrupts {
  first: Promise<Interrupt>;
  second: Promise<Interrupt>;
  /** Gives the signals their ordinary meaning back. */
  release(): void;
}

/** Listens for wishes that this command ends, in place of ending at once. */
export function listenForInterrupts(): Interrupts {
  const waiting: ((interrupt: Interrupt) => void)[] = [];
  const first = new Promise<Interrupt>((resolve) => waiting.push(resolve));
  const second = new Promise<Interrupt>((resolve) => waiting.push(resolve));
  const listeners = SIGNALS.map((signal) => {
    const exitCode = exitCodeOfSignal(constants.signals[signal]);
    const hear = () => waiting.shift()?.({ signal, exitCode });
    process.on(signal, hear);
    return () => process.off(signal, hear);
  });
  return {
    first,
    second,
    release: () => {
      for (const release of listeners) release();
    },
  };
}
