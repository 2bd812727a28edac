import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { until } from "../local/support/scratch.ts";
import { Ec2Cloud, KEYS, REGION, serveEc2 } from "./ec2-fake.ts";
import { LocalMachines } from "./support/machines.ts";

// The whole way: `drover up`, a pool on a fake EC2, and machines that are processes here. They run the data
// that the fake got. Of its calls one in ten fails, its listings are late, a zone has an outage, and the
// control plane is killed in the middle.

const RUNS = 200;
const IMAGE = "ami-0a1b2c3d4e5f60718";
const ZONE_OUT = "eu-west-1a";

let home: string;
let up: RunningDrover;
let cloud: Ec2Cloud;
let machines: LocalMachines;
let stopFake = () => {};

beforeAll(async () => {
  home = makeHome("ec2");
  cloud = new Ec2Cloud({
    bootMs: 500,
    endMs: 500,
    onBoot: ({ id, token = "", userData }) => machines.boot({ id, name: token, userData }),
    onEnd: ({ id }) => machines.end(id),
  });
  machines = new LocalMachines(join(home, "machines"), {
    onPowerOff: (id) => cloud.powerOff(id),
    tick: () => cloud.settle(),
  });
  const { server, url } = await serveEc2(cloud);
  stopFake = () => {
    server.close();
    server.closeAllConnections();
  };
  up = await startDrover(home);
  await up.json(200, "PUT", "/v1/secrets/aws", { value: JSON.stringify(KEYS), use: "provider" });
  const { config } = await up.json(200, "GET", "/v1/pools/default");
  await up.json(201, "PUT", "/v1/pools/ci", {
    ...config,
    provider: {
      kind: "ec2",
      region: REGION,
      credentials: { secret: "aws" },
      endpoint: url,
      subnets: { "eu-west-1a": "subnet-1111111a", "eu-west-1b": "subnet-1111111b" },
    },
    image: IMAGE,
    instanceTypes: {
      "m7i-large": { providerType: "m7i.large", vcpus: 2, memory: "1GiB", price: 0.1 },
    },
    maxInstances: 4,
    timeouts: { ...config.timeouts, idle: "3s", shutdown: "2s" },
    sync: { interval: "2s" },
  });
});
afterAll(async () => {
  await up.stop();
  await machines.stop();
  stopFake();
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

describe("a pool on EC2 (clouds/ec2.md)", () => {
  test(`${RUNS} runs end as they should, and each machine is destroyed and paid for once`, {
    timeout: 300_000,
  }, async () => {
    Object.assign(cloud.faults, {
      errorRate: { code: "RequestThrottled", part: 0.1 },
      listDelayMs: 2_000,
      enforcesRates: true,
    });
    await submit(0, RUNS / 2);
    await until("a machine runs", () => machines.living > 0 || undefined);
    cloud.faults.zoneOutage.add(ZONE_OUT);
    await endOf("run-20");
    process.kill(-up.pid, "SIGKILL");
    await up.ended;
    up = await startDrover(home);
    await submit(RUNS / 2, RUNS / 2);
    await endOf(`run-${RUNS / 2 + 20}`);
    cloud.faults.zoneOutage.clear();
    const ids = Array.from({ length: RUNS }, (_, n) => `run-${n}`);
    const ends = await Promise.all(ids.map(endOf));
    const odd = ends.filter(({ exitCode }, n) => exitCode !== n % 3);
    expect(odd.map(({ id, state, exitCode, failure }) => ({ id, state, exitCode, failure }))).toEqual([]);

    // A create whose answer was lost with the control plane takes minutes to be disproved.
    const isEmpty = async () => Object.keys((await poolView()).workers).length === 0 || undefined;
    await until("the pool has no machine", isEmpty).catch(() => until("the pool has no machine", isEmpty));
    expect(cloud.living).toEqual([]);
    expect(cloud.leftVolumes).toEqual([]);
    expect(machines.living).toBe(0);
    expect(cloud.calls.filter(({ code }) => code === "RequestLimitExceeded")).toEqual([]);

    const paid = [...cloud.instances.values()].reduce((sum, one) => sum + cloud.bill(one), 0);
    const metrics = await (await up.call("GET", "/metrics")).text();
    const spent = /drover_instances_spent_total\{pool="ci"[^}]*\} (\S+)/.exec(metrics)?.[1];
    expect(Number(spent)).toBeGreaterThan(0);
    expect(Number(spent).toFixed(2)).toBe(paid.toFixed(2));
  });
});
