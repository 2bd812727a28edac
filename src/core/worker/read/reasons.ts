import type { WorkerStatus } from "../../../schema/pool.ts";
import type { Why } from "../../../schema/why.ts";
import { iso } from "../../../shared/time/instant.ts";
import { clause } from "../../../shared/words.ts";
import { bootTrouble } from "../life/boot.ts";
import { isUnmade } from "../life/deadlines.ts";
import { doublesText } from "../life/doubles.ts";
import { isSelfHosted, type ReadonlyLiving } from "../state.ts";

/** Why a worker is in its state, for programs: the closed list (`docs/operating.md` says what to do). */
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
  "let_go",
  "gone",
] as const;
type WorkerReason = (typeof WORKER_REASONS)[number];

/** Why a worker is in its state, with the numbers that this follows from (invariant 5). */
export function reasonOf(state: ReadonlyLiving, shown: WorkerStatus): Why["reason"] {
  const { lastReportAt, leaseUntil, runs } = shown;
  const { destroys, createTries } = state.record;
  const reason: Why["reason"] = { code: codeOf(state, shown), text: textOf(state, shown), runs: runs.length };
  if (createTries !== undefined && shown.state !== "gone") reason.createTries = createTries;
  if (destroys !== undefined && shown.state !== "gone") {
    reason.destroyTries = destroys.tries;
    reason.destroySince = iso(destroys.since);
  }
  if (lastReportAt !== null) reason.lastReportAt = lastReportAt;
  if (leaseUntil !== null && shown.state !== "gone") reason.leaseUntil = leaseUntil;
  return reason;
}

/** Why it is so, and what else costs money in its name. */
function textOf(state: ReadonlyLiving, shown: WorkerStatus): string {
  const { doubles } = state.record;
  const text = ownText(state, shown);
  return doubles === undefined || shown.state === "gone" ? text : `${clause(text)}; ${doublesText(doubles)}`;
}

/** Why it is so: of what does not get on, how often that was tried, too. */
function ownText({ record }: ReadonlyLiving, { state: shown, reason }: WorkerStatus): string {
  const { createTries = 0, destroys } = record;
  if (shown === "booting" && createTries > 1) return `${clause(reason)}; it was asked ${createTries} times`;
  if (shown === "booting" && record.bootProbe?.ok === false) return `${reason}: ${bootTrouble(record)}`;
  if (shown !== "shutdown" || destroys === undefined || destroys.tries < 2) return reason;
  const since = iso(destroys.since);
  const asked = `asked ${destroys.tries} times since ${since} to destroy it`;
  return `${clause(reason)}; the provider was ${asked}, and still lists it`;
}

function codeOf(state: ReadonlyLiving, { state: shown, idleBehavior }: WorkerStatus): WorkerReason {
  const { record } = state;
  if (shown === "gone") return "gone";
  if (shown === "shutdown") return isSelfHosted(record) ? "let_go" : "destroying";
  if (idleBehavior === "hold") return "held";
  switch (shown) {
    case "booting":
      if (isSelfHosted(record)) return record.secret === null ? "code_unused" : "enrolled";
      // It was refused, or had no answer, and nobody has seen a machine of it.
      if (isUnmade(state) && record.failure !== undefined) return "create_deferred";
      return record.instance === null ? "asked" : "booting";
    case "unknown":
      return isAdopted(state) ? "not_ours" : "silent";
    default:
      return idleBehavior === "drain" ? "draining" : shown;
  }
}

function isAdopted({ record: { intent } }: ReadonlyLiving): boolean {
  return intent.kind === "cloud" && intent.adopt !== undefined;
}
