// The whole way: `drover up`, a pool on a fake cloud, and machines that are processes here. They run the data
// that the fake got. Some calls fail, listings are late, a zone has an outage, and the control plane is
// killed in the middle.
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sized } from "../../chance/length.ts";
import { makeHome, type RunningDrover, startDrover } from "../../edge/support/drover.ts";
import type { Json } from "../../edge/support/edge.ts";
import { until } from "../../local/support/scratch.ts";
import type { Booted, LocalMachines } from "./machines.ts";
import { startWay } from "./start-way.ts";

/** The whole number on a cloud is for the long tests. */
const RUNS = sized(60, 200);
const MAX_INSTANCES = 4;
const A_CENT = 0.01;

/** What a fake tells about its machines, and where it listens. */
export interface Lives {
  onBoot(machine: Booted): void;
  onEnd(id: string): void;
  /** Default: any free port. */
  port?: number | undefined;
}

/**
 * Whether failures say that nothing was made. Where they do not, a create takes minutes to be disproved, and
 * a zone does not even list what it has.
 */
export type Trouble = "clear" | "unclear";

/** A fake, as the whole way needs it. */
export interface WholeFake {
  url: string;
  stop(): void;
  /** Lets the fake's time pass. */
  settle(): void;
  /** A machine has switched itself off, or its first process has ended. */
  ended(id: string): void;
  /** One call in ten fails, listings are late, and rates are enforced. */
  trouble(how: Trouble): void;
  /** A zone makes no machines. */
  outage(isOut: boolean, how: Trouble): void;
  /** The names of machines that still cost money, and of other things that do. */
  left(): string[];
  /** Calls that were refused because there were too many. */
  overRate(): unknown[];
  bill(): number;
}

export interface WholeWay {
  name: string;
  credentials: string;
  /** A machine is gone once its first process has ended. */
  endsWithFirstProcess?: true;
  start(lives: Lives): Promise<WholeFake>;
  /** The pool's provider, without its credentials. */
  provider(url: string): object;
  image: string;
  instanceTypes: object;
}

/** Registers the test of the whole way on one kind of cloud. */
export function testWholeWay(way: WholeWay, trouble: Trouble): void {
  let home: string;
  let up: RunningDrover;
  let fake: WholeFake;
  let machines: LocalMachines;

  beforeAll(async () => {
    home = makeHome(way.name);
    ({ fake, machines } = await startWay(way, home));
    up = await startDrover(home);
    await up.json(200, "PUT", "/v1/secrets/cloud", { value: way.credentials, use: "provider" });
    const { config } = await up.json(200, "GET", "/v1/pools/default");
    await up.json(201, "PUT", "/v1/pools/ci", {
      ...config,
      provider: { ...way.provider(fake.url), credentials: { secret: "cloud" } },
      image: way.image,
      instanceTypes: way.instanceTypes,
      maxInstances: MAX_INSTANCES,
      timeouts: { ...config.timeouts, idle: "3s", shutdown: "2s", lease: "2m" },
      sync: { interval: "2s" },
    });
  });
  afterAll(async () => {
    await up.stop();
    await machines.stop();
    fake.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const poolView = (): Promise<Json> => up.json(200, "GET", "/v1/pools/ci");

  async function submit(from: number, count: number): Promise<void> {
    const specs = Array.from({ length: count }, (_, n) => ({
      id: `run-${from + n}`,
      pool: "ci",
      argv: ["sh", "-c", `exit ${(from + n) % 3}`],
      resources: { vcpus: 1, memory: "64MiB" },
    }));
    await up.json(201, "POST", "/v1/runs", { runs: specs });
  }

  async function endOf(id: string): Promise<Json> {
    return await until(`${id} has ended`, async () => {
      const status = await up.json(200, "GET", `/v1/runs/${id}?wait=10s&state=done`).catch(() => undefined);
      return status?.finishedAt == null ? undefined : status;
    });
  }

  test(`${RUNS} runs end as they should, and each machine is destroyed and paid for once`, {
    timeout: 600_000,
  }, async () => {
    fake.trouble(trouble);
    await submit(0, RUNS / 2);
    await until("a machine runs", () => machines.living > 0 || undefined);
    fake.outage(true, trouble);
    await endOf("run-20");
    process.kill(-up.pid, "SIGKILL");
    await up.ended;
    up = await startDrover(home);
    await submit(RUNS / 2, RUNS / 2);
    await endOf(`run-${RUNS / 2 + 20}`);
    fake.outage(false, trouble);
    const ids = Array.from({ length: RUNS }, (_, n) => `run-${n}`);
    const ends = await Promise.all(ids.map(endOf));
    const odd = ends.filter(({ exitCode }, n) => exitCode !== n % 3);
    expect(odd.map(({ id, state, exitCode, failure }) => ({ id, state, exitCode, failure }))).toEqual([]);

    // Where hours are billed, idle machines would stay for the rest of one. Others may become idle yet.
    const isEmpty = async () => {
      const { items } = await up.json(200, "GET", "/v1/workers?pool=ci&state=idle");
      for (const { id } of items) await up.call("POST", `/v1/workers/${id}/drain`);
      return Object.keys((await poolView()).workers).length === 0 || undefined;
    };
    // A create whose answer was lost with the control plane takes minutes to be disproved.
    const what = "the pool has no machine";
    await until(what, isEmpty)
      .catch(() => until(what, isEmpty))
      .catch(() => until(what, isEmpty, async () => (await poolView()).workers));
    expect(fake.left()).toEqual([]);
    expect(machines.living).toBe(0);
    expect(fake.overRate()).toEqual([]);

    const { items: gone } = await up.json(200, "GET", "/v1/workers?pool=ci&state=gone");
    const ready = gone.filter(({ readyAt }: Json) => readyAt !== null);
    const boots = await Promise.all(ready.map(({ id }: Json) => up.json(200, "GET", `/v1/workers/${id}`)));
    const steps = boots.map(({ boot }) => boot.at(-1)?.step);
    // What was reported while there was no control plane comes only with a later step.
    expect(steps).toContain("start");
    expect(new Set(steps)).not.toContain(undefined);

    const metrics = await (await up.call("GET", "/metrics")).text();
    const spent = /drover_instances_spent_total\{pool="ci"[^}]*\} (\S+)/.exec(metrics)?.[1];
    expect(Number(spent)).toBeGreaterThan(0);
    // Drover pays for a machine from its request until it is seen to be gone, so it counts a little more than
    // the cloud does, and more on a busy machine.
    const { items: paid } = await up.json(200, "GET", "/v1/pools/ci/gone-workers?limit=1000");
    expect(new Set(paid.map(({ id }: Json) => id)).size).toBe(paid.length);
    expect(Math.abs(Number(spent) - fake.bill())).toBeLessThan(A_CENT);
  });
}
