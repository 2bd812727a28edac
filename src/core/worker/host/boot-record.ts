// What does the record of its boot change for a worker (clouds.md#boot-record)?
import type { BootReport } from "../../../probes/boot-record.ts";
import { MAX_TEXT_CHARS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { shutDown } from "../life/shutdown.ts";
import { type ExistingWorker, note, type WorkerRecord, type WorkerState } from "../state.ts";

/** A script that begins more often than this is not listened to any more: each start costs written rows. */
const MAX_STARTS = 20;
/** How much of what a failed script has said is in the reason. */
const LAST_WORDS = 3;

/**
 * Stores what a machine's script says of the boot. Each report is whole: one that is not longer than what is
 * known came late. A step keeps the time that its first report gave it. A script that has failed makes no
 * host, so a machine that is set to `run` ends at once, and costs nothing until its time-out.
 */
export function foldBoot(state: ExistingWorker, { id, steps }: BootReport, now: Instant): WorkerState {
  const { record } = state;
  const known = record.boot?.id === id ? record.boot.steps : [];
  const starts = record.boot === undefined ? 1 : record.boot.starts + (record.boot.id === id ? 0 : 1);
  if (record.phase === "gone" || steps.length <= known.length || starts > MAX_STARTS) return state;
  const news = steps.slice(known.length).map(({ agoMs, step, text }) => ({ at: now - agoMs, step, text }));
  const told = { ...state, record: { ...record, boot: { id, starts, steps: [...known, ...news] } } };
  const failed = news.find(({ step }) => step === "failed");
  if (failed === undefined || record.phase !== "booting") return told;
  const words = news.filter(({ step }) => step === "output").slice(-LAST_WORDS);
  const why = [failed, ...words].map(({ text }) => text).join(": ");
  const reason = `its boot has failed: ${why}`.slice(0, MAX_TEXT_CHARS);
  const noted = { ...told, record: note(told.record, "Boot Failed", reason, now) };
  return record.idleBehavior === "run" ? shutDown(noted, reason, now, "failure") : noted;
}

/** What the machine does at present in its boot. Undefined: its script has not reported. */
export function bootText({ boot }: Pick<WorkerRecord, "boot">): string | undefined {
  const last = boot?.steps.findLast(({ step }) => step !== "output");
  return last && `${last.text} (since ${iso(last.at)})`;
}
