import type { Millis } from "../../../shared/machine.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";

/** So many boot failures in a row of one instance type stop it (decisions/pool.md#d24; cases.md#case-17). */
const BOOT_FAILURES = 3;
const STOP = { firstMs: 5 * 60_000, longestMs: 60 * 60_000 };

/**
 * For how long no machine of a type is created after so many boot failures in a row: 0 while a flaky boot may
 * be all there is, then 5, 10, 20, 40 and at most 60 minutes. One machine is tried after each.
 */
export function bootHoldMs(failures: number): Millis {
  if (failures < BOOT_FAILURES) return 0;
  return backOffMs(STOP, failures - BOOT_FAILURES + 1);
}
