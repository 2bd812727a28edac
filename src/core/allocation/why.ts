import type { Why } from "../../schema/run.ts";
import { durationMs, formatDuration } from "../duration.ts";
import type { FailureCode } from "../errors.ts";
import { STORE_OUTPUTS_MS } from "../limits.ts";
import type { Instant } from "../machine.ts";
import { lastByteBy } from "./logs.ts";
import { deadlineOf } from "./orders.ts";
import { givenUpKills } from "./outcome.ts";
import { uploadingAttempt } from "./outputs.ts";
import { type AllocationRecord, type AllocationState, openPlacement } from "./state.ts";
import { statusOf } from "./status.ts";
import { stateOf } from "./summary.ts";
import { groupOfRun, viewsOf } from "./tasks.ts";

/**
 * Why a run is where it is, for programs: with what its pool says of one that waits (`WAIT_CODES`), and the
 * codes of failures, the closed list (`docs/operating.md` says what to do).
 */
export const RUN_REASONS = [
  "waiting",
  "starting",
  "running",
  "uploading",
  "backoff",
  "stopping",
  "unkillable",
  "rescheduling",
  "last_bytes",
  "ended",
] as const;

function because(code: (typeof RUN_REASONS)[number] | FailureCode, text: string): Why["reason"] {
  return { code, text };
}

/**
 * Why a run is where it is, and what happens next (invariant 5). `other` is what its pool says of a run that
 * waits for a place, or its worker of one that has one.
 */
export function whyOf(
  state: AllocationState & { record: AllocationRecord },
  other: Why | null,
  worker: string | null,
): Why {
  const { record } = state;
  const { description } = statusOf(state);
  const chain: Why["chain"] = [{ what: `run ${record.id}`, state: stateOf(record), text: description }];
  if (record.ended) {
    const code = record.outcome?.failure?.code ?? "ended";
    return {
      state: stateOf(record),
      reason: because(code, description),
      next: { action: "nothing: it has ended", at: null },
      chain,
    };
  }
  if (other !== null) {
    const what = worker === null ? `pool ${record.spec.pool}` : `worker ${worker}`;
    chain.push({ what, state: other.state, text: other.reason.text }, ...other.chain);
  }
  const [stuck] = givenUpKills(record, openPlacement(state)?.epoch ?? 0);
  if (stuck !== undefined) {
    const text = `${stuck.id} cannot be killed, its host goes on trying, and its worker drains`;
    const next = { action: "end it, when it or its machine is gone", at: null };
    return { state: stateOf(record), reason: because("unkillable", text), next, chain };
  }
  if (record.wish !== null) {
    const { killSignal, killTimeout } = record.spec;
    const begun = openPlacement(state) !== null;
    const stop = begun ? `; its command gets ${killSignal}, and is killed after ${killTimeout}` : "";
    const text = `it is being stopped (${record.wish.reason})${stop}`;
    return {
      state: stateOf(record),
      reason: because("stopping", text),
      next: { action: `wait for the ${begun ? "host" : "pool"} to confirm`, at: null },
      chain,
    };
  }
  if (record.placeAt !== undefined) {
    const text = "its latest placement was lost or has failed; it is placed anew after a delay";
    const next = { action: "ask for another place", at: iso(record.placeAt) };
    return { state: stateOf(record), reason: because("rescheduling", text), next, chain };
  }
  if (openPlacement(state) === null) {
    const reason = other?.reason ?? because("waiting", "it waits for its pool");
    return { state: stateOf(record), reason, next: other?.next ?? queueEnd(record), chain };
  }
  if (record.outcome !== null) {
    const reason = because("last_bytes", "it has ended; the last bytes of its logs are on the way");
    const next = { action: "end without them", at: iso(lastByteBy(record, record.outcome.at)) };
    return { state: stateOf(record), reason, next, chain };
  }
  const resting = restingTask(record);
  if (resting !== null) {
    const text = `task ${resting.name} has ended, and is started again after a delay`;
    const reason = because("backoff", text);
    return { state: stateOf(record), reason, next: { action: "start it again", at: iso(resting.at) }, chain };
  }
  if (uploadingAttempt(record) !== undefined) {
    const text = `the command has ended; worker ${worker} collects its outputs and stores them`;
    const next = uploadEnd(record);
    return { state: stateOf(record), reason: because("uploading", text), next, chain };
  }
  const started = stateOf(record) === "running";
  const code = started ? "running" : "starting";
  const text = started ? "its command is running" : `worker ${worker} has been ordered to start it`;
  return { state: stateOf(record), reason: because(code, text), next: timeEnd(record), chain };
}

/** Of the tasks in their restart delays the one that is due first, if none of the others runs. */
function restingTask(record: AllocationRecord): { name: string; at: Instant } | null {
  const views = viewsOf(record, groupOfRun(record), record.endedEpoch + 1);
  if (views.some((view) => view.state === "running")) return null;
  const resting = record.tasks.flatMap(({ name, startAt, dead, stopFrom }) =>
    startAt === undefined || dead !== undefined || stopFrom !== undefined ? [] : [{ name, at: startAt }],
  );
  return resting.sort((a, b) => a.at - b.at)[0] ?? null;
}

function queueEnd(record: AllocationRecord): Why["next"] {
  if (record.spec.queueTimeout === undefined) return { action: "place it", at: null };
  return { action: "give up", at: iso(record.waitingSince + durationMs(record.spec.queueTimeout)) };
}

/**
 * Its host gives up once nothing could be stored for a while, however long that takes: it alone knows when.
 * The time limit of the run is one over all phases.
 */
function uploadEnd(record: AllocationRecord): Why["next"] {
  if (deadlineOf(record, null) !== undefined) return timeEnd(record);
  const patience = formatDuration(STORE_OUTPUTS_MS);
  return { action: `end it without them, if nothing can be stored for ${patience}`, at: null };
}

function timeEnd(record: AllocationRecord): Why["next"] {
  const deadline = deadlineOf(record, null);
  if (deadline === undefined) return { action: "wait for it to end", at: null };
  return { action: "stop it: its time is over", at: iso(deadline) };
}

function iso(at: Instant): string {
  return new Date(at).toISOString();
}
