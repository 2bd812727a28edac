import { type PoolConfig, PoolConfig as PoolConfigSchema } from "../../src/schema/pool.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { LEASE_MARGIN_MS } from "../../src/shared/limits.ts";
import type { MachineBill } from "./bill.ts";
import type { Account } from "./cloud.ts";
import { ALL_FAULTS, type Fault } from "./faults.ts";
import type { Ill } from "./host.ts";
import { type Machines, REAL_MACHINES } from "./objects.ts";
import { Chance } from "./rng.ts";
import type { Options, Result } from "./simulation.ts";
import type { Job } from "./workload.ts";

/** Runs of one story of chaos, all submitted within this time. */
export const CHAOS_RUNS = 1_000;
const SUBMITTED_WITHIN_MS = 300_000;
/** How long the type is dead on arrival of which machines can be used later. */
const DEAD_FOR_MS = 600_000;
/** Steps after which a story that is not over counts as one that never ends. */
const MOST_STEPS = 400_000;

/** One of the types is never to be had, and of one the machines are dead on arrival for a while. */
const POOL: PoolConfig = PoolConfigSchema.parse({
  provider: { kind: "http", url: "http://127.0.0.1:1", secret: "sim" },
  instanceTypes: {
    small: { vcpus: 4, memory: "16GiB", price: 1 },
    none: { vcpus: 8, memory: "32GiB", price: 2 },
    stillborn: { vcpus: 8, memory: "32GiB", price: 2.2 },
    large: { vcpus: 16, memory: "64GiB", price: 4 },
  },
  maxInstances: 64,
  priceFactor: 2,
  probe: { interval: "20s", boot: "true" },
  timeouts: { boot: "3m", probe: "4m", idle: "30s", shutdown: "10s", lease: "5m" },
  sync: { interval: "30s" },
  allowFakeDriver: true,
  retention: { runs: "30d" },
});

const ACCOUNT: Account = {
  quota: 10,
  outOfCapacity: "none",
  deadOnArrival: { type: "stillborn", forMs: DEAD_FOR_MS },
};

/**
 * Of the machines one in seven comes without an agent, one in seven stops answering, and one in seven is
 * broken; of the attempts one in ten loses its supervisor and one in ten leaves a lock; of the cloud's calls
 * one in ten fails. Networks and objects fail a tenth as often as usual, and no alarm is lost: the chaos is
 * the cloud's.
 */
const RATES: Record<Fault, number> = {
  loss: 0.004,
  doubling: 0.004,
  delay: 0.003,
  crash: 0.001,
  lostAlarm: 0,
  lostData: 0.1,
  partition: 0,
  withdrawn: 0,
  pendingCreate: 0,
  zoneOutage: 0,
  listError: 0,
  takenBack: 0,
  scarceCalls: 0,
  newAgent: 0.1,
  receiverDown: 1,
  silentBeforeOrder: 0,
  agentRestart: 0.05,
  machineDeath: 0.02,
  lostCreate: 0.05,
  refusedCreate: 0,
  lateMachine: 0,
  secondMachine: 0,
  createError: 0.1,
  omission: 0.1,
  idleDestroy: 0.05,
  destroyError: 0.1,
  // What machines cost that nobody can destroy for an hour is not the fleet's fault.
  refusesAll: 0,
  deadBoot: 1 / 7,
  deafMachine: 1 / 7,
  brokenMachine: 1 / 7,
  lostSupervisor: 0.1,
  staleLock: 0.1,
  notice: 0,
  drain: 0,
  forcedKill: 0,
  forcedDeletion: 0,
  ownMachine: 0,
  liar: 0,
  planeAway: 0,
  planeClock: 0,
  hostClock: 0,
  shellScript: 0,
  slowSignal: 0.5,
  drift: 1,
  fullDisk: 0,
  fullHost: 0,
};

/**
 * A story of chaos, with all troubles of a provider (pool.md#faults-of-a-provider): its troubles
 * last to the end.
 */
