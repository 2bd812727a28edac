import type { RunStatus } from "../../../src/schema/run/run.ts";
import type { Batch } from "./batch.ts";
import { effectsOf } from "./jobs.ts";
import type { System } from "./stream.ts";

/** The counts of one batch, by the names of their columns. */
export type Counts = Record<string, string | number>;

/**
 * The counts of a batch. `duplicates`: commands that were started more than once; `lost`: runs without an
 * end. `commands struck`: those that were alive at a strike, counted at each; `of these complete`: those that
 * ended as if nothing had happened.
 */
export function countsOf(system: System, batch: Batch): Counts {
  const statuses = batch.jobs.map(({ id }) => system.told.statusOf(id));
  const count = (fits: (status: RunStatus) => boolean) =>
    statuses.filter((status) => status !== undefined && fits(status)).length;
  const struck = batch.strikes.flatMap(({ running }) => running.map(({ run }) => run));
  const begun = batch.jobs.map(({ id }) => effectsOf(system.effects, id).length);
  return {
    "SIGKILL to": batch.at,
    strikes: batch.strikes.length,
    "runs live": sum(batch.strikes.map(({ live }) => live)),
    "commands struck": struck.length,
    "of these complete": struck.filter((run) => system.told.statusOf(run)?.state === "complete").length,
    runs: batch.jobs.length,
    complete: count(({ state }) => state === "complete"),
    machine_lost: count(({ failure }) => failure?.code === "machine_lost"),
    status_lost: count(({ failure }) => failure?.code === "status_lost"),
    aborted: count(({ state }) => state === "aborted"),
    duplicates: begun.filter((times) => times > 1).length,
    lost: statuses.filter((status) => status === undefined).length,
  };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** The counts as a table of Markdown. */
export function tableOf(rows: Counts[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const line = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((column) => row[column] ?? ""))),
  ].join("\n");
}
