// When does an agent make room for a newer one (host-protocol.md#self-update)?
import type { Instant, Millis } from "../../src/shared/machine.ts";
import type { HostMessage } from "./messages.ts";
import type { HostState, UpdateState } from "./types.ts";

/** How long an agent waits after it could not fetch a newer one. */
export const FETCH_AGAIN_MS: Millis = 10 * 60_000;
/** The exit code of an agent that is to be started again, since its file is a newer agent now. */
export const UPDATED_EXIT_CODE = 6;

/** An agent that runs from a file with the digest `own`. Undefined: it does not update itself. */
export function newUpdate(own: string | undefined): UpdateState {
  const rest = { notBefore: 0, isProven: false };
  return own === undefined ? rest : { own, ...rest };
}

/**
 * Notes that a report was answered, and which agent the control plane serves. `served`: its digest;
 * undefined: it does not say.
 */
export function foldServed(state: HostState, served: string | undefined): HostState {
  const { own, wanted, ready, isProven } = state.update;
  const next = own === undefined || served === own ? undefined : served;
  if (next === wanted && isProven) return state;
  const known = ready === next ? ready : undefined;
  return { ...state, update: { ...state.update, wanted: next, ready: known, isProven: true } };
}

/** Applies the outcome of fetching an agent. `failed`: it is not there, or does not run here. */
export function foldFetched(state: HostState, sha256: string, failed: boolean, now: Instant): HostState {
  const { update } = state;
  if (failed) return { ...state, update: { ...update, notBefore: now + FETCH_AGAIN_MS } };
  return { ...state, update: { ...update, ready: sha256 } };
}

/**
 * What is due for an update. An agent makes room only between runs: attempts would go on without it, but
 * nobody would hear of their ends for a while.
 */
export function dueUpdate(state: HostState, now: Instant): HostMessage[] {
  const { wanted, ready, notBefore } = state.update;
  const isBusy = Object.keys(state.attempts).length > 0 || state.ending !== undefined;
  if (wanted === undefined || isBusy) return [];
  if (ready === wanted) {
    const reason = "a newer agent takes its place";
    return [{ to: "process", kind: "exit", code: UPDATED_EXIT_CODE, reason, powerOff: false }];
  }
  return now < notBefore ? [] : [{ to: "agent", kind: "fetch_agent", sha256: wanted }];
}
