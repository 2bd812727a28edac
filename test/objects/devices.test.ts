import { expect, test } from "vitest";
import type { Report } from "../../src/schema/host.ts";
import type { HostDevice } from "../../src/schema/run/devices.ts";
import { refusal, TestHost } from "./support/host.ts";
import { askedMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// GPUs, from the report of a host to the place of a run and to what readers see (devices.md#report).

const world = freshWorld();
const HOUR = 3_600_000;
const ID = "train/main/1.1";
const T4 = { vendor: "nvidia", model: "Tesla T4", memoryBytes: 15 * 2 ** 30, driver: "550" };
const gpu = (id: string, healthy = true): HostDevice => ({ id, ...T4, healthy });
const has = (...list: HostDevice[]): Partial<Report> => ({ devices: { list } });
const wants = (gpus: number, model = "T4") => ({ resources: { gpus }, machine: { gpu: { model } } });

/** A self-hosted machine that has reported this. */
async function joined(report: Partial<Report>): Promise<{ worker: string; host: TestHost }> {
  const { worker, code } = await objects.pool("default").invite({ by: "admin", ttlMs: HOUR });
  const host = new TestHost(() => objects.worker(worker));
  await host.enroll(code);
  await host.report(report);
  return { worker, host };
}

/** How many GPUs of a worker its pool counts. */
async function gpusIn(worker: string): Promise<number | undefined> {
  const workers = await objects.pool("default").workers(["idle", "running"]);
  return workers.find(({ id }) => id === worker)?.resources.gpus;
}

test("a run gets a self-hosted machine with its kind of GPU, and readers see who has it", async () => {
  await makePool({ maxInstances: 0 });
  const { worker, host } = await joined(has(gpu("g0"), gpu("g1")));
  await eventually(async () => (await gpusIn(worker)) === 2 || undefined);
  expect((await refusal(submit("other", wants(1, "A100")))).code).toBe("unsatisfiable");
  await submit("train", wants(2));
  await submit("next", wants(1));
  const devices = has(gpu("g0"), gpu("g1"));
  const orders = () => host.report(devices);
  const { attempts } = await eventually(async () => {
    const answer = await orders();
    return answer.attempts.length > 0 ? answer : undefined;
  });
  expect(attempts.map(({ id }) => id)).toEqual([ID]);
  host.attempts = [{ id: ID, state: "running", startedAgoMs: 1, devices: ["g0", "g1"] }];
  await host.report(devices);
  expect(await objects.worker(worker).read()).toMatchObject({
    resources: { gpus: 2 },
    used: { gpus: 2 },
    devices: [
      { id: "g0", model: "Tesla T4", attempt: ID },
      { id: "g1", attempt: ID },
    ],
  });
  expect(await objects.allocation("next").why()).toMatchObject({ reason: { code: "self_hosted_only" } });
  const exit = { code: 0, signal: null, oomKilled: false, message: "" };
  host.attempts = [{ id: ID, state: "exited", startedAgoMs: 2, endedAgoMs: 1, exit, devices: ["g0", "g1"] }];
  await host.report(devices);
  const run = await objects.allocation("train").wait(["complete"], 20_000);
  expect(run.tasks[0]?.attempts).toMatchObject([{ id: ID, devices: ["g0", "g1"] }]);
  host.attempts = [];
  await eventually(async () => {
    const answer = await orders();
    return answer.attempts.some(({ id }) => id === "next/main/1.1") || undefined;
  });
});

test("a machine that loses its GPUs gets no run that needs one, until it has them again", async () => {
  await makePool({ maxInstances: 0 });
  const { worker, host } = await joined(has(gpu("g0")));
  await host.report({ devices: { list: [], fault: "the plug-in hangs" } });
  expect(await objects.worker(worker).read()).toMatchObject({
    resources: { gpus: 0 },
    devices: [],
    devicesFault: "the plug-in hangs",
  });
  await eventually(async () => (await gpusIn(worker)) === 0 || undefined);
  expect((await refusal(submit("larger", wants(2)))).code).toBe("unsatisfiable");
  await submit("later", wants(1));
  expect((await objects.allocation("later").why()).reason.code).toBe("self_hosted_only");
  await host.report(has(gpu("g0", false), gpu("g1")));
  await eventually(async () => (await gpusIn(worker)) === 1 || undefined);
  await eventually(async () => {
    const { attempts } = await host.report(has(gpu("g0", false), gpu("g1")));
    return attempts.some(({ id }) => id === "later/main/1.1") || undefined;
  });
});

test("a machine with fewer GPUs than its type says is shown, and no second one is made", async () => {
  const type = { vcpus: 4, memory: "8GiB", gpus: 2, gpu: { model: "T4" } };
  await makePool({ instanceTypes: { gpu: type } });
  await submit("big", wants(2));
  const { worker, code } = await askedMachine(world.cloud);
  const host = new TestHost(() => objects.worker(worker));
  await host.enroll(code);
  await host.report({ boot: { ok: true, output: "" }, ...has(gpu("g0")) });
  const why = await eventually(async () => {
    const found = await objects.allocation("big").why();
    return found.reason.code === "fewer_gpus" ? found : undefined;
  });
  expect(why.reason.text).toContain("gpu 1 of 2");
  expect((await objects.worker(worker).why()).reason.text).toContain("1 of the 2 GPUs that its type says");
  expect(world.cloud.calls.filter((call) => call === "POST /instances")).toHaveLength(1);
});
