// What does a report say about its host and the machine, and what does this change in the worker?
import { readBoot } from "../../../probes/boot.ts";
import { isSameNotice, type Notice, noticeIn } from "../../../probes/notice.ts";
import { staleAfter, staleText, type Trouble, troubleIn } from "../../../probes/trouble.ts";
import type { HostEngine, Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { isEnding, isSelfHosted, note, type WorkerRecord, withBootOutcome } from "../state.ts";

/**
 * Applies what a report says about the host. Everything is judged before any change is noted. Trouble is
 * noted before the boot probe, so that the boot of a broken machine counts as failed
 * (workers.md#trouble-first).
 */
export function foldNews(before: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const { intent, phase, notice: known } = before;
  const { bootCommand, staleRunMs } = intent.settings;
  const stale = staleAfter(before.stale, report, now);
  const newRuns = Object.entries(stale).filter(([run]) => !Object.hasOwn(before.stale, run));
  const staleTexts = newRuns.map(([run, { holder }]) => staleText(run, holder));
  const found = troubleIn(report, stale, staleRunMs, now);
  const unfit = isSelfHosted(before) && found?.kind === "broken" ? found : undefined;
  const trouble = unfit === undefined ? found : undefined;
  const boot = isSelfHosted(before) ? FIRST_REPORT : readBoot(before.bootProbe, report, bootCommand);
  const notice = noticeIn(report, now) || unfitness(known, unfit, report);
  const ends = isEnding(before);
  const isKnown = known !== null && notice != null && isSameNotice(known, notice);

  let record = stale === before.stale ? before : { ...before, stale };
  for (const text of staleTexts) record = note(record, "Stale Run", text, now);
  // If an operator sets `run` while the trouble lasts, the next report sets `drain` again (tasks.md#kill-6).
  if (trouble !== undefined && record.idleBehavior === "run") {
    const isBroken = trouble.kind === "broken";
    const reason = `${trouble.kind}: ${trouble.text}`;
    // If a broken host was never ready, its boot has failed.
    const judged = isBroken ? withBootOutcome(record, "failure") : record;
    const [type, text] = isBroken ? ["Broken", trouble.text] : ["Unkillable", reason];
    record = note({ ...judged, idleBehavior: "drain", reason }, type, text, now);
  }
  // A boot probe counts until its first success (workers.md#t1).
  if (boot !== undefined && phase === "booting") {
    const { probe: bootProbe, text } = boot;
    if (bootProbe?.ok === false) record = note({ ...record, bootProbe }, "Boot Probe Failed", text, now);
    else {
      // A draining worker keeps the reason for its drain.
      const reason = record.idleBehavior === "drain" ? record.reason : "ready";
      const booted = { ...withBootOutcome(record, "success"), bootProbe, reason };
      record = note({ ...booted, phase: "ready", readyAt: now }, "Ready", text, now);
    }
  }
  // A report that does not mention a notice does not withdraw it: a restarted agent may not know the notice
  // yet.
  if (notice === null && known !== null && !ends) {
    const reason = record.reason === `its host drains: ${known.text}` ? record.phase : record.reason;
    record = known.unfit
      ? note({ ...record, notice, reason }, "Fit Again", "its machine is fit again", now)
      : note({ ...record, notice, reason }, "Notice Withdrawn", "its host has withdrawn the notice", now);
  }
  if (notice != null && !isKnown) {
    const text = `its host drains: ${notice.text}`;
    const by = notice.goneAt === null ? "" : `, and it will be gone at ${iso(notice.goneAt)}`;
    // A worker that is ending, or has a behavior set by an operator, keeps its reason.
    const reason = !ends && record.idleBehavior === "run" ? text : record.reason;
    record = note({ ...record, notice, reason }, notice.unfit ? "Broken" : "Notice", `${text}${by}`, now);
  }
  // Both rarely change, so they are rarely written.
  const protocol = report.means?.protocol ?? 0;
  if (protocol !== record.protocol) record = { ...record, protocol };
  return withEngine(record, report.means?.engine, now);
}

/** Notes the container engine of the host, and since when it cannot be used (containers.md#outage). */
function withEngine(record: WorkerRecord, engine: HostEngine | undefined, now: Instant): WorkerRecord {
  const { engine: known, ...rest } = record;
  if (engine === undefined)
    return known === undefined
      ? record
      : note(rest, "Engine Gone", `there is no ${known.name} any more`, now);
  if (known !== undefined && isSameEngine(known, engine)) return record;
  const changed = { ...record, engine };
  if (engine.fault !== null && engine.fault !== known?.fault)
    return known === undefined ? changed : note(changed, FAULTS[engine.state], engine.fault, now);
  const isBack = known !== undefined && known.fault !== null;
  return isBack ? note(changed, "Engine Up", `${engine.name} answers again`, now) : changed;
}

/** The event of an engine that has another fault than before. */
const FAULTS: Record<HostEngine["state"], string> = {
  usable: "Engine Fault",
  down: "Engine Down",
  refused: "Engine Refused",
};

function isSameEngine(a: HostEngine, b: HostEngine): boolean {
  return (["name", "version", "api", "logs", "state", "fault"] as const).every(
    (field) => a[field] === b[field],
  );
}

/**
 * The notice of a self-hosted machine about its fitness, as in `noticeIn`. A machine that Drover has made is
 * destroyed if it is broken. This one stays, and somebody may mend it, so it only gets no runs meanwhile
 * (workers.md#unfit-hosts).
 */
function unfitness(
  known: Notice | null,
  unfit: Trouble | undefined,
  { full, draining }: Report,
): Notice | null | undefined {
  if (unfit !== undefined) return { text: unfit.text, goneAt: null, unfit: true };
  const isOver = known?.unfit === true ? full : draining === null;
  return isOver ? null : undefined;
}

/** A self-hosted machine is ready with its first report. */
const FIRST_REPORT = { probe: null, text: "its host reports" };
