import { describe, expect, test } from "vitest";
import { PoolConfig } from "../../src/schema/pool.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run/run.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { sized } from "../chance/length.ts";
import { type Machines, REAL_MACHINES } from "./objects.ts";
import { tellStory } from "./shrink.ts";
import { DEFAULTS, type Options, type Result, type Setting, simulate } from "./simulation.ts";
import { Timeline } from "./timeline.ts";
import { type Job, POOL } from "./workload.ts";

// Stories of whole fleets in which one thing happens, and nothing else is wrong.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The first instant of every story. */
const BEGAN_AT = new Timeline().now;

function job(id: string, submitAtMs: number, runFor: string, more: Partial<RunSpecInput> = {}): Job {
  const tasks = [{ name: "main", argv: ["play"], driver: "fake" as const, fake: { runFor } }];
  return { id, spec: RunSpec.parse({ tasks, ...more }), submitAtMs, abortAtMs: null, pleas: [] };
}

/** One story without faults to its end, in which nothing that must never be was seen. */
async function tell(jobs: Job[], setting: Setting, more: Partial<Options> = {}): Promise<Result> {
  const options = { ...DEFAULTS, seed: 1, steps: 1_000_000, faults: [], jobs, ...more };
  const result = await simulate({ ...options, setting: { relentless: true, ...setting } });
  expect(result.violation === undefined ? "" : tellStory(result)).toBe("");
  expect(result.ended.size).toBe(jobs.length);
  return result;
}

const endsOf = ({ ended }: Result) =>
  new Set([...ended.values()].map(({ outcome }) => `${outcome?.state} ${outcome?.exitCode}`));
const epochsOf = ({ ended }: Result) => Math.max(...[...ended.values()].map(({ endedEpoch }) => endedEpoch));

describe("a storage that takes no writes for an hour (cases.md#case-14)", () => {
  const again = { reschedule: { attempts: 3, delay: "5s", interval: "24h" }, restart: { attempts: 0 } };
  const jobs = [1, 2, 3, 4, 5, 6].map((n) => job(`run-${n}`, n * SECOND, "10m", again));

  test("hosts end by their leases, and when it is back each run is placed anew and ends", async () => {
    const result = await tell(jobs, { outage: { fromMs: 3 * MINUTE, forMs: 60 * MINUTE } });
    expect(endsOf(result)).toEqual(new Set(["complete 0"]));
    expect(epochsOf(result)).toBe(2);
    for (const { paidMs } of result.bill) expect(paidMs).toBeLessThan(90 * MINUTE);
  });

  // A lease of 5 min is renewed at the first report after half of it, and acted on 35 s before its end.
  test.each([1, 2, 3, 4, 5, 6])(
    "one that is shorter than what a lease leaves touches no run: story %i",
    async (seed) => {
      const result = await tell(jobs, { outage: { fromMs: 3 * MINUTE, forMs: MINUTE } }, { seed });
      expect(endsOf(result)).toEqual(new Set(["complete 0"]));
      expect(epochsOf(result)).toBe(1);
    },
  );
});

describe("A4, P18: a provider that refuses everything for an hour", () => {
  const jobs = Array.from({ length: 12 }, (_, n) =>
    job(`run-${n}`, n * SECOND, "1m", { resources: { vcpus: 2 } }),
  );
  const [fromMs, forMs] = [0, 60 * MINUTE];
  /** The pause doubles from 5 s to 60 s. */
  const MOST_CREATES = 8 + 60;

  test.each(["temporary", "rate_limit", "quota"] as const)(
    "%s: one is tried after each pause",
    async (cause) => {
      const failure = { class: cause, text: "no" };
      const { calls, ...result } = await tell(jobs, { refusesAll: { fromMs, forMs, failure } });
      expect(endsOf({ calls, ...result })).toEqual(new Set(["complete 0"]));
      const creates = calls.filter(({ what, at }) => what === "create" && at < BEGAN_AT + forMs);
      // Those that were under way when the first was refused are no trials.
      expect(creates.length).toBeLessThanOrEqual(POOL.maxInstances + MOST_CREATES);
      for (const { at } of calls) {
        const second = calls.filter((one) => one.at >= at && one.at < at + SECOND);
        expect(second.length).toBeLessThanOrEqual(POOL.maxCloudOpsPerSecond);
      }
    },
  );
});

