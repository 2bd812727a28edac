// How does a verb wait until runs are healthy, and what does it say of those that are not (health.md#wait)?
import type { Client } from "../../../client/client.ts";
import type { RunStatus } from "../../../client/types.ts";
import { durationMs } from "../../../src/shared/duration.ts";
import { CliError, EXIT } from "../../errors.ts";
import type { Io } from "../../terminal/io.ts";
import { noProgress, watchWork } from "../../terminal/progress.ts";
import { asJson, counted, printable } from "../../terminal/text.ts";
import { verdictOf } from "../../verdict.ts";
import { PATIENCE } from "../patience.ts";

interface Waiting {
  /** Give up after this time. */
  timeout?: string | undefined;
  quiet?: boolean | undefined;
  json?: boolean | undefined;
}

/**
 * Waits until all checks of all these runs pass at once. Resolves with 0, or with the exit code of the first
 * that has ended before, without a wait for the others. After the time-out, says what the first that is left
 * waits for. Throws a `CliError` if one has no checks: nobody could ever say that it is healthy.
 */
export async function showHealthy(
  io: Io,
  client: Client,
  ids: readonly string[],
  { timeout, quiet, json }: Waiting,
): Promise<number> {
  const over = new AbortController();
  const timer =
    timeout === undefined ? undefined : setTimeout(() => over.abort(), Math.max(1, durationMs(timeout)));
  let open = ids.length;
  const text = () => `${counted(open, "run")} ${open === 1 ? "is" : "are"} not healthy`;
  const progress = quiet === true ? noProgress(io) : watchWork(io, text);
  try {
    const runs = await allHealthy(client, ids, over.signal, (left) => {
      open = left;
    });
    await progress.stop();
    return await tell(io, runs, { quiet, json });
  } catch (error) {
    await progress.stop();
    if (!over.signal.aborted) throw error;
    for (const id of ids) await sayWhy(io, client, id, timeout ?? "");
    return EXIT.timedOut;
  } finally {
    over.abort();
    clearTimeout(timer);
  }
}

/** The runs as they are once all are healthy, or one of them never will be. */
async function allHealthy(
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
  isLeft: (count: number) => void,
): Promise<RunStatus[]> {
  const [only] = ids;
  if (only !== undefined && ids.length === 1)
    return [await client.runs.waitHealthy(only, { signal, patience: PATIENCE })];
  for (;;) {
    await eachHealthy(client, ids, signal, isLeft);
    // While the last ones were waited for, the first may have become unhealthy, or have ended.
    const runs = await Promise.all(ids.map((id) => client.runs.get(id, { signal, patience: PATIENCE })));
    if (runs.some(isHopeless) || runs.every(({ health }) => health === "healthy")) return runs;
  }
}

/** Waits until each run has been healthy, or until one never will be. */
async function eachHealthy(
  client: Client,
  ids: readonly string[],
  over: AbortSignal,
  isLeft: (count: number) => void,
): Promise<void> {
  const rest = new AbortController();
  const signal = AbortSignal.any([over, rest.signal]);
  let left = ids.length;
  isLeft(left);
  const waits = ids.map(async (id) => {
    const status = await client.runs.waitHealthy(id, { signal, patience: PATIENCE });
    if (isHopeless(status)) return rest.abort();
    left -= 1;
    isLeft(left);
  });
  try {
    await Promise.all(waits);
  } catch (error) {
    if (!rest.signal.aborted || over.aborted) throw error;
  }
}

/** Whether a run has ended or has no checks, so that it can never be healthy. */
function isHopeless({ health }: RunStatus): boolean {
  return health === undefined;
}

async function tell(io: Io, runs: readonly RunStatus[], { quiet, json }: Waiting): Promise<number> {
  if (json) await io.stdout.write(`${asJson(runs)}\n`);
  const first = runs.find(isHopeless);
  if (first === undefined) {
    if (!json && quiet !== true) await io.say(`${runs.length === 1 ? "It is" : "All are"} healthy.`);
    return 0;
  }
  if (first.finishedAt === null) {
    throw new CliError(`Run ${first.id} has no checks, so it can never be healthy.`, [
      "Give one of its tasks `checks`, or wait for its end: drover wait without --healthy",
    ]);
  }
  const { exitCode, message } = verdictOf(first);
  await io.say(`Run ${first.id} has ended, and is not healthy: ${printable(message ?? first.description)}`);
  return exitCode === 0 ? EXIT.drover : exitCode;
}

/** Says why a run is not healthy, if it is not. */
async function sayWhy(io: Io, client: Client, id: string, timeout: string): Promise<void> {
  const { health } = await client.runs.get(id, { patience: PATIENCE });
  if (health === "healthy") return;
  const { reason } = await client.runs.why(id, { patience: PATIENCE });
  await io.say(`Run ${id} is not healthy within ${timeout}: ${printable(reason.text)}`);
}
