// How long does the agent wait for an engine (containers.md#outage)?
import { setTimeout as sleep } from "node:timers/promises";
import type { Millis } from "../../src/shared/machine.ts";
import { EngineError } from "../engine/errors.ts";
import { StartFault } from "../exec/start-fault.ts";

/** How long an engine may be away before a start is given up. */
const AWAY_MS: Millis = 60_000;
const AGAIN_MS: Millis = 500;

/** Whether an engine did not answer, or only half. */
export function isAway(error: unknown): boolean {
  return error instanceof EngineError && ["unreachable", "cut", "timeout"].includes(error.kind);
}

/** Whether an engine has not even heard what it was asked. */
export function isUnheard(error: unknown): boolean {
  return error instanceof EngineError && error.kind === "unreachable";
}

/**
 * Tries something again while the engine is away, as while it is updated. `mayRepeat`: whether the error is
 * one of those. Rejects with the last error.
 */
export async function patiently<Result>(
  stop: AbortSignal,
  act: () => Promise<Result>,
  mayRepeat: (error: unknown) => boolean = isAway,
): Promise<Result> {
  for (const late = performance.now() + AWAY_MS; ; ) {
    try {
      return await unlessStopped(stop, act());
    } catch (error) {
      if (stop.aborted || performance.now() > late || !mayRepeat(error)) throw error;
      await sleep(AGAIN_MS, undefined, { signal: stop, ref: false }).catch(() => undefined);
    }
  }
}

/** The error of a start for one of the engine that another try may help. Other errors stay as they are. */
export function asStartFault(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  return new StartFault("engine_failed", error.message, { recoverable: true });
}

/** How long an engine may take to answer what a kill or a look must not wait for. */
export const BRIEF_MS: Millis = 2_000;

/** The answer, or `undefined` if it takes longer. What was asked for may come about all the same. */
export function within<T>(ms: Millis, answer: Promise<T>): Promise<T | undefined> {
  const late = new AbortController();
  const wait = sleep(ms, undefined, { signal: late.signal, ref: false }).catch(() => undefined);
  return Promise.race([answer, wait]).finally(() => late.abort());
}

/** The answer; rejects with the signal's reason if that comes first. */
export async function unlessStopped<T>(stop: AbortSignal, answer: Promise<T>): Promise<T> {
  const over = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    if (stop.aborted) reject(stop.reason);
    stop.addEventListener("abort", () => reject(stop.reason), { signal: over.signal });
  });
  try {
    return await Promise.race([answer, stopped]);
  } finally {
    over.abort();
  }
}
