import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { WebhookSettings } from "../../src/core/webhook/messages.ts";
import type { WebhookRecord } from "../../src/core/webhook/record.ts";
import type { Env } from "../../src/objects/env.ts";
import { registryOf } from "../../src/objects/messages/stubs.ts";
import { meter } from "../../src/objects/meter.ts";
import type { RegistryCalls } from "../../src/objects/registry/api.ts";
import { Registry } from "../../src/objects/registry.ts";
import { SqlRowDisk, ValueStore } from "../../src/objects/store.ts";
import type { Webhook } from "../../src/objects/webhooks/webhook.ts";
import { WebhookFields } from "../../src/schema/webhook/webhook.ts";
import type { DroverError } from "../../src/shared/errors.ts";
import { bindings, eventually, freshWorld, makePool, named, objects, submit } from "./support/world.ts";

const world = freshWorld();

const URL = "https://receiver.test/hook";
const ID = "wh-of-the-tests";
const endpoint = () => objects.webhook(ID);
const stub = () => bindings.WEBHOOK.getByName(ID);
const pool = () => bindings.POOL.getByName("default");

/** What the receiver got, and how it answers: with this status, or not at all. */
let got: { id: string | null; run: string }[] = [];
let status: number | undefined;

/** The receiver is reached by the same `fetch` as the cloud of these tests. */
function openReceiver(): void {
  const toCloud = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    if (input !== URL) return toCloud(input, init);
    const { headers, body } = init ?? {};
    const { data } = JSON.parse(String(body));
    got.push({ id: new Headers(headers).get("webhook-id"), run: data.run });
    if (status === undefined) throw new Error("nobody is there");
    return new Response("", { status });
  });
}

beforeEach(() => {
  got = [];
  status = 204;
  openReceiver();
});

async function create(more: object = {}): Promise<void> {
  const fields = WebhookFields.parse({ url: URL, ...more });
  await objects.registry().createWebhook({ id: ID, ...named("ci"), fields }, "whsec_AAAA", "admin");
}

/** What the endpoint is to be, as its object has it. */
function configuration(): Promise<{ settings: WebhookSettings }> {
  return runInDurableObject(stub(), async (_instance, { storage }) => {
    const stored = new ValueStore<WebhookRecord>(storage).read();
    if (stored?.settings == null) throw new Error("the endpoint is not configured");
    return { settings: stored.settings };
  });
}

async function configure(revision: number, settings: WebhookSettings): Promise<void> {
  const body = { webhook: ID, revision, settings };
  await stub().deliver({ type: "configure_webhook", body });
}

/** A run that has ended: aborted before it was placed. */
async function ended(id: string): Promise<void> {
  await submit(id);
  await objects.allocation(id).abort({ reason: "enough", by: "admin", waitMs: 5_000, force: false });
}

const runsGot = () => [...new Set(got.map(({ run }) => run))];

/** The registry over the same storage, without a wrapping key. */
async function withoutKey<T>(work: (one: RegistryCalls) => Promise<T>): Promise<T> {
  return runInDurableObject(bindings.REGISTRY.getByName("registry"), async (_instance, state) => {
    const { DROVER_KEK_1: _none, ...env } = bindings;
    const one = new Registry(state, env as unknown as Env); // the same bindings, but for the key
    return work(registryOf({ REGISTRY: { getByName: () => one } }));
  });
}

const refusal = (work: Promise<unknown>): Promise<Partial<DroverError>> =>
  work.then(
    () => ({}),
    (error) => error,
  );

describe("without a wrapping key (webhooks.md#secrets)", () => {
  const HOW = "openssl rand -base64 32 | npx wrangler secret put DROVER_KEK_1";

  test("no endpoint is created, and the answer says how to make one", async () => {
    const fields = WebhookFields.parse({ url: URL });
    const { code, message } = await withoutKey((one) =>
      refusal(one.createWebhook({ id: ID, ...named("ci"), fields }, "whsec_AAAA", "admin")),
    );
    expect([code, message]).toEqual(["no_wrapping_key", expect.stringContaining(HOW)]);
    expect(await objects.registry().webhooks(null)).toEqual([]);
  });

  test("none gets another secret, and the answer says how to make one", async () => {
    await create();
    const before = await configuration();
    const { code, message } = await withoutKey((one) =>
      refusal(one.rotateWebhook(named("ci"), "whsec_BBBB", 0, "admin")),
    );
    expect([code, message]).toEqual(["no_wrapping_key", expect.stringContaining(HOW)]);
    expect(await configuration()).toEqual(before);
  });
});

