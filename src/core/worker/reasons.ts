import type { WorkerStatus } from "../../schema/pool.ts";
import type { Why } from "../../schema/why.ts";
import { isOwnMachine, type Living } from "./state.ts";

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
export function reasonOf(state: Living, shown: WorkerStatus): Why["reason"] {
  const { lastReportAt, leaseUntil, runs, reason: text } = shown;
  const reason: Why["reason"] = { code: codeOf(state, shown), text, runs: runs.length };
  if (lastReportAt !== null) reason.lastReportAt = lastReportAt;
  if (leaseUntil !== null && shown.state !== "gone") reason.leaseUntil = leaseUntil;
  return reason;
}

function codeOf(state: Living, { state: shown, idleBehavior }: WorkerStatus): WorkerReason {
  const { record } = state;
  if (shown === "gone") return "gone";
  if (shown === "shutdown") return isOwnMachine(record) ? "let_go" : "destroying";
  if (idleBehavior === "hold") return "held";
  switch (shown) {
    case "booting":
      if (isOwnMachine(record)) return record.secret === null ? "code_unused" : "enrolled";
      if (record.createNotBefore !== null) return "create_deferred";
      return record.instance === null ? "asked" : "booting";
    case "unknown":
      return isAdopted(state) ? "not_ours" : "silent";
    default:
      return idleBehavior === "drain" ? "draining" : shown;
  }
}

function isAdopted({ record: { intent } }: Living): boolean {
  return intent.provider !== null && intent.adopt !== undefined;
}
