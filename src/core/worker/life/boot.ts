// When is a booting worker ready, and how did its boot end?
import { type BootOutcome, bootFailure, readBoot } from "../../../probes/boot.ts";
import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isSelfHosted, note, type WorkerRecord } from "../state.ts";

/**
 * Folds in a boot probe, which counts until its first success (workers.md#t1). A self-hosted machine is ready
 * with its first report.
 */
export function foldBoot(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.phase !== "booting") return record;
  if (isSelfHosted(record)) return ready(record, "its host reports", now);
  const news = readBoot(record.bootProbe, report, record.intent.settings.bootCommand);
  if (news === undefined) return record;
  const probed = { ...record, bootProbe: news.probe };
  return news.probe.ok ? ready(probed, news.text, now) : note(probed, "Boot Probe Failed", news.text, now);
}

/** Why a machine is not ready yet, as far as that is known. */
export function bootTrouble({ bootProbe, secret, instance, reason, intent }: WorkerRecord): string {
  if (bootProbe !== null) return bootFailure(bootProbe, intent.settings.bootCommand);
  if (secret !== null) return "its host has enrolled, and its boot probe has not ended";
  return instance === null ? reason : "its host has not called yet";
}

function ready(record: WorkerRecord, text: string, now: Instant): WorkerRecord {
  const reported = withBootOutcome(record, "success");
  // A draining worker keeps the reason why it drains.
  const reason = record.idleBehavior === "drain" ? record.reason : "ready";
  return note({ ...reported, phase: "ready", reason, readyAt: now }, "Ready", text, now);
}

/** Sets the boot's outcome. The first outcome is final; without a machine there is none. */
export function withBootOutcome(record: WorkerRecord, outcome: BootOutcome): WorkerRecord {
  const hasMachine = record.createdAt !== null || record.secret !== null;
  if (!hasMachine || record.bootOutcome !== null) return record;
  return { ...record, bootOutcome: outcome };
}
