import type { Past } from "../../../src/objects/rpc.ts";
import type { HistoryItem } from "../../../src/schema/pool/history.ts";
import { GoneWorker } from "../../../src/schema/pool/past.ts";
import type { RunSummary } from "../../../src/schema/run/run.ts";
import { workerSummaryOf } from "./samples.ts";

const AT = "2026-11-21T08:30:00.000Z";

/** The samples, the hours and the machines that are gone of a pool that serves these projects. */
export function pastOf(pool: string, projects: readonly string[]): Omit<Past, "history"> {
  const sample = {
    at: AT,
    queue: { depth: 1, oldestAgeMs: 5_000 },
    runs: { pending: 1, running: 2 },
    workers: { running: 1 },
    filled: 0.5,
    perHour: 2,
    unpriced: 0,
  };
  const tally = {
    from: "2026-11-21T08:00:00.000Z",
    to: AT,
    ended: { complete: 3 },
    restarts: 0,
    started: { runs: 3, seconds: 1.5 },
    machines: { created: 1, refused: 0, ready: 1, failed: 0, gone: 0 },
    spent: 0.25,
  };
  const gone = projects.map((project) => {
    const summary = workerSummaryOf(`${pool}-${project}-gone`, pool);
    return GoneWorker.parse({ ...summary, project, state: "gone", endingAt: null, goneAt: AT, cost: 1 });
  });
  return {
    samples: { items: [sample], next: null },
    tallies: { items: [tally], next: null },
    gone: { items: gone, next: null },
  };
}

/** That each of these runs was queued, as far as it is in the pool. */
export function historyFrom(
  runs: Iterable<{ row?: Pick<RunSummary, "id" | "project" | "pool" | "submittedAt"> | undefined }>,
  pool: string,
): HistoryItem[] {
  return [...runs].flatMap(({ row }) => {
    if (row?.pool !== pool) return [];
    const { id, project, submittedAt: at } = row;
    return [{ at, what: "run_queued", run: id, worker: null, project, text: "" }];
  });
}
