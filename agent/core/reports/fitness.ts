// Is this machine fit to be a host (workers.md#unfit-hosts)?
import type { Report } from "../../../src/schema/host.ts";
import { MAX_TEXT_CHARS } from "../../../src/shared/limits.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import type { HostMessage } from "../messages.ts";
import type { FitnessState, HostState } from "../types.ts";
import { reportFully } from "./socket.ts";

/** How often the host inspects its machine. */
export const INSPECT_EVERY_MS: Millis = 15_000;
/** How long a fault must last. A run that fills the disk for a moment does not make its machine unfit. */
export const FAULT_LASTS_MS: Millis = 45_000;

/**
 * Applies the result of an inspection. `fault`: why the machine is not fit; null: it is fit. A fault counts
 * once it has lasted for a while, whatever its words are meanwhile.
 */
export function foldInspected(state: HostState, fault: string | null, now: Instant): HostState {
  const before = state.fitness;
  const rest = { running: false, nextAt: now + INSPECT_EVERY_MS };
  const fitness: FitnessState = fault === null ? rest : { ...rest, since: before.since ?? now };
  if (fault !== null && now - (fitness.since ?? now) >= FAULT_LASTS_MS) {
    fitness.broken = before.broken ?? fault.slice(0, MAX_TEXT_CHARS);
  }
  const next = { ...state, fitness };
  return fitness.broken === before.broken ? next : reportFully(next, now);
}

/** Whether the machine is fit, in a full report. */
export function fitnessReport({ fitness }: HostState): Pick<Report, "broken"> {
  return fitness.broken === undefined ? {} : { broken: fitness.broken };
}

/** The inspection, if it is due. */
export function dueInspection({ fitness, ending }: HostState): HostMessage[] {
  return fitness.running && ending === undefined ? [{ to: "machine", kind: "inspect" }] : [];
}