describe("an endpoint in real storage (webhooks.md#state)", () => {
  test("and its pool may both be evicted while the receiver is down: every end arrives", async () => {
    await makePool();
    await create();
    status = undefined;
    for (const id of ["a", "b", "c"]) await ended(id);
    await eventually(() => got.length > 0 || undefined);
    await evictDurableObject(stub());
    await evictDurableObject(pool());
    await ended("d");
    await evictDurableObject(stub());
    status = 204;
    await endpoint().enable("last", "admin"); // as an alarm would do after the pause
    await eventually(() => new Set(runsGot()).size === 4 || undefined);
    await eventually(async () => (await endpoint().read()).waiting === 0 || undefined);
    const { items } = await endpoint().deliveries({ limit: 10, states: ["delivered"] });
    expect(items.map(({ run }) => run).sort()).toEqual(["a", "b", "c", "d"]);
  });

  test("has an entry of the audit log for what was asked of it, once (audit.md#outbox)", async () => {
    await makePool();
    await create();
    await ended("a");
    await eventually(() => got.length > 0 || undefined);
    await endpoint().disable("token:ops");
    await endpoint().disable("token:ops");
    await evictDurableObject(stub());
    await endpoint().enable("last", "token:ops");
    const { items } = await endpoint().deliveries({ limit: 10, states: ["delivered"] });
    await endpoint().replay({ ids: items.map(({ id }) => id), all: false }, "token:ops");
    const filter = { by: "token:ops" };
    const entries = await eventually(async () => {
      const page = await objects.registry().audit(filter, { limit: 10 });
      return page.items.length >= 3 ? page.items : undefined;
    });
    expect(entries.map(({ action, target }) => `${action} ${target.name}`).reverse()).toEqual([
      "webhook.disable ci",
      "webhook.enable ci",
      "webhook.replay ci",
    ]);
    expect(entries[0]?.reason).toBe(items[0]?.id);
    // What is under way when a test ends may still be stored in the objects of the next one.
    await eventually(async () => {
      const stored = () =>
        runInDurableObject(stub(), async (_instance, { storage }) =>
          new ValueStore<WebhookRecord>(storage).read(),
        );
      return (await stored())?.audit?.owed.length === 0 || undefined;
    });
  });

  test("tries again by its own alarm", async () => {
    await makePool();
    await create();
    status = undefined;
    await ended("a");
    await eventually(async () => (await endpoint().read()).failing?.failures === 1 || undefined);
    status = 204;
    await evictDurableObject(stub());
    await eventually(async () => {
      await runDurableObjectAlarm(stub());
      return got.length > 1 || undefined;
    });
    await eventually(async () => (await endpoint().read()).state === "active" || undefined);
    expect(got[0]?.id).toBe(got.at(-1)?.id);
  });

  test("costs eight rows at most for an end that comes alone, alarms included", async () => {
    await makePool();
    await create();
    await ended("first"); // makes the tables
    await eventually(async () => (await endpoint().deliveries({ limit: 1, states: ["delivered"] })).items[0]);
    const cost = async (id: string) => {
      const before = meter.rowsWritten;
      await ended(id);
      await eventually(() => runsGot().includes(id) || undefined);
      await eventually(async () => (await endpoint().read()).waiting === 0 || undefined);
      return meter.rowsWritten - before;
    };
    const withWebhook = await cost("second");
    await objects.registry().removeWebhook(named("ci"), "admin");
    await ended("third"); // with it, the pool learns that nobody follows it
    const before = meter.rowsWritten;
    await ended("fourth");
    const without = meter.rowsWritten - before;
    // News, a page with its delivery, the outcome, and the alarms of both objects.
    expect(withWebhook - without).toBeLessThanOrEqual(8);
  });

  test("whose secret does not open says why, and sends what waits once it has another", async () => {
    await makePool();
    await create();
    const { settings } = await configuration();
    const lost = JSON.stringify({ by: "DROVER_KEK_9", iv: "AAAA", text: "AAAA" });
    await configure(100, { ...settings, secrets: [{ sealed: lost, until: null }] });
    await ended("a");
    const { unsigned } = await eventually(async () => {
      const view = await endpoint().read();
      return view.state === "unsigned" ? view : undefined;
    });
    expect(unsigned?.text).toMatch(/sealed with DROVER_KEK_9, which this deployment lacks.*rotate/);
    expect(await endpoint().read()).toMatchObject({ failing: null, waiting: 1 });
    // Through a stub the tests' platform finds no method of this name.
    const tried = await runInDurableObject(stub(), (instance) => (instance as Webhook).test("admin"));
    expect(tried.last?.problem).toBe(unsigned?.text);
    expect(got).toEqual([]);
    const [mine] = settings.secrets;
    await configure(101, {
      ...settings,
      secrets: [...(mine === undefined ? [] : [mine]), { sealed: lost, until: Date.now() + 3_600_000 }],
    });
    await eventually(() => runsGot().includes("a") || undefined);
    await eventually(async () => (await endpoint().read()).state === "active" || undefined);
  });

  test("keeps its latest deliveries up to a number and a size, and all that wait", () =>
    runInDurableObject(stub(), (_instance, state) => {
      const disk = new SqlRowDisk<{ text: string }>(state.storage.sql, "deliveries");
      const keys = ["1", "2", "3", "4", "5", "6"];
      for (const key of keys) disk.write(key, { text: "é".repeat(45) }, key === "1", 0);
      const left = () => keys.filter((key) => disk.read(key) !== undefined).join("");
      disk.keepEnded(4, 10_000);
      expect(left()).toBe("13456");
      disk.keepEnded(4, 404);
      expect(left()).toBe("13456");
      disk.keepEnded(4, 403);
      expect(left()).toBe("1456");
      disk.keepEnded(1, 50);
      expect(left()).toBe("1");
    }));

  test("is told of what ends after its creation, and of what ends in pools that come later", async () => {
    await makePool();
    await ended("before");
    await create();
    await makePool({}, "later");
    await ended("after");
    await submit("elsewhere", { pool: "later" });
    await objects.allocation("elsewhere").abort({ reason: "x", by: "admin", waitMs: 5_000, force: false });
    await eventually(() => runsGot().length === 2 || undefined);
    expect(runsGot().sort()).toEqual(["after", "elsewhere"]);
  });

  test("that is deleted is forgotten by its pool, and sends nothing more", async () => {
    await makePool();
    await create();
    await objects.registry().removeWebhook(named("ci"), "admin");
    const refused = await endpoint()
      .read()
      .then(
        () => "it is there",
        ({ code }) => code,
      );
    expect(refused).toBe("unknown_webhook");
    await ended("a");
    await evictDurableObject(stub());
    await ended("b");
    expect(got).toEqual([]);
    expect(world.cloud.calls.some((call) => call.includes("/hook"))).toBe(false);
  });
});
