// Which invariants must every step of a run keep?
import { jobsIn } from "../../shared/after/entries.ts";
import { MAX_RUN_EVENTS } from "../../shared/limits.ts";
import type { Invariant } from "../../shared/machine.ts";
import { grows, ofRecord } from "../invariants.ts";
import { revisionAt } from "./placements/orders.ts";
import { isAccepted } from "./placements/placed.ts";
import type { AllocationRecord, AllocationState } from "./state.ts";

const ofRun = ofRecord<AllocationRecord>;

/** The invariants of a run, for `check` (shell.md#assertions). */
export const allocationInvariants: readonly Invariant<AllocationState>[] = [
  {
    rule: "rules.md#invariant-1",
    broken: (before, { record, tombstone }) =>
      isAccepted(before) && before.record !== null && record === null && tombstone === undefined
        ? "it was accepted, but is lost"
        : undefined,
  },
  ofRun("rules.md#r1", grows("version")),
  ofRun("rules.md#r1", (before, after, now) => {
    const [old, last] = [before.placements.at(-1), after.placements.at(-1)];
    if (old === undefined || old.to !== null || old.epoch !== last?.epoch) return undefined;
    // The stored revision may shrink. `revisionAt`, which adds the delays that have passed, must not.
    const [was, is] = [revisionAt(before, now), revisionAt(after, now)];
    return last.to === null && is < was ? `revision ${is} of its order follows ${was}` : undefined;
  }),
  ofRun("jobs.md#following", (_before, { awaits = [] }) => {
    const [open] = jobsIn(awaits);
    return open && `it waits for a run of job ${open.job}, and nobody has said which`;
  }),
  ofRun("rules.md#r2", grows("endedEpoch")),
  ofRun("rules.md#r2", (before, { placements, endedEpoch }) => {
    if (placements === before.placements) return undefined;
    const wrong = placements.find(({ epoch, to }, i) => {
      const isLast = i === placements.length - 1;
      return to === null ? !isLast || epoch !== endedEpoch + 1 : epoch > endedEpoch;
    });
    return wrong && `epoch ${wrong.epoch} is ${wrong.outcome} when ${endedEpoch} has ended`;
  }),
  ofRun("rules.md#r3", (_before, { ended, outcome, placements, hold }) => {
    if (!ended) return hold === undefined ? undefined : "it is kept, and has not ended";
    if (outcome === null) return "it has ended without an outcome";
    const isOpen = placements.at(-1)?.to === null;
    if (isOpen === (hold !== undefined)) return undefined;
    return isOpen ? "it has ended without closing its placement" : "it is kept in a closed placement";
  }),
  ofRun("tasks.md#status-3", (before, after) => {
    if (!before.ended) return undefined;
    const wrong = (["outcome", "placements", "tasks"] as const).find((one) => {
      const mayChange = one === "placements" && before.hold !== undefined; // it closes with the hold
      return !mayChange && differ(before[one], after[one]);
    });
    return wrong === undefined && after.ended ? undefined : `it had ended, and its ${wrong ?? "end"} changes`;
  }),
  ofRun("retry.md#tries", (before, after) => {
    if (before.retries === after.retries) return undefined;
    const { endedEpoch, spec } = after;
    const [retries, now] = [before.retries ?? [], after.retries ?? []];
    if (now.length > (spec.retry?.max ?? 0)) return `try ${now.length} has failed, and another follows`;
    const isOneMore = now.length === retries.length + 1 && retries.every((one, i) => one === now[i]);
    if (!isOneMore) return "its failed tries change";
    const isClosed = endedEpoch > before.endedEpoch && now.at(-1)?.epoch === endedEpoch;
    return isClosed ? undefined : "it is to be tried again, and its placement is still open";
  }),
  ofRun("tasks.md#dead-is-final", (before, after) => {
    if (before.tasks === after.tasks || before.endedEpoch !== after.endedEpoch) return undefined;
    const back = before.tasks.find(({ name, dead, round }) => {
      const now = after.tasks.find((one) => one.name === name);
      return dead !== undefined && now !== undefined && now.dead === undefined && now.round === round;
    });
    return back && `task ${back.name} was ${back.dead?.how}, and is alive`;
  }),
  ofRun("tasks.md#history-1", ({ events: old }, { events }) => {
    if (events === old) return undefined;
    const [first, last] = [old.at(-1)?.seq ?? 0, events.at(-1)?.seq ?? 0];
    return events.length > MAX_RUN_EVENTS || last < first
      ? `event ${last} follows ${first}, and it has ${events.length}`
      : undefined;
  }),
];

function differ(before: unknown, after: unknown): boolean {
  return before !== after && JSON.stringify(before) !== JSON.stringify(after);
}
