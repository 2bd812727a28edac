import type { Report } from "../../schema/host.ts";
import type { Instant } from "../machine.ts";
import { withBootOutcome } from "./boot-outcome.ts";
import { isOwnMachine, note, type WorkerRecord } from "./state.ts";

/**
 * The boot probe counts until it has succeeded once (`arvados.md` §1.4, T1). A machine of one's own is up
 * when its host says anything.
 */
export function foldBoot(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.phase !== "booting") return record;
  if (isOwnMachine(record)) return ready(record, "its host reports", now);
  const { boot } = report;
  if (boot === undefined || boot === null) return record;
  if (boot.ok) return ready({ ...record, bootProbe: boot }, "the boot probe succeeded", now);
  if (record.bootProbe?.output === boot.output) return record;
  return note({ ...record, bootProbe: boot }, "Boot Probe Failed", boot.output, now);
}

function ready(record: WorkerRecord, text: string, now: Instant): WorkerRecord {
  const reported = withBootOutcome(record, "success");
  // One that drains ends for the reason for which it drains, ready or not.
  const reason = record.idleBehavior === "drain" ? record.reason : "ready";
  return note({ ...reported, phase: "ready", reason, readyAt: now }, "Ready", text, now);
}
