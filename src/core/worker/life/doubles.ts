import type { Sighting } from "../../messages.ts";
import { type Living, note, type WorkerRecord } from "../state.ts";

/**
 * Folds in which other machines a listing has under the worker's name: its provider has made several for one
 * token. They are told, and left alone while the worker lives: nobody knows on which of them its host runs.
 */
export function withDoubles(state: Living, { doubles, beganAt }: Sighting): Living {
  const { doubles: known = [], ...record } = state.record;
  if (doubles === undefined || record.phase === "gone" || isSame(known, doubles)) return state;
  if (doubles.length === 0) {
    const text = "the provider lists no other machine under its name any more";
    return { ...state, record: note(record, "Doubles Gone", text, beganAt) };
  }
  const next: WorkerRecord = { ...record, doubles };
  return { ...state, record: note(next, "Doubles Seen", doublesText(doubles), beganAt) };
}

/** That there are others, and what becomes of them. */
export function doublesText(doubles: readonly string[]): string {
  const ids = doubles.join(", ");
  const then = "that costs money, and ends when this worker has gone";
  return `its provider also lists ${ids} under its name: ${then}`;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((id) => others.includes(id));
}
