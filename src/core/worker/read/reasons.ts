// Why is a worker in its state, as a code and in words?
import type { WorkerStatus } from "../../../schema/pool.ts";
import type { Why } from "../../../schema/why.ts";
import { iso } from "../../../shared/time/instant.ts";
import { clause } from "../../../shared/words.ts";
import { bootText } from "../host/boot-record.ts";
import { fewerGpusText } from "../host/devices.ts";
import { bootTrouble } from "../life/deadlines.ts";
import { doublesText } from "../life/sighting.ts";
import type { ReadonlyExistingWorker } from "../state.ts";
import type { WorkerActivity } from "./activity.ts";

/** All reason codes (`docs/operating.md` says what to do about each). */
export const WORKER_REASONS = [
  "asked",
  "create_deferred",
  "booting",
  "code_unused",
  "enrolled",
  "idle",
  "running",
  "held",
  "draining",
  "silent",
  "not_ours",
  "destroying",
  "releasing",
  "gone",
] as const;
type WorkerReason = (typeof WORKER_REASONS)[number];

/** Why a worker is in its state, with the numbers behind it (invariant 5). */
export function reasonOf(
  state: ReadonlyExistingWorker,
  shown: WorkerStatus,
  activity: WorkerActivity,
): Why["reason"] {
  const { lastReportAt, leaseUntil, runs } = shown;
  const { destroys, createTries, doubles } = state.record;
  const text = textOf(state, shown, activity);
  const reason: Why["reason"] = { code: codeOf(activity, shown.idleBehavior), text, runs: runs.length };
  if (lastReportAt !== null) reason.lastReportAt = lastReportAt;
  if (activity.kind === "gone") return reason;
  if (doubles.length > 0) reason.text = `${clause(text)}; ${doublesText(doubles)}`;
  if (createTries > 0) reason.createTries = createTries;
  if (destroys !== null) {
    reason.destroyTries = destroys.tries;
    reason.destroySince = iso(destroys.since);
  }
  if (leaseUntil !== null) reason.leaseUntil = leaseUntil;
  return reason;
}

/** The reason in words. If a provider call keeps failing, the number of calls is included. */
function textOf(
  { record }: ReadonlyExistingWorker,
  { reason }: WorkerStatus,
  { kind }: WorkerActivity,
): string {
  const { createTries, destroys, bootProbe } = record;
  switch (kind) {
    case "asked":
    case "booting":
    case "invited":
    case "enrolled":
      if (createTries > 1) return `${clause(reason)}; the provider was asked ${createTries} times`;
      if (bootProbe?.ok === false) return `${reason}: ${bootTrouble(record)}`;
      return [reason, bootText(record) ?? []].flat().join(": ");
    case "destroying": {
      if (destroys === null || destroys.tries < 2) return reason;
      const since = iso(destroys.since);
      const asked = `asked ${destroys.tries} times since ${since} to destroy it`;
      return `${clause(reason)}; the provider was ${asked}, and still lists it`;
    }
    case "idle":
    case "running":
      return [clause(reason), fewerGpusText(record) ?? []].flat().join("; ");
    case "silent":
    case "adopted":
    case "releasing":
    case "gone":
      return reason;
  }
}

function codeOf(activity: WorkerActivity, behavior: WorkerStatus["idleBehavior"]): WorkerReason {
  const unlessHeld = (code: WorkerReason) => (behavior === "hold" ? "held" : code);
  switch (activity.kind) {
    case "asked":
      return unlessHeld(activity.isDeferred ? "create_deferred" : "asked");
    case "invited":
      return unlessHeld("code_unused");
    case "adopted":
      return unlessHeld("not_ours");
    case "booting":
    case "enrolled":
    case "silent":
      return unlessHeld(activity.kind);
    case "idle":
    case "running":
      return behavior === "drain" ? "draining" : unlessHeld(activity.kind);
    case "destroying":
    case "releasing":
    case "gone":
      return activity.kind;
  }
}
