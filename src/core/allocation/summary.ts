// What does a run tell its pool about itself, and what do lists of runs show?

import type { RunSummary } from "../../schema/run/run.ts";
import { arraysIn } from "../../shared/after/entries.ts";
import { protocolOf } from "../../shared/compat.ts";
import type { Instant } from "../../shared/machine.ts";
import { owedField } from "../audit/outbox.ts";
import { viaField } from "../audit/via.ts";
import type { PlaceAnswer, RunUpsert } from "../messages.ts";
import { costOfTimes } from "../run/cost.ts";
import { type Mishaps, NO_MISHAPS } from "../run/mishaps.ts";
import { runSummary } from "../run/run-summary.ts";
import { commandOf, containerNeedsOf, resourcesOf, tasksOf } from "../spec.ts";
import { awaitedBy } from "./after/awaiting.ts";
import { healthFields } from "./health/view.ts";
import { phaseOf, startedAt, stateOf } from "./phase.ts";
import { avoidedWorkers } from "./placements/reschedule.ts";
import { preferredWorker } from "./placements/sticky.ts";
import { costOf } from "./read/cost.ts";
import { triesFailed } from "./retry/decide.ts";
import { escalations, specInEffect } from "./retry/needs.ts";
import { parkedOf } from "./retry/parked.ts";
import { workersToAvoid } from "./retry/tries.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type Existing,
  exists,
  openPlacement,
  type TaskRecord,
} from "./state.ts";
import { groupView } from "./tasks/tasks.ts";

/** How many characters of the command line are shown in lists. */
const COMMAND_CHARS = 80;

/** What went wrong in a run, for the counts of its pool (tasks.md#metrics): nothing until it has ended. */
function mishapsOf(record: AllocationRecord): Mishaps {
  const { ended, tasks } = record;
  if (!ended) return NO_MISHAPS;
  const restarts = tasks.reduce((sum, task) => sum + task.restarts, 0);
  const attempts = tasks.flatMap((task) => task.attempts);
  const oomKills = attempts.filter(({ exit }) => exit?.oomKilled).length;
  const startFailures = attempts.filter(({ startError }) => startError !== null).length;
  const taskFailures: Mishaps["taskFailures"] = {};
  for (const { task, known } of groupView(record).members) {
    if (hasFailed(known)) taskFailures[task.hook] = (taskFailures[task.hook] ?? 0) + 1;
  }
  return { restarts, oomKills, taskFailures, startFailures };
}

/**
 * Whether a task of an ended run counts as failed (tasks.md#metrics): the task has failed or was lost, or it
 * ended by itself with an exit code other than 0 or by a signal.
 */
function hasFailed({ dead, attempts }: TaskRecord): boolean {
  if (dead?.how === "failed" || dead?.how === "lost") return true;
  const exit = attempts.at(-1)?.exit ?? null;
  return dead?.how === "terminated" && exit !== null && (exit.code !== 0 || exit.signal !== null);
}

/** The bytes of output that are stored. They count once no more can come (projects.md#stored-bytes). */
function storedBytesOf({ ended, logs }: AllocationRecord): number {
  if (!ended) return 0;
  const streams = Object.values(logs).flatMap((ofAttempt) => Object.values(ofAttempt));
  return streams.reduce((sum, { stored }) => sum + stored, 0);
}

/** Why an ended run has failed. */
function failureField({ ended, outcome }: AllocationRecord): Pick<RunUpsert, "failure"> {
  const code = ended ? outcome?.failure?.code : undefined;
  return code === undefined ? {} : { failure: code };
}

function containersField(spec: AllocationRecord["spec"]): Pick<RunUpsert, "containers"> {
  const containers = containerNeedsOf(spec);
  return containers === undefined ? {} : { containers };
}

/** What the placements that are over have cost: the pool adds the open one (api.md#costs-in-lists). */
function paidField({ placements }: AllocationRecord): Pick<RunUpsert, "paid"> {
  const over = placements.filter(({ to }) => to !== null);
  return over.length === 0 ? {} : { paid: costOfTimes(over, 0) };
}

