// What does an allocation decide about its run (rules.md)?

import type { RunSpec } from "../../schema/run/run.ts";
import { distinctAfter } from "../../shared/after/entries.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../../shared/machine.ts";
import { confirmed } from "../audit/outbox.ts";
import { type Caused, viaField } from "../audit/via.ts";
import { type Answered, foldMessage, type Letter, type Message } from "../inbox.ts";
import type { Budget } from "../messages.ts";
import { tasksOf } from "../spec.ts";
import { asksEndAt, foldEndAnswer, questionsOf } from "./after/awaiting.ts";
import { foldFollowerTold, newsToFollowers } from "./after/followers.ts";
import { noteAudit, type UserEvent } from "./audit.ts";
import { allocationInvariants } from "./check.ts";
import { changed, type RunDraft } from "./draft.ts";
import { areLogsOver, clearLogs, logsUntil, tombstoneUntil, withoutOld, withQuestion } from "./forget.ts";
import { allocationInbox } from "./inbox.ts";
import { foldChunk, type StoredChunk } from "./output/chunks.ts";
import { phaseOf } from "./phase.ts";
import { foldRelease, holdEndsAt, isHeld } from "./placements/hold.ts";
import {
  foldOrderAnswer,
  isRestart,
  numberOrder,
  orderKey,
  orderOf,
  revisionAt,
} from "./placements/orders.ts";
import { foldPoolAnswer, isAccepted } from "./placements/placed.ts";
import { inOrder } from "./read/events.ts";
import { limitTexts } from "./read/texts.ts";
import { foldRedrive } from "./retry/parked.ts";
import { settle } from "./settle.ts";
import {
  type AllocationMemo,
  type AllocationRecord,
  type AllocationState,
  EMPTY_MEMO,
  type Existing,
  exists,
  newTask,
  openPlacement,
} from "./state.ts";
import { foldAbort } from "./stop.ts";
import { upsertOf } from "./summary.ts";
import { poststopBy } from "./tasks/group.ts";
import { groupWakesAt, orderChangesAt } from "./time/order-deadlines.ts";
import { deadlineOf, limitsEachTry } from "./time/time-limits.ts";
import { once } from "./user/idempotency.ts";
import { foldRequest } from "./user/requests.ts";
import { noteTunnel } from "./user/tunnels.ts";
import { foldUpdate } from "./user/update.ts";

/** A new run, with the hash of its request. */
interface Submission extends Caused {
  id: string;
  by: string;
  project: string;
  budget: Budget | null;
  spec: RunSpec;
  hash: string;
  /** A run that is not there by then is not made any more (jobs.md#not-submitted). Absent: it is made. */
  notAfter?: Instant | undefined;
}

export type AllocationEvent =
  | { type: "tick" }
  | ({ type: "submitted" } & Submission)
  | UserEvent
  | { type: "chunk"; chunk: StoredChunk }
  /** The logs were deleted everywhere except in the record. */
  | { type: "logs_cleared" }
  | Message<"allocation">
  | Answered<"pool", "run">
  | Answered<"allocation", "await_end" | "run_ended">
  | Answered<"worker", "order">;

export type AllocationMessage =
  | Letter<"pool", "run">
  | Letter<"allocation", "await_end" | "run_ended">
  | Letter<"worker", "order">
  | (Envelope & { kind: "clear_logs" });

