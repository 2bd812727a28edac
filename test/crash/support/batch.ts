import { setTimeout as sleep } from "node:timers/promises";
import { startDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";
import type { Job } from "./jobs.ts";
import { Stream, type System } from "./stream.ts";
import { type RunningAttempt, runningIn, type Strike } from "./strikes.ts";

/** The longest pause between commands that are seen to run, and the strike. */
const STRIKE_WITHIN_MS = 400;

/** One moment at which something was killed. */
export interface Struck {
  /** Runs that were under way for their users. */
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
 * Strikes again and again, each time while commands run, below a steady stream of runs. What was the control
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
  while (strikes.length < count) {
    strikes.push(await aim(system, stream, chance));
    for (const victim of await strike.kills(system.up, chance)) victims.add(victim);
    if (strike.endsUp) {
      await system.up.ended;
      system.up = await startDrover(system.home);
    }
  }
  await stream.end();
  return { at: strike.at, strikes, victims, jobs: stream.jobs, aborted: stream.aborted };
}

/** Waits for a random moment at which commands run. */
function aim({ up }: System, stream: Stream, chance: Chance): Promise<Struck> {
  return until("commands run", async () => {
    // Nothing is waited for here: a crash comes when it comes.
    await sleep(chance.between(0, STRIKE_WITHIN_MS));
    const running = runningIn(up.stateDir);
    return running.length > 0 ? { live: stream.live.length, running } : undefined;
  });
}
