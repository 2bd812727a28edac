import { reset, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import type { Env, Namespace } from "../../../src/objects/env.ts";
import { objectsOf, peersOf } from "../../../src/objects/messages/stubs.ts";
import type { Orders } from "../../../src/schema/host.ts";
import { PoolConfig, type PoolConfigInput } from "../../../src/schema/pool.ts";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import { CLOUD_URL, TestCloud } from "./cloud.ts";
import { TestHost } from "./host.ts";

/** The stubs, in the types that the tools of the platform take. */
type Stubs = {
  [Name in keyof Env]: Env[Name] extends Namespace<infer Stub>
    ? Namespace<DurableObjectStub & Stub>
    : Env[Name];
};

/** The bindings of the Worker under test: those of `wrangler.toml`. */
export const bindings = env as unknown as Stubs; // the pool of these tests is configured with that file
export const objects = objectsOf(bindings);
export const peers = peersOf(bindings);

/** A fresh cloud for each test, and fresh objects after it: an alarm must not fire into the next test. */
export function freshWorld(): { cloud: TestCloud } {
  const world = { cloud: new TestCloud() };
  beforeEach(() => {
    world.cloud = new TestCloud();
    world.cloud.open();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await reset();
  });
  return world;
}

/** Creates a pool, `default` unless it is named. */
export async function makePool(more: Partial<PoolConfigInput> = {}, name = "default"): Promise<void> {
  const config = PoolConfig.parse({
    provider: { kind: "http", url: CLOUD_URL, secret: "cloud-secret" },
    instanceTypes: { small: { vcpus: 4, memory: "8GiB" } },
    probe: { interval: "10s", boot: "true" },
    ...more,
  });
  await objects.registry().putPool(name, config, { by: "admin", project: null });
}

/** Submits a run. */
export async function submit(id: string, more: Partial<RunSpecInput> = {}) {
  const spec = RunSpec.parse({ id, ...(more.tasks === undefined ? { argv: ["true"] } : {}), ...more });
  return objects
    .allocation(id)
    .submit({ spec, hash: JSON.stringify(spec), by: "admin", project: "default", budget: null });
}

/** Waits until `look` finds something. If it never does, the test's own time limit ends the wait. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * A report whose answer is held back, as a host always has one: a run that arrives while nobody waits costs
 * another row, which notes that the host has not received it. It is not enough that the request has arrived:
 * it is verified first.
 */
export async function holdReport(host: TestHost): Promise<{ answer: Promise<Orders> }> {
  const { worker } = host.identity;
  const lastReportAt = async () => Date.parse((await objects.worker(worker).read()).lastReportAt ?? "");
  const before = await lastReportAt();
  // Two reports in the same millisecond could not be told apart.
  await eventually(() => Date.now() > before || undefined);
  const answer = host.report({}, 20_000);
  await eventually(async () => (await lastReportAt()) > before || undefined);
  return { answer };
}

/** The machine that the pool has requested, and the code in its user data. */
export async function askedMachine(cloud: TestCloud): Promise<{ worker: string; code: string }> {
  return eventually(async () => {
    const workers = await objects.pool("default").workers(["booting"]);
    const asked = workers.map(({ id }) => ({ worker: id, code: cloud.codeOf(id) ?? "" }));
    return asked.find(({ code }) => code !== "");
  });
}

/** Boots the machine that the pool has requested: enrolls its host and lets its boot probe succeed. */
export async function bootMachine(cloud: TestCloud): Promise<{ worker: string; host: TestHost }> {
  const { worker, code } = await askedMachine(cloud);
  const host = new TestHost(() => objects.worker(worker));
  await host.enroll(code);
  await host.report({ boot: { ok: true, output: "running" } });
  return { worker, host };
}

/** Has a worker and its pool do now what follows a boot, so that they cost nothing for a minute. */
export async function letAlarmsFire(worker: string): Promise<void> {
  await runDurableObjectAlarm(bindings.CLOUD_WORKER.getByName(worker));
  await runDurableObjectAlarm(bindings.POOL.getByName("default"));
}

/** What the project `default` calls by this name. */
export function named(name: string) {
  return { project: "default", name };
}
