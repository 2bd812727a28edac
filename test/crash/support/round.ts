import { setTimeout as sleep } from "node:timers/promises";
import { isTerminal } from "../../../src/core/run-state.ts";
import { type RunningDrover, startDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";
import { type Job, jobsOf } from "./jobs.ts";
import type { STRIKES } from "./strikes.ts";
import type { Told } from "./told.ts";

/** The latest moment of a strike, counted from the first submission. */
const STRIKE_WITHIN_MS = 2_500;
/** The pause between two looks of whoever watches the runs. */
const WATCH_EVERY_MS = 50;

/** The system under test: it may have been started again since the last look. */
export interface System {
  home: string;
  pool: string;
  effects: string;
  up: RunningDrover;
  told: Told;
  /** What should never have been seen, in words. */
  problems: string[];
}

/** What came of one round. */
export interface Round {
  jobs: Job[];
  strike: string;
  /** The instances that were killed. */
  victims: string[];
  /** Runs whose abort was acknowledged while they had not ended. */
  aborted: Set<string>;
  /** When it struck, by the clock of this machine. */
  struckAt: number;
  /** How many had been told to have ended when it struck. */
  endedBefore: number;
}

/**
 * One round: users submit, abort and watch, and in the middle of it something is killed. If that was the
 * control plane it is started again on the same state. Whoever got no answer asks again, as a client does.
 * Resolves when every run has ended.
 */
export async function playRound(
  system: System,
  number: number,
  strike: (typeof STRIKES)[number],
  chance: Chance,
): Promise<Round> {
  const jobs = jobsOf(number, system.pool, system.effects, chance);
  const strikeAtMs = chance.between(0, STRIKE_WITHIN_MS);
  const watch = watchEnds(system, jobs);
  const users = Promise.all(jobs.map((job) => useOf(system, job)));
  // Nothing is waited for here: a crash comes when it comes.
  await sleep(strikeAtMs);
  const endedBefore = jobs.filter(({ id }) => system.told.statusOf(id) !== undefined).length;
  const struckAt = Date.now();
  const victims = await strike.kills(system.up, chance);
  if (strike.endsUp) {
    await system.up.ended;
    system.up = await startDrover(system.home);
  }
  const aborted = new Set((await users).flatMap((id) => id ?? []));
  await endOfAll(
    system,
    jobs.filter(({ kind }) => kind !== "long"),
  );
  const long = jobs.filter(({ kind }) => kind === "long");
  for (const { id } of long) if (await abort(system, id)) aborted.add(id);
  await endOfAll(system, long);
  await watch.stop();
  return {
    jobs,
    strike: strike.at,
    victims,
    aborted,
    struckAt,
    endedBefore,
  };
}

/** Submits a run, and aborts it if that is in the plan. Returns its id if the abort came before its end. */
async function useOf(system: System, job: Job): Promise<string | undefined> {
  await persist(`${job.id} is acknowledged`, [200, 201], () => system.up.call("POST", "/v1/runs", job.spec));
  if (job.abortAfterMs === null) return undefined;
  await sleep(job.abortAfterMs);
  return (await abort(system, job.id)) ? job.id : undefined;
}

/** Whether the abort was acknowledged before the run had ended, or ended it. */
async function abort(system: System, id: string): Promise<boolean> {
  const answer = await persist(`${id} is aborted`, [200], () =>
    system.up.call("POST", `/v1/runs/${id}/abort`, { reason: "enough" }),
  );
  const { state } = JSON.parse(answer);
  return !isTerminal(state) || state === "aborted";
}

/** Asks again until there is an answer, as every client must whose control plane may crash (rule R1). */
function persist(what: string, statuses: number[], ask: () => Promise<Response>): Promise<string> {
  return until(what, async () => {
    const answer = await ask().catch(() => undefined);
    // Its end may be missing: then there was no answer.
    const text = await answer?.text().catch(() => undefined);
    if (answer === undefined || text === undefined || answer.status >= 500) return undefined;
    if (!statuses.includes(answer.status)) throw new Error(`${what}: ${answer.status} ${text}`);
    return text;
  });
}

/** Reads runs again and again, as soon as they may have ended: what is told must be true ever after. */
function watchEnds(system: System, jobs: Job[]): { stop(): Promise<void> } {
  let stopped = false;
  const look = async (id: string) => {
    const { up, told, problems } = system;
    // Whoever gets no answer, or half of one, has been told nothing.
    const read = await told.read(up, id).catch(() => undefined);
    problems.push(...(read?.changes ?? []));
  };
  const watching = (async () => {
    while (!stopped) {
      for (const { id } of jobs) if (!stopped) await look(id);
      await sleep(WATCH_EVERY_MS);
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await watching;
    },
  };
}

async function endOfAll({ told }: System, jobs: Job[]): Promise<void> {
  const open = () => jobs.filter(({ id }) => told.statusOf(id) === undefined).map(({ id }) => id);
  await until("every run has ended", () => open().length === 0 || undefined).catch((error) => {
    throw new Error(`${error.message} These have not: ${open().join(", ")}`);
  });
}