/** The machine of a run. */
export const allocationMachine: Machine<AllocationState, AllocationEvent, AllocationMessage> = {
  name: "allocation",
  invariants: allocationInvariants,

  apply(stored, event, now) {
    const before = withQuestion(withoutOld(stored, now), now);
    const folded = noteAudit(before, fold({ ...before, spill: [] }, event, now), event, now);
    return changed(settle(folded, now), now, (run) => {
      if (exists(before) && run.record !== before.record) {
        run.set({ events: inOrder(run.record.events, before.record.events) });
        limitTexts(run, before.record);
        numberOrder(run, before);
        numberChange(run, before);
      }
      noteOrder(run, event);
    });
  },

  due(state, now) {
    if (!exists(state)) return [];
    const { record, memo } = state;
    const owed: AllocationMessage[] = [];
    if (memo.poolHas < record.poolVersion) {
      const body = upsertOf(state);
      owed.push({ object: "pool", to: record.spec.pool, kind: "run", repeatedBy: "self", body });
    }
    owed.push(...questionsOf(state, now), ...newsToFollowers(state));
    if (areLogsOver(state, now)) owed.push({ to: "logs", kind: "clear_logs", repeatedBy: "self" });
    const order = record.ended && !isHeld(record) ? null : orderOf(state, now);
    const worker = openPlacement(state)?.worker;
    if (order !== null && worker !== undefined && memo.workerHas !== orderKey(order)) {
      const repeatedBy = isRestart(record) ? "peer" : "self";
      owed.push({ object: "worker", to: worker, kind: "order", repeatedBy, body: order });
    }
    return owed;
  },

  wakeAt(state) {
    if (!exists(state)) return tombstoneUntil(state);
    const { record } = state;
    const phase = phaseOf(state);
    switch (phase.kind) {
      case "ended":
        return earliest(logsUntil(state), state.memo.askAt, holdEndsAt(record));
      case "withdrawing":
        return undefined;
      case "awaiting":
        return asksEndAt(state);
      case "waiting":
        return earliest(phase.until, deadlineOf(record, null));
      case "rescheduling":
        return earliest(phase.at, deadlineOf(record, null));
      case "storing_data":
      case "last_bytes":
        // The time limit may be reached before the run is placed again.
        return phase.again && !limitsEachTry(record)
          ? earliest(phase.until, deadlineOf(record, null))
          : phase.until;
      case "starting":
      case "running":
      case "uploading":
      case "backoff":
      case "restarting":
      case "stopping":
      case "unkillable":
        return earliest(groupWakesAt(record, state.memo.handledUpTo), poststopBy(phase.view));
    }
  },
};

/**
 * Notes in the memo which order changes have been handled. After `observed`, also notes that the worker has
 * the present order: the answer to `observed` contains the order, so no other message need send it.
 */
function noteOrder(run: RunDraft, event: AllocationEvent): void {
  const { record, memo, placement, now } = run;
  if (placement === null) return;
  const passed = orderChangesAt(record).some((at) => at > memo.handledUpTo && at <= now);
  if (passed) run.remember({ handledUpTo: now });
  const { epoch, worker } = placement;
  const answers = event.type === "observed" && event.body.held && event.body.epoch === epoch;
  if (answers && event.body.worker === worker)
    run.remember({ workerHas: orderKey({ epoch, revision: revisionAt(record, now) }) });
}

function fold(state: AllocationState, event: AllocationEvent, now: Instant): AllocationState {
  const change = (step: (run: RunDraft) => void) => changed(state, now, step);
  switch (event.type) {
    case "submitted":
      return submit(state, event, now);
    case "tick":
      return state;
    case "abort":
      return change((run) => foldAbort(run, event));
    case "release":
      return change((run) => foldRelease(run, event));
    case "redrive":
      return change((run) => foldRedrive(run, event));
    case "restart":
    case "signal":
      return change((run) => once(run, event.key, () => foldRequest(run, event)));
    case "tunnel":
      return change((run) => once(run, event.key, () => noteTunnel(run, event.request)));
    case "update":
      return change((run) => foldUpdate(run, event.spec, event.specIndex, event.by));
    case "chunk":
      return change((run) => foldChunk(run, event.chunk));
    case "logs_cleared":
      return change(clearLogs);
    case "run_answered": {
      const { sent, answer } = event;
      if (answer.kind === "refused") return refuse(state, answer);
      return change((run) => {
        foldPoolAnswer(run, sent.version, answer);
        const audit = confirmed(run.record.audit, sent.audit);
        if (audit !== run.record.audit) run.set({ audit });
      });
    }
    case "await_end_answered":
      return change((run) => foldEndAnswer(run, event));
    case "run_ended_answered":
      return foldFollowerTold(state, event, now);
    case "order_answered":
      return change((run) => foldOrderAnswer(run, event.sent, event.answer));
    default:
      return foldMessage(allocationInbox, state, event, now);
  }
}

