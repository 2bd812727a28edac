// Did the provider make several machines for one worker?
import type { Sighting } from "../../messages.ts";
import { type ExistingWorker, note } from "../state.ts";

/**
 * Notes other machines that a listing shows under the worker's name: the provider made several for one token.
 * They are shown, and left alone while the worker lives, since its host may run on any of them.
 */
export function withDoubles(state: ExistingWorker, { doubles, beganAt }: Sighting): ExistingWorker {
  const { record } = state;
  if (doubles === undefined || record.phase === "gone" || isSame(record.doubles, doubles)) return state;
  const gone = "the provider no longer lists any other machine under its name";
  const [type, text] = doubles.length === 0 ? ["Doubles Gone", gone] : ["Doubles Seen", doublesText(doubles)];
  return { ...state, record: note({ ...record, doubles }, type, text, beganAt) };
}

/** Says that there are other machines, and what happens to them. */
export function doublesText(doubles: readonly string[]): string {
  const ids = doubles.join(", ");
  const then = "they cost money until this worker is gone";
  return `its provider also lists ${ids} under its name: ${then}`;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((id) => others.includes(id));
}