export function chaos(seed: number, machines: Machines = REAL_MACHINES, runs = CHAOS_RUNS): Options {
  return {
    seed,
    steps: MOST_STEPS,
    runs,
    faults: ALL_FAULTS,
    machines,
    jobs: jobs(runs, new Chance(seed)),
    setting: { pool: POOL, account: ACCOUNT, rates: RATES, relentless: true },
  };
}

/** 1 to 8 vCPUs, 1 to 3 GiB, priorities 1 to 20. Each is placed anew until it has had an end of its own. */
function jobs(count: number, chance: Chance): Job[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `run-${i + 1}`;
    const spec = RunSpec.parse({
      tasks: [
        { name: "main", argv: ["play"], driver: "fake", fake: { runFor: `${chance.between(1, 60)}s` } },
      ],
      resources: { vcpus: chance.between(1, 8), memory: `${chance.between(1_024, 3_072)}MiB` },
      priority: chance.between(1, 20),
      killTimeout: "5s",
      reschedule: { attempts: 10, delay: "5s", interval: "24h" },
    });
    return { id, spec, submitAtMs: chance.between(0, SUBMITTED_WITHIN_MS), abortAtMs: null, pleas: [] };
  });
}

/** Until a machine of this cloud is ready: it boots for up to 40 s, enrolls, and its boot is probed. */
const READY_MS = 60_000;
/** On the average: a destroy takes effect within 5 s, and one in seven fails until a later listing. */
const DESTROY_MS = 60_000;
/** Once a story and kind of machine: a destroy can fail several times in a row. */
const UNLUCKY_MS = 180_000;
/** Over its socket a host says in full what there is to say this often (`agent/core/reports/pace.ts`). */
const FULL_REPORT_MS = 300_000;

const { boot, idle, lease, probe } = POOL.timeouts;
/** Between two runs a machine is not idle while any waits that fits, so it is only idle before and after. */
const WELL_MS = READY_MS + durationMs(idle) + DESTROY_MS;
/** What a machine may be paid for with nothing running on it, on the average. */
const IDLE_BOUNDS: Record<Ill | "well", number> = {
  well: WELL_MS,
  silent: durationMs(boot) + DESTROY_MS,
  deaf: WELL_MS + Math.max(durationMs(probe), durationMs(lease) + LEASE_MARGIN_MS),
  broken: WELL_MS + FULL_REPORT_MS,
};

/** For so long was one kind of machine paid with nothing running on it, and for so long it may be. */
export interface Idleness {
  kind: Ill | "well";
  machines: number;
  idleMs: number;
  boundMs: number;
}

export function idleness(bill: MachineBill[]): Idleness[] {
  const kinds = Object.entries(IDLE_BOUNDS) as [Ill | "well", number][]; // the keys are the kinds
  return kinds.map(([kind, bound]) => {
    const machines = bill.filter(({ ill }) => (ill ?? "well") === kind);
    const idleMs = machines.reduce((sum, { paidMs, busyMs }) => sum + paidMs - busyMs, 0);
    return { kind, machines: machines.length, idleMs, boundMs: machines.length * bound + UNLUCKY_MS };
  });
}

/** What is wrong with a story of chaos: in one line, or undefined if nothing is. */
export function wrongWith({ violation, ended, bill }: Result): string | undefined {
  if (violation !== undefined) return violation.message;
  for (const [run, { outcome }] of ended) {
    if (outcome?.state !== "complete" || outcome.exitCode !== 0)
      return `${run} ends ${outcome?.state} ${outcome?.failure?.code ?? outcome?.exitCode}`;
  }
  const over = idleness(bill).find(({ idleMs, boundMs }) => idleMs > boundMs);
  if (over === undefined) return undefined;
  const seconds = (ms: number) => Math.round(ms / 1_000);
  return (
    `idle: ${over.machines} machines (${over.kind}) were idle for ${seconds(over.idleMs)} s, ` +
    `and ${seconds(over.boundMs)} s is the bound`
  );
}