describe("hundreds of hosts that connect again at once (cases.md#case-15)", () => {
  const HOSTS = sized(100, 1_000);
  /**
   * All runs have been started by then, and none ends before the window in which words are counted is over.
   */
  const DEPLOYED_AT = 90 * SECOND;
  const COUNTED_FOR = 2 * MINUTE;
  /** A worker that is loaded anew does not know what its pool knows, and says it once. It owes no more. */
  const WORDS_OF_A_HOST = 1;
  const pool = PoolConfig.parse({
    ...POOL,
    instanceTypes: { small: { vcpus: 4, memory: "4GiB", price: 1 } },
    maxInstances: HOSTS,
    maxConcurrentCreates: HOSTS,
    maxCloudOpsPerSecond: 1_000,
    timeouts: { boot: "3m", probe: "10m", idle: "30s", shutdown: "10s", lease: "30m" },
    retention: { runs: "30d" },
  });
  const needs = { resources: { vcpus: 4, memory: "1GiB" } };
  const jobs = Array.from({ length: HOSTS }, (_, n) => job(`run-${n}`, n, "4m", needs));

  test("costs none its life and no run its place, and the pool one word a host", {
    timeout: 600_000,
  }, async () => {
    let words = 0;
    const machines: Machines = {
      ...REAL_MACHINES,
      pool: {
        ...REAL_MACHINES.pool,
        apply(state, event, now) {
          const since = now - BEGAN_AT - DEPLOYED_AT;
          if (event.type === "worker" && since > 0 && since < COUNTED_FOR) words += 1;
          return REAL_MACHINES.pool.apply(state, event, now);
        },
      },
    };
    const result = await tell(jobs, { pool, deployedAtMs: DEPLOYED_AT }, { machines });
    expect(endsOf(result)).toEqual(new Set(["complete 0"]));
    expect(epochsOf(result)).toBe(1);
    expect(result.bill).toHaveLength(HOSTS);
    expect(words).toBe(WORDS_OF_A_HOST * HOSTS);
  });
});

describe("a demand that sits at the boundary of one machine more (cases.md#case-18)", () => {
  const whole = { resources: { vcpus: 2, memory: "1GiB" } };
  const often = 30;
  /** A machine may boot for 40 s: the second demand comes when it has had the first, or it needs one more. */
  const SECOND_AFTER = 55 * SECOND;
  const patient = PoolConfig.parse({ ...POOL, timeouts: { ...POOL.timeouts, idle: "1m" } });
  const demand = (everyMs: number) => [
    job("steady", 0, "40m", whole),
    job("first", MINUTE, "10s", whole),
    ...Array.from({ length: often - 1 }, (_, n) =>
      job(`run-${n}`, MINUTE + SECOND_AFTER + n * everyMs, "10s", whole),
    ),
  ];

  test("that comes back within the idle time-out launches it once", async () => {
    expect((await tell(demand(20 * SECOND), { pool: patient })).bill).toHaveLength(2);
  });

  test("that comes back later launches it once each time, and never two", async () => {
    expect((await tell(demand(80 * SECOND), {})).bill.length).toBeLessThanOrEqual(1 + often);
  });
});

describe("A6 story1-late-quick: a machine that appears when its worker has given it up", () => {
  /** A create that a host waits for in vain is given up by the boot time-out, before the machine comes. */
  const PROMISED_MS = durationMs(POOL.sync.interval) + durationMs(POOL.timeouts.shutdown) + MINUTE;

  test("is seen in an empty pool, and destroyed within minutes", async () => {
    const abandoned = { ...job("run-1", 0, "1m"), abortAtMs: 10 * SECOND };
    let machines = 0;
    for (let seed = 1; seed <= 10; seed += 1) {
      const rates = { lateMachine: 1 };
      const { bill } = await tell([abandoned], { rates }, { seed, faults: ["lateMachine"] });
      machines += bill.length;
      for (const { paidMs, starts } of bill) {
        expect(starts).toBe(0);
        expect(paidMs, `seed ${seed}`).toBeLessThan(PROMISED_MS);
      }
    }
    expect(machines).toBe(10);
  });
});
