import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { WebhookFields } from "../../src/schema/webhook/webhook.ts";
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

/** A run that has ended: aborted before it was placed. */
async function ended(id: string): Promise<void> {
  await submit(id);
  await objects.allocation(id).abort({ reason: "enough", by: "admin", waitMs: 5_000, force: false });
}

const runsGot = () => [...new Set(got.map(({ run }) => run))];

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
