// How does an operator destroy a machine by name, and when does a worker end without an observed end?
import { accountName } from "../../../shared/cloud/account.ts";
import type { Instant } from "../../../shared/machine.ts";
import { because } from "../../../shared/words.ts";
import type { LeftBehind } from "../../messages.ts";
import {
  type ExistingWorker,
  isSelfHosted,
  livePlacements,
  note,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";
import { withTurn } from "./calls.ts";
import { goneNow, shutDown } from "./shutdown.ts";

/** Who destroys the machine, and why. `force`: the worker's end does not wait for a listing. */
export interface Kill {
  reason: string;
  by: string;
  force?: boolean;
}

/** Destroys the machine now, even with runs on it, and without waiting for its turn (invariant 4). */
export function foldKill(
  state: ExistingWorker,
  { reason, by, force = false }: Kill,
  now: Instant,
): WorkerState {
  const { record } = state;
  const addsForce = force && record.forced === null;
  if (record.phase === "gone" || (record.killedBy !== null && !addsForce)) return state;
  // The destroy comes before a look. The next listing begins another one.
  const named = { ...record, killedBy: record.killedBy ?? by, looks: false };
  const text = `forced by ${by}: its end waits for no listing, and a machine may be left at its provider`;
  const killed = addsForce ? note({ ...named, forced: by }, "Forced", text, now) : named;
  const ended = shutDown({ ...state, record: killed }, because(`killed by ${by}`, reason), now);
  return ended.record === null ? ended : { ...ended, record: withTurn(ended.record) };
}

/**
 * Whether there is certainly no machine: each create call was refused, and no call is in flight. Then no
 * listing is needed as proof.
 */
export function isSurelyUnmade(record: WorkerRecord): boolean {
  const { phase, instance, secret, failure, mayBeMade, calling, waits } = record;
  if (instance !== null || secret !== null || failure?.refused !== true) return false;
  return !mayBeMade && !calling && (phase !== "booting" || waits);
}

/**
 * Ends a worker without a listing as proof, if its machine was never made or its end was forced. A forced end
 * still waits for the answer to one destroy call, and for the end of all live placements (invariant 4).
 */
export function foldEnd(state: ExistingWorker, now: Instant): WorkerState {
  const { record } = state;
  if (record.phase !== "shutdown" || isSelfHosted(record)) return state;
  if (isSurelyUnmade(record)) return goneNow(state, "each call to make it was refused", now);
  const { forced, instance, destroyAskedAt, doubles, formerDoubles } = record;
  const mayLive = livePlacements(state).length > 0 || (instance !== null && destroyAskedAt === null);
  if (forced === null || mayLive) return state;
  const what = instance === null ? "a machine" : `machine ${instance.id}`;
  const others = [...doubles, ...formerDoubles].map((id) => `, and ${id} under its name,`).join("");
  return goneNow(state, `its end was forced by ${forced}: ${what}${others} may be left at its provider`, now);
}

/** The machines that a forced end may leave behind; undefined: none. */
export function leftBehind(record: WorkerRecord): LeftBehind | undefined {
  const { forced, intent, instance } = record;
  if (forced === null || intent.kind === "self-hosted" || isSurelyUnmade(record)) return undefined;
  const left = {
    worker: intent.worker,
    instance: instance?.id ?? null,
    provider: accountName(intent.provider),
  };
  const others = [...record.doubles, ...record.formerDoubles];
  return others.length === 0 ? left : { ...left, others };
}
