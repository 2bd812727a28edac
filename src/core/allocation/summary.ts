import type { RunSummary } from "../../schema/run/run.ts";
import type { PlaceAnswer, RunUpsert } from "../messages.ts";
import { runSummary } from "../run-summary.ts";
import { commandOf, resourcesOf, tasksOf } from "../spec.ts";
import { phaseOf, startedAt, stateOf } from "./phase.ts";
import { needsOfRun } from "./placements/orders.ts";
import { avoidedWorkers } from "./placements/reschedule.ts";
import { preferredWorker } from "./placements/sticky.ts";
import { type AllocationRecord, type AllocationState, type Existing, openPlacement } from "./state.ts";

/** Characters of the command line that lists show. */
const COMMAND_CHARS = 80;

/** What an ended run adds to the counts of its pool (tasks.md#metrics), where it is not 0. */
function mishapsOf({ tasks }: AllocationRecord): Pick<RunUpsert, "restarts" | "oomKills"> {
  const restarts = tasks.reduce((sum, task) => sum + (task.restarts ?? 0), 0);
  const oomKills = tasks.flatMap(({ attempts }) => attempts).filter(({ exit }) => exit?.oomKilled).length;
  return { ...(restarts > 0 ? { restarts } : {}), ...(oomKills > 0 ? { oomKills } : {}) };
}

/** The run as its pool is to know it. Its `epoch` is the one that the allocation knows to be open, or 0. */
export function upsertOf(state: Existing): RunUpsert {
  const { record } = state;
  const { spec, outcome } = record;
  return {
    run: record.id,
    submittedAt: record.submittedAt,
    version: record.version,
    state: stateOf(phaseOf(state)),
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
    epoch: openPlacement(state)?.epoch ?? 0,
    ended: record.endedEpoch,
  };
}

/** The run as lists show it, with the worker of its latest placement. */
export function summaryOf(state: Existing): RunSummary {
  const { record } = state;
  const placement = record.ended
    ? record.placements.at(-1)
    : (openPlacement(state) ?? record.placements.at(-1));
  return runSummary({ ...upsertOf(state), worker: placement?.worker ?? null }, record.spec.pool);
}

/** What `place` and `poke` are answered: the run as it is now (rule R6). */
export function answerPlace(state: AllocationState): PlaceAnswer {
  if (state.record === null) return { kind: "no_such" };
  return { kind: "run", run: upsertOf({ ...state, record: state.record }) };
}
