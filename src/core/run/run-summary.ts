// What do lists show about a run?
import type { RunSummary } from "../../schema/run/run.ts";
import { iso, isoOrNull } from "../../shared/time/instant.ts";
import type { RunUpsert } from "../messages.ts";

/** A run as every list shows it (api.md#query). */
export function runSummary(run: RunUpsert & { worker: string | null }, pool: string): RunSummary {
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
    exitCode: run.exitCode,
    worker: run.worker,
    submittedAt: iso(run.submittedAt),
    startedAt: isoOrNull(run.startedAt),
    finishedAt: isoOrNull(run.finishedAt),
  };
}
