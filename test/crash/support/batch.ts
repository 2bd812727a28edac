import { setTimeout as sleep } from "node:timers/promises";
import { startDrover } from "../../edge/support/drover.ts";
import type { Json } from "../../edge/support/edge.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";
import type { Job } from "./jobs.ts";
import { Stream, type System } from "./stream.ts";
import { type RunningAttempt, runningIn, type Strike } from "./strikes.ts";

/** The longest pause between the end of a run and the look for commands to strike. */
const STRIKE_WITHIN_MS = 400;

/** One moment at which something was killed. */
export interface Struck {
  /** Runs that had not ended for their users. */
  live: number;
  /** Commands that were alive. */
  running: RunningAttempt[];
}

/** What came of many strikes of one kind. */
export interface Batch {
  at: string;
  strikes: Struck[];
  /** Instances that were killed. */
  victims: Set<string>;
  jobs: Job[];
  /** Runs whose abort was acknowledged while they had not ended. */
  aborted: Set<string>;
}

/**
 * Strikes again and again, each time while commands run, during a steady stream of runs. A killed control
 * plane is started again on the same state. Resolves when every run has ended.
 */
export async function playBatch(
  system: System,
  strike: Strike,
  count: number,
  chance: Chance,
): Promise<Batch> {
  const stream = new Stream(system, `c-${strike.at.replace(" ", "-")}`, chance);
  const strikes: Struck[] = [];
  const victims = new Set<string>();
  try {
    while (strikes.length < count) {
      const running = await aim(system, chance);
      strikes.push({ live: stream.live.length, running });
      for (const victim of await strike.kills(system.up, chance)) victims.add(victim);
      if (strike.endsUp) {
        await system.up.ended;
        system.up = await startDrover(system.home);
      }
    }
    await stream.end();
  } catch (error) {
    const why = await whyOf(system, stream.live);
    throw new Error(`after ${strikes.length} strikes at ${strike.at}: ${String(error)}\n${why}`);
  }
  return { at: strike.at, strikes, victims, jobs: stream.jobs, aborted: stream.aborted };
}

/** Waits for a random moment at which commands run, after some run has ended since the last strike. */
async function aim({ up, told }: System, chance: Chance): Promise<RunningAttempt[]> {
  const before = told.ended;
  await until("a run has ended", () => told.ended > before || undefined);
  // This sleep waits for nothing: a crash comes at any time.
  await sleep(chance.between(0, STRIKE_WITHIN_MS));
  return until("commands run", () => {
    const running = runningIn(up.stateDir);
    return running.length > 0 ? running : undefined;
  });
}

/** The control plane's reasons for runs that do not end, and its workers. */
async function whyOf({ up, pool }: System, runs: string[]): Promise<string> {
  const { items } = await up.json(200, "GET", `/v1/workers?pool=${pool}&limit=100`);
  const paths = [
    ...runs.map((id) => `/v1/runs/${id}/why`),
    ...items.map(({ id }: Json) => `/v1/workers/${id}/why`),
  ];
  const answers = paths.map(async (path) => `${path}: ${await (await up.call("GET", path)).text()}`);
  return (await Promise.all(answers)).join("\n");
}
