import { runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, test, vi } from "vitest";
import { registryOf } from "../../src/objects/messages/stubs.ts";
import { Registry } from "../../src/objects/registry.ts";
import type { PoolConfigInput } from "../../src/schema/pool.ts";
import { refusal } from "./support/host.ts";
import {
  askedMachine,
  bindings,
  bootMachine,
  eventually,
  freshWorld,
  makePool,
  named,
  objects,
  submit,
} from "./support/world.ts";

// A provider's secret that is a secret of this Drover (secrets.md#providers).

const world = freshWorld();
const [FIRST, SECOND] = ["the/first&value-of-the-cloud", "the/second&value-of-the-cloud"];
const pool = () => objects.pool("default");
const set = (value: string) =>
  objects
    .registry()
    .setSecret({ ...named("cloud"), value: new TextEncoder().encode(value), use: "provider" }, "test");
const secret = { secret: "cloud", project: "default" };
const makeNamedPool = (more: Partial<PoolConfigInput> = {}) =>
  makePool({
    provider: { kind: "http", url: "http://cloud.test", secret },
    sync: { interval: "1s" },
    ...more,
  });

/** How far the tests have moved the clock on. */
let aheadMs: number;
beforeEach(() => {
  aheadMs = 0;
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
});
const passMinute = () => {
  aheadMs += 60_001;
};

/** Reads the pool, which then does what is due, until this is so. */
const seen = (isSo: (view: Awaited<ReturnType<ReturnType<typeof pool>["view"]>>) => boolean) =>
  eventually(async () => {
    const view = await pool().view();
    return isSo(view) ? view : undefined;
  });

/** Everything that the registry, the pool and a worker have stored, as one text. */
async function dump(worker: string): Promise<string> {
  const stubs = [
    bindings.REGISTRY.getByName("registry"),
    bindings.POOL.getByName("default"),
    bindings.CLOUD_WORKER.getByName(worker),
  ];
  const stored = stubs.map((stub) =>
    runInDurableObject(stub, async (_, { storage }) => {
      const tables = storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
        .toArray()
        .filter(({ name }) => !name.startsWith("_cf_"))
        .map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
      return JSON.stringify([[...storage.kv.list()], tables]);
    }),
  );
  return (await Promise.all(stored)).join("\n");
}

/** The forms in which a value could have got into a stored text. */
const formsOf = (value: string) => [value, encodeURIComponent(value), btoa(value).slice(0, 20)];

test("case 70: the provider gets the value, and a new one within a minute, from old workers", async () => {
  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool();
  await submit("a");
  const { worker } = await askedMachine(world.cloud);
  expect(new Set(world.cloud.bearers)).toEqual(new Set([FIRST]));

  await set(SECOND);
  world.cloud.secret = SECOND;
  passMinute();
  const before = world.cloud.bearers.length;
  await objects.worker(worker).kill({ reason: "", by: "test" });
  await eventually(async () => {
    await pool().view();
    await objects.worker(worker).read();
    return world.cloud.calls.includes(`DELETE /instances/i-${worker}`) || undefined;
  });
  expect(new Set(world.cloud.bearers.slice(before))).toEqual(new Set([SECOND]));
  const { items } = await objects.registry().secrets(null);
  expect(items).toMatchObject([{ name: "cloud", lastHandedOn: expect.stringMatching(/^\d{4}-/) }]);
});

test("what the provider repeats is veiled, and no row has any form of the value", async () => {
  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool();
  const text = `no machine for Bearer ${FIRST}, ${btoa(FIRST)}`;
  world.cloud.refusal = { status: 400, body: { class: "quota", text } };
  await submit("a");
  const { holdOffs, config } = await seen((view) => view.holdOffs.length > 0);
  expect(holdOffs[0]?.reason).toContain("no machine for Bearer [secret]");
  expect(config.provider).toMatchObject({ secret: { secret: "cloud" } });
  const [{ id = "" } = {}] = await pool().workers(["booting", "gone"]);
  const audit = JSON.stringify((await objects.registry().audit({}, { limit: 50 })).items);
  expect(audit).toContain("cloud");
  const stored = await dump(id);
  expect(stored).toContain('"secret":"cloud"');
  for (const form of formsOf(FIRST)) {
    expect(stored).not.toContain(form);
    expect(audit).not.toContain(form);
  }
});

