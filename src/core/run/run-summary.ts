// What do lists show about a run?
import type { RunCost, RunSummary } from "../../schema/run/run.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { RunUpsert } from "../messages.ts";

/** A run as every list shows it (api.md#query). `cost`: absent if it is not known. */
export function runSummary(
  run: RunUpsert & { worker: string | null },
  pool: string,
  cost?: RunCost,
): RunSummary {
  return {
    id: run.run,
    state: run.state,
    version: run.version,
    project: run.project,
    pool,
    labels: run.labels,
    priority: run.priority,
    command: run.command,
    ...(run.rerunOf === undefined ? {} : { rerunOf: run.rerunOf }),
    ...(run.array === undefined ? {} : { array: run.array }),
    ...(typeof run.keptUntil === "number" ? { keptUntil: iso(run.keptUntil) } : {}),
    ...(run.retried === undefined ? {} : { tries: run.retried + 1 }),
    ...parkedField(run),
    ...(run.health === undefined ? {} : { health: run.health }),
    exitCode: run.exitCode,
    ...(run.failure === undefined ? {} : { failure: run.failure }),
    ...(cost === undefined ? {} : { cost }),
    worker: run.worker,
    submittedAt: iso(run.submittedAt),
    startedAt: isoOrNull(run.startedAt),
    finishedAt: isoOrNull(run.finishedAt),
  };
}

function parkedField({ parked = null }: RunUpsert): Pick<RunSummary, "parked"> {
  return parked === null ? {} : { parked: { ...parked, since: iso(parked.since) } };
}
