// For how long is the machine of a failed run kept, so that people can look into it (tasks.md#kept)?
import { hasEnded } from "../../../probes/report.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import { hasFailed } from "../../../shared/run-state.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { EndedHow, Observed, WantedAttempt } from "../../messages.ts";
import type { PlacedRun, RunDraft } from "../draft.ts";
import type { AllocationRecord, Hold, Outcome } from "../state.ts";
import { firstFailed } from "../tasks/group.ts";
import { groupView, type Member } from "../tasks/tasks.ts";
import { closePlacement, storePlacement } from "./placement.ts";

/** Who ends a hold, and why. */
export interface Release {
  by: string;
  reason: string;
}

/** A run whose machine is kept. */
export type HeldRecord = AllocationRecord & { hold: Hold };

/** Whether the machine of the run is kept. The run has ended then, and its epoch is still open. */
export function isHeld(record: AllocationRecord): record is HeldRecord {
  return record.hold !== undefined;
}

/**
 * The tasks of the latest placement into which a hold can lead: a process of each was there, and has ended.
 */
export function heldMembers(record: AllocationRecord): Member[] {
  return groupView(record).members.filter(({ attempt }) => {
    return attempt !== undefined && attempt.startedAt !== null && attempt.state === "exited";
  });
}

/** The task into which commands lead without another choice: the first that failed. */
export function shownMember(record: AllocationRecord): Member | undefined {
  const { result } = groupView(record).group;
  const held = heldMembers(record);
  return firstFailed(held) ?? held.find(({ task }) => task.name === result) ?? held[0];
}

/**
 * Whether a run that ends in this way keeps its machine (tasks.md#kept-1). A host that has stopped the run by
 * itself is about to end, or has lost its control plane.
 */
export function isToBeHeld(record: AllocationRecord, outcome: Outcome): boolean {
  if (record.spec.keep === undefined || record.unkept || record.forced !== undefined) return false;
  const { hostStop } = groupView(record);
  return hasFailed(outcome) && hostStop === undefined && heldMembers(record).length > 0;
}

/** Begins the hold of a run that has just ended. Its epoch stays open (rule R3). */
export function beginHold(run: PlacedRun): void {
  const { record, now } = run;
  const until = now + durationMs(record.spec.keep ?? "0s");
  storePlacement(run);
  run.set({ hold: { until, over: [] } });
  const { worker } = run.placement;
  const details = { worker, until: iso(until) };
  run.note("Kept", now, `worker ${worker} keeps it until ${iso(until)}, or until it is released`, {
    details,
  });
}

/** Ends the hold if somebody wants that. Its host confirms it (tasks.md#kept-4). */
export function foldRelease(run: RunDraft, { by, reason }: Release): void {
  const { record, now } = run;
  if (!isHeld(record) || record.hold.released !== undefined) return;
  run.set({ hold: { ...record.hold, released: { at: now, by, reason } } });
}

/** Ends a hold whose time is over. */
export function settleHold(run: RunDraft): void {
  const { hold } = run.record;
  if (hold !== undefined && run.now >= hold.until)
    foldRelease(run, { by: "drover", reason: "its time is over" });
}

/** When time alone ends the hold. */
export function holdEndsAt({ hold }: AllocationRecord): Instant | undefined {
  return hold === undefined || hold.released !== undefined ? undefined : hold.until;
}

/** What the host shall keep for a hold. An end at 0 tells the host to end the hold. */
export function heldAttempts(record: AllocationRecord): WantedAttempt[] {
  const { hold } = record;
  if (hold === undefined) return [];
  const holdUntil = hold.released === undefined ? hold.until : 0;
  return heldMembers(record).flatMap(({ attempt }) =>
    attempt === undefined ? [] : [{ id: attempt.id, want: "run", holdUntil }],
  );
}

/**
 * Applies a report on a held placement. The hold is over once the host keeps no task: then no process of it
 * is left there (rule R2). An agent that keeps something says so in each report. One that says nothing of it
 * has never kept anything, since it is older than `keep`.
 */
export function foldHeld(run: PlacedRun, { attempts }: Observed): void {
  const { hold } = run.record;
  if (hold === undefined) return;
  const wanted = heldAttempts(run.record);
  const said = attempts.filter((one) => one.hold !== "kept" && hasEnded(one)).map(({ id }) => id);
  const over = wanted.map(({ id }) => id).filter((id) => hold.over.includes(id) || said.includes(id));
  if (over.length !== hold.over.length) run.set({ hold: { ...hold, over } });
  if (wanted.every(({ id }) => over.includes(id))) endHold(run, "gone", run.now);
}

/** Ends a hold of which nothing is left on its machine, or whose machine is lost. */
export function endHold(run: PlacedRun, how: EndedHow, at: Instant): void {
  const { hold } = run.record;
  const { by, reason } = hold?.released ?? { by: "its host", reason: HOST_ENDED[how] };
  const details = { worker: run.placement.worker, by };
  closePlacement(run, how, at);
  run.set({ hold: undefined });
  run.note("Released", run.now, `its machine keeps it no longer: ${reason}`, { details });
}

const HOST_ENDED: Record<EndedHow, string> = {
  refused: "its worker has refused it",
  gone: "its host has ended that",
  lost: "its machine was lost",
};