/** The arrays that it awaits, and, once it has ended, the run that kept it from starting. */
function afterFields(record: AllocationRecord): Pick<RunUpsert, "deferred" | "awaitsArrays" | "firstCause"> {
  const { awaits, ended, firstCause } = record;
  const arrays = arraysIn(awaitedBy(record));
  return {
    ...(awaits === undefined ? {} : { deferred: true }),
    ...(arrays.length === 0 ? {} : { awaitsArrays: arrays }),
    ...(ended && firstCause !== undefined ? { firstCause } : {}),
  };
}

function wantsPlace({ stopRequest, outcome, placeAt, awaits }: AllocationRecord): boolean {
  return stopRequest === null && outcome === null && placeAt === undefined && awaits === undefined;
}

/** What the pool must know of its tries, and of those that may follow. */
function retryFields({ record, memo }: Existing): Pick<RunUpsert, "retried" | "escalations" | "parked"> {
  if (record.spec.retry === undefined) return {};
  const retried = triesFailed(record);
  const more = memo.accepted ? [] : escalations(record.spec);
  return {
    ...(retried === 0 ? {} : { retried }),
    ...(more.length === 0 ? {} : { escalations: more }),
    ...(record.spec.retry.park ? { parked: parkedOf(record) ?? null } : {}),
  };
}

/** The run as it describes itself to its pool. */
export function upsertOf(state: Existing): RunUpsert {
  const { record } = state;
  const { outcome } = record;
  const spec = specInEffect(record);
  return {
    run: record.id,
    submittedAt: record.submittedAt,
    by: record.by,
    ...viaField(record),
    project: record.project,
    budget: record.budget,
    storedBytes: storedBytesOf(record),
    version: record.version,
    state: stateOf(phaseOf(state)),
    priority: spec.priority,
    labels: spec.labels,
    command: commandOf(spec).slice(0, COMMAND_CHARS),
    ...(spec.rerunOf === undefined ? {} : { rerunOf: spec.rerunOf }),
    ...(spec.array === undefined ? {} : { array: spec.array }),
    ...(spec.keep === undefined ? {} : { keptUntil: record.hold?.until ?? null }),
    ...(spec.replace === undefined ? {} : { replace: spec.replace }),
    ...(spec.concurrency === undefined ? {} : { concurrency: spec.concurrency }),
    resources: resourcesOf(spec),
    ...(spec.machine === undefined ? {} : { asks: spec.machine }),
    ...retryFields(state),
    hostPaths: tasksOf(spec).some(({ dir }) => dir?.startsWith("/") ?? false),
    ...containersField(spec),
    fakes: tasksOf(spec).some(({ fake }) => fake !== undefined),
    protocol: protocolOf(tasksOf(spec)),
    exitCode: record.ended ? (outcome?.exitCode ?? null) : null,
    ...failureField(record),
    ...paidField(record),
    startedAt: startedAt(record),
    finishedAt: record.ended ? (outcome?.at ?? null) : null,
    ...mishapsOf(record),
    ...healthFields(record),
    wants: wantsPlace(record) ? "place" : "nothing",
    ...afterFields(record),
    avoid: [...new Set([...avoidedWorkers(record), ...workersToAvoid(record)])],
    prefer: spec.sticky ? preferredWorker(record) : null,
    epoch: openPlacement(state)?.epoch ?? 0,
    ended: record.endedEpoch,
    ...owedField(record.audit),
  };
}

/** The run at `now` as lists show it, with the worker of its latest placement. */
export function summaryOf(state: Existing, now: Instant): RunSummary {
  const { record } = state;
  const placement = record.ended
    ? record.placements.at(-1)
    : (openPlacement(state) ?? record.placements.at(-1));
  const run = { ...upsertOf(state), worker: placement?.worker ?? null };
  return runSummary(run, record.spec.pool, costOf(state, now));
}

/** The answer to `place` and `poke_run`: the run as it is now (rule R6). */
export function answerPlace(state: AllocationState): PlaceAnswer {
  return exists(state) ? { kind: "run", run: upsertOf(state) } : { kind: "no_such" };
}
