import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** How long a thing may take to come true on a busy machine before the test fails. */
const WITHIN_MS = 120_000;
/** The pauses between looks grow with the wait: many tests wait at once, and looking costs processor time. */
const LOOK_AFTER_MS = 20;
const LOOK_AT_LEAST_EVERY_MS = 100;
const PAUSE_SHARE = 0.05;

/** A directory of its own for one test, inside the checkout, removed when the test is over. */
export function scratchDir(): string {
  const cache = join(import.meta.dirname, "../../../.cache");
  mkdirSync(cache, { recursive: true });
  const dir = mkdtempSync(join(cache, "local-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The pid of a process that must be there. A pid of 0 would signal the tests themselves. */
export function pidOf(process: { pid?: number | undefined } | undefined): number {
  if (process?.pid === undefined) throw new Error("There is no such process.");
  return process.pid;
}

/**
 * Waits until `look` gives something, and returns that; fails with `what` if it does not in time, and with
 * what there was to `see` instead.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  see?: () => unknown,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    const waitedMs = performance.now() - start;
    if (waitedMs > WITHIN_MS) throw new Error(`Waited in vain until ${what}.${shown(await see?.())}`);
    await sleep(Math.min(LOOK_AFTER_MS + PAUSE_SHARE * waitedMs, LOOK_AT_LEAST_EVERY_MS));
  }
}

function shown(seen: unknown): string {
  return seen === undefined ? "" : ` Instead: ${JSON.stringify(seen)}`;
}
