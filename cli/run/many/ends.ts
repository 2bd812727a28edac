// How does a verb wait until many runs have ended, and how does it show how they ended?
import type { Client } from "../../../client/client.ts";
import type { RunFilter } from "../../../client/runs/run-lists.ts";
import type { RunSummary } from "../../../client/types.ts";
import { durationMs } from "../../../src/shared/duration.ts";
import { hasFailed } from "../../../src/shared/run-state.ts";
import { listText } from "../../list.ts";
import type { Io } from "../../terminal/io.ts";
import { noProgress, watchWork } from "../../terminal/progress.ts";
import { asJson, counted, elapsed } from "../../terminal/text.ts";
import { verdictOf } from "../../verdict.ts";
import { stateCells } from "../failed.ts";
import { readRuns } from "../list-runs.ts";
import { PATIENCE } from "../patience.ts";

/** Where a person watches, the count of runs is asked for this often. Elsewhere a request is held longer. */
const WATCHED_STEP_MS = 5_000;
const STEP_MS = 30_000;
/** As many runs as one answer can have. */
const PAGE_RUNS = 1_000;

/** Which runs to wait for: either ids, or the rest. */
export type Chosen = Pick<RunFilter, "ids" | "labels" | "array" | "pool">;

interface Waiting {
  /** Give up after this time. */
  timeout?: string | undefined;
  quiet?: boolean | undefined;
  signal?: AbortSignal;
}

/**
 * Waits until all chosen runs have ended, and resolves with them: in the order of the ids, those of an array
 * by their place in it, or else newest first. Undefined: the time-out was over first. If the answer to a wait
 * has all runs, it is the only request.
 */
export async function endsOf(
  io: Io,
  client: Client,
  chosen: Chosen,
  { timeout, quiet, signal }: Waiting,
): Promise<RunSummary[] | undefined> {
  const until = performance.now() + (timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(timeout));
  let open: number | undefined;
  const text = () =>
    open === undefined
      ? "Waits for the runs"
      : `${counted(open, "run")} ${open === 1 ? "has" : "have"} not ended`;
  const progress = quiet === true ? noProgress(io) : watchWork(io, text);
  try {
    for (;;) {
      const leftMs = until - performance.now();
      const waitMs = Math.round(Math.min(io.interactive ? WATCHED_STEP_MS : STEP_MS, Math.max(leftMs, 0)));
      const pages = chosen.ids === undefined ? { limit: PAGE_RUNS } : {};
      const options = { waitMs, patience: PATIENCE, signal };
      const { all, items, next } = await client.runs.checkAll({ ...chosen, ...pages }, options);
      if (all === undefined || all.holds) {
        await progress.stop();
        const runs = next === null ? items : await readAll(io, client, chosen);
        return chosen.array === undefined ? runs : runs.toSorted(byPlace);
      }
      open = all.open;
      if (until <= performance.now()) {
        await progress.stop();
        await io.say(`${text()} within ${timeout}.`);
        return undefined;
      }
    }
  } finally {
    await progress.stop();
  }
}

/** Compares two runs of an array by their places. */
function byPlace({ array: a }: RunSummary, { array: b }: RunSummary): number {
  return (a?.index ?? 0) - (b?.index ?? 0);
}

/** All chosen runs, if they do not fit into one answer. */
async function readAll(io: Io, client: Client, chosen: Chosen): Promise<RunSummary[]> {
  const { runs, troubles } = await readRuns(client, chosen, undefined, { patience: PATIENCE });
  for (const trouble of troubles) await io.say(trouble);
  return runs;
}

/** Whether the command of a run ended with 0. */
function endedWell({ state, exitCode }: RunSummary): boolean {
  return state === "complete" && (exitCode ?? 0) === 0;
}

/**
 * Prints how runs ended, and resolves with one exit code: 0, or that of the first run that failed; without
 * one, of the first that was aborted. Says which runs ended the rest of their array (pool.md#fail-at).
 */
export async function showEnds(
  io: Io,
  client: Client,
  runs: readonly RunSummary[],
  how: { quiet?: boolean | undefined; json?: boolean | undefined },
): Promise<number> {
  if (how.json) await io.stdout.write(`${asJson(runs)}\n`);
  else if (how.quiet !== true) await io.stdout.write(view(runs, io, client.now()));
  const failed = runs.filter((run) => !endedWell(run));
  // The runs that an array has ended are not what went wrong.
  const [first] = [...failed.filter(hasFailed), ...failed];
  if (first === undefined) return 0;
  const { exitCode, message } = verdictOf(await client.runs.get(first.id, { patience: PATIENCE }));
  if (runs.length > 1) await io.say(`${counted(failed.length, "run")} of ${runs.length} did not end well.`);
  else if (message !== undefined) await io.say(message);
  const ended = failed.find(({ state, array }) => state === "aborted" && array?.failAt !== undefined);
  const { abort = null } = ended === undefined ? {} : await client.runs.get(ended.id, { patience: PATIENCE });
  if (abort?.by === "drover") await io.say(`The others were ended: ${abort.reason}.`);
  return exitCode;
}

/** A table with one line for each run. The runs of a matrix have a column for each axis. */
function view(runs: readonly RunSummary[], io: Io, now: number): string {
  const axes = [...new Set(runs.flatMap(({ array }) => Object.keys(array?.matrix ?? {})))];
  const rows = runs.map((run) => [
    run.id,
    ...axes.map((axis) => run.array?.matrix?.[axis] ?? ""),
    ...stateCells(run),
    elapsed(run.startedAt, run.finishedAt ?? now),
    run.command,
  ]);
  return listText(io, ["RUN", ...axes, "STATE", "EXIT", "TOOK", "COMMAND"], rows, "No runs.");
}