function submit(
  before: AllocationState,
  { id, by, project, budget, spec, hash, via, notAfter = Number.POSITIVE_INFINITY }: Submission,
  now: Instant,
): AllocationState {
  if (before.record !== null || before.tombstone !== undefined) return before;
  if (now > notAfter) return { record: null, memo: EMPTY_MEMO, spill: [] };
  const record: AllocationRecord = {
    id,
    spec,
    hash,
    version: 1,
    submittedAt: now,
    by,
    ...viaField({ via }),
    project,
    budget,
    waitingSince: now,
    ...(spec.after === undefined ? {} : { awaits: distinctAfter(spec.after) }),
    firstPlacedAt: null,
    placements: [],
    endedEpoch: 0,
    revision: 1,
    stopRequest: null,
    outcome: null,
    ended: false,
    tasks: tasksOf(spec).map(({ name }) => newTask(name)),
    specIndex: 1,
    signals: [],
    signaled: 0,
    asks: [],
    reschedules: [],
    poolVersion: 1,
    events: [],
    eventsDropped: 0,
    logs: {},
  };
  return changed({ record, memo: EMPTY_MEMO, spill: [] }, now, (run) => {
    run.note("Received", now, "the run was submitted");
  });
}

/**
 * Applies the pool's refusal of the run, unless the pool has accepted the run before. An accepted run is
 * never lost (invariant 1): it is sent to the pool again.
 */
function refuse(state: AllocationState, refusal: AllocationMemo["refusal"]): AllocationState {
  if (state.record === null || isAccepted(state)) return state;
  return { record: null, memo: { ...EMPTY_MEMO, refusal }, spill: [] };
}

/** Whether the pool has accepted or refused the run. */
export function isDecided(state: AllocationState): boolean {
  return isAccepted(state) || state.memo.refusal !== null;
}

/**
 * Gives the run a new version after each change that readers can see: new log bytes, and what it owes the
 * audit log and the runs that await its end, are none. The pool is told
 * of a change only if the pool's row of the run shows the change, since each upsert writes a row. The pool is
 * also told of each request to stop, since a run without a placement may end only after the pool has
 * confirmed the request.
 */
function numberChange(run: RunDraft, before: Existing): void {
  const { record } = run;
  const { logs: _before, audit: _owed, followers: _told, ...old } = before.record;
  const { logs: _after, audit: _owes, followers: _tells, ...rest } = record;
  const keys = Object.keys({ ...old, ...rest }) as (keyof typeof rest)[]; // the keys of both
  if (keys.every((key) => rest[key] === old[key])) return;
  const version = old.version + 1;
  const shown = (one: AllocationRecord) => {
    const upsert = upsertOf({ ...run.state, record: one });
    const audit = one.audit?.last; // the pool need not hear that nothing is owed any more
    // Nor is it told when logs are deleted: their bytes count until the run is forgotten.
    const same = { audit, version, epoch: 0, storedBytes: 0 };
    return JSON.stringify([{ ...upsert, ...same }, one.stopRequest !== null]);
  };
  run.set({ version, poolVersion: shown(before.record) === shown(record) ? old.poolVersion : version });
}

/**
 * Whether the pool has said where the run is. Just after loading this is unknown: the run may have a
 * placement that was never stored.
 */
export function hasHeardPool(state: AllocationState): boolean {
  const { record, memo } = state;
  if (record === null || record.ended || openPlacement(state) !== null) return true;
  return memo.poolHas >= record.poolVersion;
}

/** Whether the lists of the pool show the run as it is now. */
export function hasToldPool({ memo, record }: AllocationState): boolean {
  return memo.poolHas >= (record?.poolVersion ?? 0);
}
