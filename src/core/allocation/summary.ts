import type { RunState, RunSummary } from "../../schema/run/run.ts";
import type { PlaceAnswer, RunUpsert } from "../messages.ts";
import { runSummary } from "../run-summary.ts";
import { commandOf, resourcesOf, tasksOf } from "../spec.ts";
import { needsOfRun } from "./placements/orders.ts";
import { avoidedWorkers } from "./placements/reschedule.ts";
import { preferredWorker } from "./placements/sticky.ts";
import { type AllocationRecord, type AllocationState, type Existing, openPlacement } from "./state.ts";

/** Characters of the command line that lists show. */
const COMMAND_CHARS = 80;

/**
 * The state of a run (api.md#states). It ends only when nothing of it can be left anywhere (rule R3):
 * until then a run whose command has been started is `running`, an aborted one too.
 */
export function stateOf(record: AllocationRecord): RunState {
  if (record.ended && record.outcome !== null) return record.outcome.state;
  return startedAt(record) === null ? "pending" : "running";
}

/** When anything of it was first started. A record from before there were groups has one task. */
export function startedAt(record: AllocationRecord): number | null {
  return record.startedAt ?? record.tasks[0]?.attempts.at(-1)?.startedAt ?? null;
}

/** What an ended run adds to the counts of its pool (tasks.md#metrics), where it is not 0. */
function mishapsOf({ tasks }: AllocationRecord): Pick<RunUpsert, "restarts" | "oomKills"> {
  const restarts = tasks.reduce((sum, task) => sum + (task.restarts ?? 0), 0);
  const oomKills = tasks.flatMap(({ attempts }) => attempts).filter(({ exit }) => exit?.oomKilled).length;
  return { ...(restarts > 0 ? { restarts } : {}), ...(oomKills > 0 ? { oomKills } : {}) };
}

/** The run as its pool is to know it. `epoch` is the one that the allocation knows to be open, or 0. */
export function upsertOf(record: AllocationRecord, epoch: number): RunUpsert {
  const { spec, outcome } = record;
  return {
    run: record.id,
    submittedAt: record.submittedAt,
    version: record.version,
    state: stateOf(record),
    priority: spec.priority,
    labels: spec.labels,
    command: commandOf(spec).slice(0, COMMAND_CHARS),
    resources: resourcesOf(spec),
    hostPaths: tasksOf(spec).some(({ dir }) => dir?.startsWith("/") ?? false),
    ...(tasksOf(spec).some(({ fake }) => fake !== undefined) ? { fakes: true } : {}),
    ...needsOfRun(record),
    exitCode: record.ended ? (outcome?.exitCode ?? null) : null,
    startedAt: startedAt(record),
    finishedAt: record.ended ? (outcome?.at ?? null) : null,
    ...(record.ended ? mishapsOf(record) : {}),
    wants: record.wish === null && outcome === null && record.placeAt === undefined ? "place" : "nothing",
    ...(record.reschedules === undefined ? {} : { avoid: avoidedWorkers(record) }),
    ...(spec.sticky ? { prefer: preferredWorker(record) } : {}),
    epoch,
    ended: record.endedEpoch,
  };
}

/** The run as lists show it, with the worker of its latest placement. */
export function summaryOf(state: Existing): RunSummary {
  const { record } = state;
  const placement = record.ended
    ? record.placements.at(-1)
    : (openPlacement(state) ?? record.placements.at(-1));
  return runSummary({ ...upsertOf(record, 0), worker: placement?.worker ?? null }, record.spec.pool);
}

/** What `place` and `poke` are answered: the run as it is now (rule R6). */
export function answerPlace(state: AllocationState): PlaceAnswer {
  if (state.record === null) return { kind: "no_such" };
  return { kind: "run", run: upsertOf(state.record, openPlacement(state)?.epoch ?? 0) };
}
