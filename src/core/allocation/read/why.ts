import type { Why } from "../../../schema/why.ts";
import { durationMs, formatDuration } from "../../../shared/duration.ts";
import type { FailureCode } from "../../../shared/errors.ts";
import { STORE_OUTPUTS_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import { givenUpKills } from "../outcome.ts";
import { lastByteBy } from "../output/logs.ts";
import { uploadingAttempt } from "../output/outputs.ts";
import { savedBy } from "../placements/sticky.ts";
import { type AllocationRecord, type Existing, openPlacement } from "../state.ts";
import { stateOf } from "../summary.ts";
import { groupOfRun, viewsOf } from "../tasks/tasks.ts";
import { deadlineOf } from "../time/time-limits.ts";
import { statusOf } from "./status.ts";
import { beingStopped } from "./why-stopped.ts";
import { restartWait, stopWait } from "./why-stopping.ts";

/**
 * Why a run is where it is, for programs: with what its pool says of one that waits (`WAIT_CODES`), and the
 * codes of failures, the closed list (`docs/operating.md` says what to do).
 */
export const RUN_REASONS = [
  "waiting",
  "starting",
  "running",
  "uploading",
  "backoff",
  "stopping",
  "restarting",
  "unkillable",
  "storing_data",
  "rescheduling",
  "last_bytes",
  "ended",
] as const;

/** What a run waits for, and what happens next. */
interface Cause {
  code: (typeof RUN_REASONS)[number] | FailureCode;
  text: string;
  next: Next;
}

/**
 * Why a run is where it is, and what happens next (invariant 5). `other` is what its pool says of a run that
 * waits for a place, or its worker of one that has one.
 */
export function whyOf(state: Existing, other: Why | null, worker: string | null, now: Instant): Why {
  const { record } = state;
  const { description } = statusOf(state);
  const chain: Why["chain"] = [{ what: `run ${record.id}`, state: stateOf(record), text: description }];
  if (other !== null && !record.ended) {
    const what = worker === null ? `pool ${record.spec.pool}` : `worker ${worker}`;
    chain.push({ what, state: other.state, text: other.reason.text }, ...other.chain);
  }
  const known = { state: stateOf(record), chain };
  const own = causeOf(state, now);
  if (own !== null) return { ...known, ...withNext(own) };
  if (openPlacement(state) !== null) return { ...known, ...withNext(onWorker(state, other, worker, now)) };
  const reason = other?.reason ?? { code: "waiting", text: "it waits for its pool" };
  const next = other?.next ?? nextBy("place", "place it", "pool");
  return { ...known, reason, next: earlierOf(earlierOf(next, timeEnd(record, now)), queueEnd(record)) };
}

function withNext({ code, text, next }: Cause): Pick<Why, "reason" | "next"> {
  return { reason: { code, text }, next };
}

/** What the run knows by itself; null, if that is up to its pool or its worker. */
function causeOf(state: Existing, now: Instant): Cause | null {
  const { record } = state;
  if (record.ended) {
    const code = record.outcome?.failure?.code ?? "ended";
    const text = statusOf(state).description;
    return { code, text, next: nextBy("nothing", "nothing: it has ended", null) };
  }
  const placement = openPlacement(state);
  const [stuck] = givenUpKills(record, placement?.epoch ?? 0);
  if (stuck !== undefined) {
    const text = `${stuck.id} cannot be killed, its host goes on trying, and its worker drains`;
    return {
      code: "unkillable",
      text,
      next: nextBy("end", "end it, when it or its machine is gone", "host"),
    };
  }
  if (placement === null) return causeWithoutPlace(record, now);
  const saving = savedBy(record);
  if (saving !== undefined) {
    const text = `it is to be placed again; worker ${placement.worker} stores its data for that`;
    return {
      code: "storing_data",
      text,
      next: earlierOf(nextAt("end", "go on without them", saving, "host"), timeEnd(record, now)),
    };
  }
  if (record.outcome !== null) {
    const then = record.outcome.again === true ? ", and then it is placed again" : "";
    const text = `it has ended; the last bytes of its logs are on the way${then}`;
    const next = nextAt("end", "end without them", lastByteBy(record, record.outcome), "host");
    return { code: "last_bytes", text, next: then === "" ? next : earlierOf(next, timeEnd(record, now)) };
  }
  const stop = stopWait(record, placement, now);
  if (stop !== null) return { code: "stopping", ...stop };
  const restart = restartWait(record, now);
  if (restart !== null) return { code: "restarting", ...restart };
  const resting = restingTask(record, now);
  if (resting === null) return null;
  const deadline = deadlineOf(record, placement.from);
  if (deadline !== undefined && deadline <= now) {
    const text = `the time limit was reached before task ${resting.name} was started again`;
    return { code: "backoff", text, next: nextBy("stop_run", "wait for its host to say so", "host") };
  }
  const text = `task ${resting.name} has ended, and is started again after a delay`;
  const start = nextAt("start_task", "start it again", resting.at, null);
  return { code: "backoff", text, next: earlierOf(start, timeEnd(record, now)) };
}

function causeWithoutPlace(record: AllocationRecord, now: Instant): Cause | null {
  const { wish, placeAt } = record;
  if (wish !== null) {
    const text = beingStopped(record);
    return { code: "stopping", text, next: nextBy("confirm", "wait for the pool to confirm", "pool") };
  }
  if (placeAt === undefined) return null;
  const text = "its latest placement was lost or has failed; it is placed again after a delay";
  const next = nextAt("reschedule", "ask for another place", placeAt, null);
  return { code: "rescheduling", text, next: earlierOf(next, timeEnd(record, now)) };
}

/** It is with its worker: all depends on that one's host, and on the run's own time. */
function onWorker(state: Existing, other: Why | null, worker: string | null, now: Instant): Cause {
  const { record } = state;
  const cause = workOn(record, other, worker, now);
  if (other?.reason.code !== "silent") return cause;
  const text = `${cause.text}, and its host is silent: ${other.reason.text}`;
  const silence = { ...other.next, action: `of worker ${worker}: ${other.next.action}` };
  return { ...cause, text, next: earlierOf(cause.next, silence) };
}

function workOn(record: AllocationRecord, other: Why | null, worker: string | null, now: Instant): Cause {
  if (uploadingAttempt(record) !== undefined) {
    const text = `the command has ended; worker ${worker} collects its outputs and stores them`;
    return { code: "uploading", text, next: uploadEnd(record, now) };
  }
  const deadline = timeEnd(record, now);
  if (stateOf(record) === "running") {
    const next = earlierOf(nextBy("end", "wait for it to end", "command"), deadline);
    return { code: "running", text: "its command is running", next };
  }
  const text = `worker ${worker} has been ordered to start it${toldText(other)}`;
  return { code: "starting", text, next: earlierOf(startBy(other), deadline) };
}

/** Of the tasks in their restart delays the one that is due first, if none of the others runs. */
function restingTask(record: AllocationRecord, now: Instant): { name: string; at: Instant } | null {
  const views = viewsOf(record, groupOfRun(record), record.endedEpoch + 1);
  if (views.some((view) => view.state === "running")) return null;
  const resting = record.tasks.flatMap(({ name, startAt, dead, stopFrom }) =>
    startAt === undefined || startAt <= now || dead !== undefined || stopFrom !== undefined
      ? []
      : [{ name, at: startAt }],
  );
  return resting.sort((a, b) => a.at - b.at)[0] ?? null;
}

function queueEnd({ spec, waitingSince }: AllocationRecord): Next | null {
  if (spec.queueTimeout === undefined) return null;
  return nextAt("give_up", "give up", waitingSince + durationMs(spec.queueTimeout), "pool");
}

/**
 * Its host gives up once nothing could be stored for a while, however long that takes: it alone knows when.
 * The time limit of the run is one over all phases.
 */
function uploadEnd(record: AllocationRecord, now: Instant): Next {
  const patience = formatDuration(STORE_OUTPUTS_MS);
  const action = `end it without them, if nothing can be stored for ${patience}`;
  return earlierOf(nextBy("end", action, "host"), timeEnd(record, now));
}

/** Whether something of it may be on its host, which has not said so. */
function toldText(ofWorker: Why | null): string {
  if (ofWorker === null) return "";
  return ofWorker.reason.untold === true
    ? " (its host has not been told of it)"
    : " (it may have started there)";
}

/** When its worker takes it for lost if the host says nothing of it: what was not told, much sooner. */
function startBy(ofWorker: Why | null): Next {
  const at = ofWorker?.reason.placementEndsAt;
  if (typeof at !== "string") return nextBy("start_task", "wait for its host to start it", "host");
  const action = "place it elsewhere, or end it, if its host says nothing until then";
  return nextAt("lose_runs", action, Date.parse(at), "host");
}

function timeEnd(record: AllocationRecord, now: Instant): Next | null {
  const deadline = deadlineOf(record, null);
  // What is later than that, its host says.
  return deadline === undefined || deadline <= now
    ? null
    : nextAt("stop_run", "stop it: its time is over", deadline, "command");
}
