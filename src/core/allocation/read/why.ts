// Why is a run where it is, and what happens next (`drover why`)?

import type { Why } from "../../../schema/why.ts";
import { awaitedText } from "../../../shared/after/entries.ts";
import { formatDuration } from "../../../shared/duration.ts";
import type { FailureCode } from "../../../shared/errors.ts";
import { STORE_OUTPUTS_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import { phaseOf, type RunPhase, stateOf } from "../phase.ts";
import { type HeldRecord, isHeld } from "../placements/hold.ts";
import { waitForTry } from "../retry/tries.ts";
import type { AllocationRecord, Existing } from "../state.ts";
import { groupView } from "../tasks/tasks.ts";
import { deadlineOf, limitsEachTry } from "../time/time-limits.ts";
import { statusOf } from "./status.ts";
import { whyUnhealthy } from "./why-health.ts";
import { beingStopped } from "./why-stopped.ts";
import { restartWait, stopWait } from "./why-stopping.ts";

/**
 * The complete list of a run's own reason codes. The `WAIT_CODES` of the run's pool and the codes of failures
 * are also shown as reasons (`docs/operating.md` says what to do about each code).
 */
export const RUN_REASONS = [
  "awaiting",
  "waiting",
  "starting",
  "running",
  "unhealthy",
  "not_healthy",
  "uploading",
  "backoff",
  "stopping",
  "restarting",
  "unkillable",
  "storing_data",
  "rescheduling",
  "last_bytes",
  "kept",
  "ended",
] as const;

/** What a run waits for, and what happens next. */
type Cause = Pick<Why, "reason" | "next">;

/**
 * Why a run is where it is, and what happens next (invariant 5). `other`: what the run's worker says. While
 * the run waits for a placement, `other` is what its pool says.
 */
export function whyOf(state: Existing, other: Why | null, worker: string | null, now: Instant): Why {
  const { record } = state;
  const phase = phaseOf(state);
  const { description } = statusOf(state);
  const chain: Why["chain"] = [{ what: `run ${record.id}`, state: stateOf(phase), text: description }];
  if (other !== null && (phase.kind !== "ended" || isHeld(record))) {
    const what = worker === null ? `pool ${record.spec.pool}` : `worker ${worker}`;
    chain.push({ what, state: other.state, text: other.reason.text }, ...other.chain);
  }
  const { offeredRate } = state.memo;
  const context = { description, other, worker, now, offeredRate };
  return { state: stateOf(phase), chain, ...causeOf(record, phase, context) };
}

/** What is known besides the run itself. */
interface Context {
  description: string;
  other: Why | null;
  worker: string | null;
  now: Instant;
  /** What an hour of its next try costs, as its pool says. */
  offeredRate: number | undefined;
}

/** Why an ended run is still on a machine (tasks.md#kept). */
function causeOfHold({ id, hold, placements }: HeldRecord, { description }: Context): Cause {
  const { until, released } = hold;
  const worker = placements.at(-1)?.worker;
  const text = `${description}; worker ${worker} keeps it so that people can look into it`;
  if (released !== undefined) {
    const next = nextBy("confirm", "let it go once its host confirms that nothing of it is left", "host");
    return because("kept", `${description}; worker ${worker} lets it go: ${released.reason}`, next);
  }
  const action = `let it go, or earlier: \`drover release ${id}\``;
  return because("kept", text, nextAt("release", action, until, null));
}

function causeOf(record: AllocationRecord, phase: RunPhase, context: Context): Cause {
  const { other, now } = context;
  const limit = timeEnd(record, now);
  switch (phase.kind) {
    case "ended": {
      if (isHeld(record)) return onHost(causeOfHold(record, context), context);
      const code = phase.outcome.failure?.code ?? "ended";
      return because(code, context.description, nextBy("nothing", "nothing: it has ended", null));
    }
    case "awaiting": {
      const text = `it starts after others: it waits for ${awaitedText(phase.awaits)}`;
      const next = nextBy(
        "place",
        "ask its pool for a place then, or end it if that run ends otherwise",
        "command",
      );
      return because("awaiting", text, next);
    }
    case "waiting": {
      const reason = other?.reason ?? { code: "waiting", text: "it waits for its pool" };
      const next = earlierOf(other?.next ?? nextBy("place", "place it", "pool"), limit);
      const end = phase.until === undefined ? null : nextAt("give_up", "give up", phase.until, "pool");
      return { reason, next: earlierOf(next, end) };
    }
    case "rescheduling": {
      const text =
        waitForTry(record, context.offeredRate, phase.at) ??
        "its latest placement was lost or has failed; it is placed again after a delay";
      const next = nextAt("reschedule", "ask for another place", phase.at, null);
      return because("rescheduling", text, orLimit(next, limit));
    }
    case "withdrawing": {
      const next = nextBy("confirm", "wait for the pool to confirm", "pool");
      return because("stopping", beingStopped(groupView(record)), next);
    }
    case "unkillable": {
      const text = `${phase.attempt.id} cannot be killed, its host keeps trying, and its worker drains`;
      const next = nextBy("end", "end it once it or its machine is gone", "host");
      return because("unkillable", text, next);
    }
    case "storing_data": {
      const { worker } = phase.placement;
      const text = `it will be placed again; first, worker ${worker} stores its data`;
      const next = nextAt("end", "go on without them", phase.until, "host");
      return because("storing_data", text, orLimit(next, limit));
    }
    case "last_bytes": {
      const then = phase.again ? ", and then it is placed again" : "";
      const text = `it has ended; the last bytes of its logs are on the way${then}`;
      const next = nextAt("end", "end without them", phase.until, "host");
      return because("last_bytes", text, phase.again ? orLimit(next, limit) : next);
    }
    case "stopping": {
      // If a stop was requested, the run is stopped whatever its time limit is.
      const left = record.stopRequest === null ? limit : null;
      const { text, next } = stopWait(phase.view, { placement: phase.placement, limit: left, now });
      return because("stopping", text, next);
    }
    case "restarting": {
      const { text, next } = restartWait(phase.view, phase.tasks, { placement: phase.placement, limit, now });
      return because("restarting", text, next);
    }
    case "backoff":
      return phase.startAt > now ? backoff(record, phase, now) : onHost(starting(context, limit), context);
    case "uploading": {
      const text = `the command has ended; worker ${context.worker} collects its outputs and stores them`;
      return onHost(because("uploading", text, earlierOf(uploadEnd(), limit)), context);
    }
    case "running": {
      const next = earlierOf(nextBy("end", "wait for it to end", "command"), limit);
      const ill = whyUnhealthy(record);
      const { code, text } = ill ?? { code: "running" as const, text: "its command is running" };
      return onHost(because(code, text, next), context);
    }
    case "starting":
      return onHost(preparing(record, limit) ?? starting(context, limit), context);
  }
}

/** The cause while a host prepares an attempt and says what it does, such as the pull of an image. */
function preparing(record: AllocationRecord, limit: Next | null): Cause | null {
  const { members } = groupView(record);
  const doing = members.map(({ known }) => known.attempts.at(-1)?.doing).find((text) => text !== undefined);
  if (doing === undefined) return null;
  const next = nextBy("start_task", "wait for its host to start it", "host");
  return because("starting", `its host prepares it: ${doing}`, earlierOf(next, limit));
}

function because(code: (typeof RUN_REASONS)[number] | FailureCode, text: string, next: Next): Cause {
  return { reason: { code, text }, next };
}

/** The cause while a task is in its restart delay, and no other task runs. */
function backoff(
  record: AllocationRecord,
  { placement, task, startAt }: Extract<RunPhase, { kind: "backoff" }>,
  now: Instant,
): Cause {
  const deadline = deadlineOf(record, placement.from);
  if (deadline !== undefined && deadline <= now) {
    const text = `the time limit was reached before task ${task} was started again`;
    return because("backoff", text, nextBy("stop_run", "wait for its host to confirm", "host"));
  }
  const text = `task ${task} has ended, and is started again after a delay`;
  const start = nextAt("start_task", "start it again", startAt, null);
  return because("backoff", text, orLimit(start, timeEnd(record, now)));
}

function starting({ other, worker }: Context, limit: Next | null): Cause {
  const text = `worker ${worker} has been ordered to start it${orderText(other)}`;
  return because("starting", text, earlierOf(startBy(other), limit));
}

/** If the host is silent, adds its silence to the cause, since every next step depends on the host. */
function onHost(cause: Cause, { other, worker }: Context): Cause {
  if (other?.reason.code !== "silent") return cause;
  const text = `${cause.reason.text}, and its host is silent: ${other.reason.text}`;
  const silence = { ...other.next, action: `worker ${worker}: ${other.next.action}` };
  return { reason: { ...cause.reason, text }, next: earlierOf(cause.next, silence) };
}

/**
 * The end of an upload. The host gives up once it has stored nothing for `STORE_OUTPUTS_MS`, however long the
 * whole upload takes. So only the host knows when it will give up. The time limit of the run also applies.
 */
function uploadEnd(): Next {
  const patience = formatDuration(STORE_OUTPUTS_MS);
  return nextBy("end", `end it without them, if nothing can be stored for ${patience}`, "host");
}

/** Says whether the host may have received the order. */
function orderText(ofWorker: Why | null): string {
  if (ofWorker === null) return "";
  return ofWorker.reason.undelivered === true
    ? " (its host has not received the order yet)"
    : " (it may have started there)";
}

/**
 * When the worker ends the placement of a silent host. If the order was not delivered, this is much sooner.
 */
function startBy(ofWorker: Why | null): Next {
  const at = ofWorker?.reason.placementEndsAt;
  if (typeof at !== "string") return nextBy("start_task", "wait for its host to start it", "host");
  const action = "place it elsewhere, or end it, unless its host reports";
  return nextAt("lose_runs", action, Date.parse(at), "host");
}

/** What comes first; at the same instant it is the time limit, which prevents the other. */
function orLimit(next: Next, limit: Next | null): Next {
  return limit !== null && limit.at === next.at ? limit : earlierOf(next, limit);
}

function timeEnd(record: AllocationRecord, now: Instant): Next | null {
  if (record.outcome?.again === true && limitsEachTry(record)) return null; // the try is over
  const deadline = deadlineOf(record, null);
  // After the limit, the next step depends on the host.
  return deadline === undefined || deadline <= now
    ? null
    : nextAt("stop_run", "stop it: its time is over", deadline, "command");
}
