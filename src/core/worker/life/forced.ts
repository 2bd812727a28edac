import type { Instant } from "../../../shared/machine.ts";
import type { LeftBehind } from "../../messages.ts";
import { isSelfHosted, type Living, livePlacements, type WorkerRecord, type WorkerState } from "../state.ts";
import { goneNow } from "./shutdown.ts";

/**
 * Whether no call can have made its machine: each was refused, and none is under way. Then there is nothing
 * that a listing could show.
 */
export function isSurelyUnmade(record: WorkerRecord): boolean {
  const { phase, instance, secret, failure, mayBeMade, calling, waits } = record;
  if (instance !== null || secret !== null || failure?.refused !== true) return false;
  const underWay = calling === true || (phase === "booting" && waits !== true);
  return mayBeMade !== true && !underWay;
}

/**
 * The end of a worker that no observation can bring: nothing can have been made, or an operator has forced
 * it. A forced end waits for no listing, but for the answer to one destroy call, and for the end of the lease
 * of what is on the machine (invariant 4).
 */
export function foldEnd(state: Living, now: Instant): WorkerState {
  const { record } = state;
  if (record.phase !== "shutdown" || isSelfHosted(record)) return state;
  if (isSurelyUnmade(record)) return goneNow(state, "each call to make it was refused", now);
  const { forced, instance, destroyAskedAt } = record;
  const mayLive = livePlacements(state).length > 0 || (instance !== null && destroyAskedAt === null);
  if (forced === undefined || mayLive) return state;
  const what = instance === null ? "a machine" : `machine ${instance.id}`;
  return goneNow(state, `its end was forced by ${forced}: ${what} may be left at its provider`, now);
}

/** The machine that a forced end may leave behind; undefined: its end is not forced, or there is none. */
export function leftBehind(record: WorkerRecord): LeftBehind | undefined {
  const { forced, intent, instance } = record;
  if (forced === undefined || intent.kind === "self-hosted" || isSurelyUnmade(record)) return undefined;
  return { worker: intent.worker, instance: instance?.id ?? null, provider: intent.provider.url };
}
