import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { SEED } from "../../chance/seed.ts";
import { until } from "../../local/support/scratch.ts";
import { Chance } from "../../sim/rng.ts";
import { type Bench, openBench, type RunningAgent, run } from "../support/bench.ts";
import { contained } from "../support/contained.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

// SIGKILL beneath containers at random moments: of the agent, of the engine's service, and of both. Each kill
// hits several attempts, which are somewhere between their order and the removal of their container.

const KILLS = Number(process.env.DROVER_CRASH_ROUNDS ?? 10);
const ATTEMPTS = 5;
/** Longer than it takes from an order to the end on a quiet machine. */
const LATEST_MS = 3_000;
/** How long somebody who was killed is away at most. */
const AWAY_MS = 1_500;
const FULL = { timeout: 60_000 + KILLS * 30_000 };

let podman: Podman;
let bench: Bench;
let agent: RunningAgent;
let attempts = 0;

interface Job {
  id: string;
  lines: number;
  code: number;
}

/** Counts how often it has run, and writes to both streams until it ends. */
const scriptOf = ({ lines, code }: Job) =>
  `echo once >>count; i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "out $i"; ` +
  `[ $((i % 5)) = 0 ] && echo "err $i" >&2; usleep 20000; done; printf end; exit ${code}`;

function writtenBy({ lines }: Job): { stdout: string; stderr: string } {
  const numbers = Array.from({ length: lines }, (_, index) => index + 1);
  return {
    stdout: `${numbers.map((n) => `out ${n}\n`).join("")}end`,
    stderr: numbers
      .filter((n) => n % 5 === 0)
      .map((n) => `err ${n}\n`)
      .join(""),
  };
}

const startAgent = () => bench.start({}, ["--engine", podman.socketPath]);

async function killAgent(): Promise<void> {
  agent.child.kill("SIGKILL");
  await agent.ended;
}

/** Who is killed, and in which order they come back. */
const STRIKES: Record<string, (chance: Chance) => Promise<void>> = {
  async "the agent"(chance) {
    await killAgent();
    await sleep(chance.between(0, AWAY_MS));
    agent = startAgent();
  },
  async "the engine's service"(chance) {
    await podman.kill();
    await sleep(chance.between(0, AWAY_MS));
    await podman.restart();
  },
  async "the agent and the engine's service"(chance) {
    await Promise.all([killAgent(), podman.kill()]);
    await sleep(chance.between(0, AWAY_MS));
    const backFirst = chance.chance(0.5);
    if (backFirst) agent = startAgent();
    await podman.restart();
    if (!backFirst) agent = startAgent();
  },
};

/** How often a command has run. */
function runsOf({ id }: Job): number {
  const placement = `${id.slice(0, id.indexOf("/"))}_1`;
  const file = join(bench.stateDir, "allocs", placement, "main", "local", "count");
  return existsSync(file) ? readFileSync(file, "utf8").split("once\n").length - 1 : 0;
}

/** What has become of a job: `whole`, `never begun`, `unknown`, or what is wrong. */
function verdictOn(job: Job, { exit, startError, state }: AttemptReport, mayLose: boolean): string {
  const runs = runsOf(job);
  if (startError?.recoverable === true && exit === undefined && runs === 0) return "never begun";
  // Killed in the very moment of the start, podman does not know whether it has begun.
  if (state === "gone" && runs <= 1 && mayLose) return "unknown";
  const written = writtenBy(job);
  const got = (stream: "stdout" | "stderr") => bench.plane.stored(job.id, stream).toString();
  if (runs !== 1) return `${job.id} ran ${runs} times (${state}, ${JSON.stringify(exit ?? startError)})`;
  if (exit?.code !== job.code)
    return `${job.id}: ${state}, ${JSON.stringify(exit ?? startError)}, not ${job.code}`;
  for (const stream of ["stdout", "stderr"] as const) {
    if (got(stream) !== written[stream])
      return `${job.id}: ${stream} is ${got(stream).length} bytes: ${got(stream).slice(-40)}`;
  }
  return "whole";
}

/** Orders some jobs, strikes, and looks at what has become of them. */
async function playOnce(
  strike: (chance: Chance) => Promise<void>,
  chance: Chance,
  mayLose: boolean,
): Promise<string[]> {
  const jobs = Array.from({ length: ATTEMPTS }, (): Job => {
    attempts += 1;
    return { id: `crash-${attempts}/main/1.1`, lines: chance.between(1, 60), code: chance.between(0, 99) };
  });
  const orders = jobs.map((job) =>
    run(job.id, ["sh", "-c", scriptOf(job)], { container: contained(BUSYBOX) }),
  );
  bench.plane.order(orders);
  await sleep(chance.between(0, LATEST_MS));
  await strike(chance);
  const ended = await Promise.all(
    jobs.map(({ id }) =>
      bench.plane.until(`${id} is over`, () => {
        const attempt = bench.plane.attempt(id);
        const isWhole = (["stdout", "stderr"] as const).every(
          (stream) => bench.plane.stored(id, stream).length === (attempt?.log?.[stream]?.size ?? 0),
        );
        return (attempt?.state === "gone" || attempt?.state === "exited") && isWhole && attempt;
      }),
    ),
  );
  const verdicts = jobs.map((job, index) => verdictOn(job, ended[index] as AttemptReport, mayLose));
  bench.plane.order([]);
  const left = () => podman.names();
  await until("no container is left", async () => (await left()).length === 0 || undefined, left);
  expect(bench.processes()).toEqual([]);
  return verdicts;
}

describe.skipIf(!hasPodman)(
  `no container is lost or runs twice by ${KILLS} kills beneath ${ATTEMPTS} of them (containers.md#survives)`,
  () => {
    beforeAll(async () => {
      podman = await startPodman();
      bench = await openBench();
      agent = startAgent();
    });
    afterAll(async () => {
      await bench?.close();
      await podman?.stop();
    });

    test.each(Object.keys(STRIKES))(`SIGKILL of %s (seed ${SEED})`, FULL, async (who) => {
      const strike = STRIKES[who];
      if (strike === undefined) throw new Error(who);
      const chance = new Chance(SEED);
      const verdicts: string[] = [];
      for (let n = 0; n < KILLS; n += 1)
        verdicts.push(...(await playOnce(strike, chance, who !== "the agent")));
      const wrong = verdicts.filter((verdict) => !["whole", "never begun", "unknown"].includes(verdict));
      const count = (wanted: string) => verdicts.filter((verdict) => verdict === wanted).length;
      const told = ["whole", "never begun", "unknown"].map((verdict) => `${count(verdict)} ${verdict}`);
      console.info(`${who}: of ${verdicts.length} attempts ${told.join(", ")}, ${wrong.length} wrong`);
      expect(wrong).toEqual([]);
      expect(bench.plane.faults).toEqual([]);
    });
  },
);
