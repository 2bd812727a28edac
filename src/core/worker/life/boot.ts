import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { type BootProbe, isOwnMachine, note, type WorkerRecord } from "../state.ts";
import { withBootOutcome } from "./boot-outcome.ts";

/**
 * The boot probe counts until it has succeeded once (workers.md#t1). A self-hosted machine is up
 * when its host says anything.
 */
export function foldBoot(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.phase !== "booting") return record;
  if (isOwnMachine(record)) return ready(record, "its host reports", now);
  const { boot } = report;
  if (boot === undefined || boot === null) return record;
  if (boot.ok) return ready({ ...record, bootProbe: boot }, "the boot probe succeeded", now);
  if (record.bootProbe !== null && probeText(record, record.bootProbe) === probeText(record, boot))
    return record;
  return note({ ...record, bootProbe: boot }, "Boot Probe Failed", probeText(record, boot), now);
}

/** Why a machine is not ready yet, as far as that is known. */
export function bootTrouble(record: WorkerRecord): string {
  const { bootProbe, secret, instance } = record;
  if (bootProbe !== null) return probeText(record, bootProbe);
  if (secret !== null) return "its host has enrolled, and its boot probe has not ended";
  return instance === null ? record.reason : "nothing has been heard of its host";
}

/** What a boot probe came to: which command, with which exit code, and what it wrote. */
function probeText({ intent }: WorkerRecord, { exitCode, output }: BootProbe): string {
  const code =
    exitCode === undefined ? "" : exitCode === null ? " (it was killed)" : ` with exit code ${exitCode}`;
  const wrote = output.trim() === "" ? ", and wrote nothing" : `: ${output.trim()}`;
  return `its boot probe \`${intent.settings.bootCommand}\` failed${code}${wrote}`;
}

function ready(record: WorkerRecord, text: string, now: Instant): WorkerRecord {
  const reported = withBootOutcome(record, "success");
  // One that drains ends for the reason for which it drains, ready or not.
  const reason = record.idleBehavior === "drain" ? record.reason : "ready";
  return note({ ...reported, phase: "ready", reason, readyAt: now }, "Ready", text, now);
}