test("without the secret nothing is sent, the failure says what to do, and no run is lost", async () => {
  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool({ minInstances: 1 });
  await seen(() => world.cloud.calls.includes("GET /instances"));
  await objects.registry().removeSecret(named("cloud"), "test");
  passMinute();
  const { cloudError } = await seen((view) => view.cloudError !== null);
  expect(cloudError).toContain('the provider\'s secret "cloud" of the project default');
  expect(cloudError).toContain("`drover secrets set cloud - --use provider`");
  const calls = world.cloud.calls.length;
  await submit("a", { resources: { vcpus: 4 } });
  await submit("b", { resources: { vcpus: 4 } });
  const { holdOffs } = await seen((view) => view.holdOffs.some(({ scope }) => scope !== "list"));
  expect(holdOffs).toContainEqual(
    expect.objectContaining({ cause: "auth", reason: expect.stringContaining('secret "cloud"') }),
  );
  expect(world.cloud.calls).toHaveLength(calls);
  const creates = world.cloud.instances.size;

  await set(SECOND);
  world.cloud.secret = SECOND;
  await eventually(async () => {
    passMinute();
    await pool().view();
    return world.cloud.instances.size > creates || undefined;
  });
  for (const run of ["a", "b"]) expect((await objects.allocation(run).read()).state).toBe("pending");
});

test("a value that no header can have is refused by its rule, and not shown", async () => {
  await set("two words\n");
  await makeNamedPool({ minInstances: 1 });
  const { cloudError } = await seen((view) => view.cloudError !== null);
  expect(cloudError).toContain("must be printable ASCII without blanks");
  expect(cloudError).not.toContain("two words");
  expect(world.cloud.calls).toEqual([]);
});

test("the registry is asked once a minute at most for a name, and never for a text", async () => {
  const asked = vi.spyOn(Registry.prototype, "call");
  const questions = () => asked.mock.calls.filter(([method]) => method === "providerSecret").length;
  const more = { minInstances: 1, sync: { interval: "1s" } };
  await makePool(more);
  await seen(() => world.cloud.instances.size > 0 && world.cloud.calls.includes("GET /instances"));
  expect(questions()).toBe(0);

  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool(more);
  const before = world.cloud.calls.length;
  await seen(() => world.cloud.calls.length > before + 1);
  expect(questions()).toBe(1);
  passMinute();
  const later = world.cloud.calls.length;
  await seen(() => world.cloud.calls.length > later);
  expect(questions()).toBe(2);
});

test("a secret for runs is no secret for a provider, and the reverse (secrets.md#uses)", async () => {
  const value = new TextEncoder().encode("a/value-of-runs");
  await objects.registry().setSecret({ ...named("cloud"), value, use: "run" }, "test");
  expect(await refusal(makeNamedPool())).toMatchObject({ code: "unknown_secret" });
  expect(await objects.registry().missingSecrets("default", ["cloud"])).toEqual([]);
  await objects.registry().removeSecret(named("cloud"), "test");
  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool();
  expect(await objects.registry().missingSecrets("default", ["cloud"])).toEqual(["cloud"]);
  const request = { secrets: { KEY: "cloud" }, run: "a", attempt: "a/main/1.1", worker: "w", publicKey: "" };
  expect(await refusal(registryOf(bindings).handSecrets(request))).toMatchObject({ code: "unknown_secret" });
  // A pool that names it gets no value of another use, whoever has set that since.
  await objects.registry().removeSecret(named("cloud"), "test");
  await objects.registry().setSecret({ ...named("cloud"), value, use: "run" }, "test");
  expect(await refusal(registryOf(bindings).providerSecret(named("cloud")))).toMatchObject({
    code: "unknown_secret",
  });
});

test("a name without a secret is refused with the PUT (unknown_secret)", async () => {
  const refused = await refusal(makeNamedPool());
  expect(refused).toMatchObject({ code: "unknown_secret", fields: [{ pointer: "/provider/secret" }] });
  expect(await objects.registry().pools()).toEqual([]);
});

test("a machine works with a named secret as with a text", async () => {
  await set(FIRST);
  world.cloud.secret = FIRST;
  await makeNamedPool();
  await submit("a");
  const { worker } = await bootMachine(world.cloud);
  expect((await objects.worker(worker).read()).state).toBe("idle");
});
