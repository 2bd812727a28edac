// For how long do failed boots stop the creation of machines of a type?
import type { Millis } from "../../../shared/machine.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";

/** After this many failed boots in a row a type is paused (decisions/pool.md#d24; cases.md#case-17). */
const BOOT_FAILURES = 3;
const STOP = { firstMs: 5 * 60_000, longestMs: 60 * 60_000 };

/**
 * How long no machine of a type is created after this many boot failures in a row: 0 below the limit, then 5,
 * 10, 20, 40 and at most 60 minutes. After each pause one machine is tried.
 */
export function bootHoldMs(failures: number): Millis {
  if (failures < BOOT_FAILURES) return 0;
  return backOffMs(STOP, failures - BOOT_FAILURES + 1);
}
