import { type BootOutcome, bootFailure, bootOutcomeOf, readBoot } from "../../../probes/boot.ts";
import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isSelfHosted, note, type WorkerRecord } from "../state.ts";

/**
 * The boot probe counts until it has succeeded once (workers.md#t1). A self-hosted machine is up
 * when its host says anything.
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
  return instance === null ? reason : "nothing has been heard of its host";
}

function ready(record: WorkerRecord, text: string, now: Instant): WorkerRecord {
  const reported = withBootOutcome(record, "success");
  // One that drains ends for the reason for which it drains, ready or not.
  const reason = record.idleBehavior === "drain" ? record.reason : "ready";
  return note({ ...reported, phase: "ready", reason, readyAt: now }, "Ready", text, now);
}

/** Reports an outcome. The first one stays; where there is no machine, there is no boot and no outcome. */
export function withBootOutcome(record: WorkerRecord, outcome: BootOutcome): WorkerRecord {
  const hasMachine = record.createdAt !== null || record.secret !== null;
  if (!hasMachine || bootOutcomeOf(record) !== undefined) return record;
  return { ...record, bootOutcome: outcome };
}
