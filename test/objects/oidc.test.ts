import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { droverNow } from "../../src/objects/clock.ts";
import { registryOf } from "../../src/objects/messages/stubs.ts";
import { meter } from "../../src/objects/meter.ts";
import { bindings, freshWorld, named } from "./support/world.ts";

freshWorld();

const stub = () => bindings.REGISTRY.getByName("registry");
const registry = () => registryOf(bindings);
const MINUTE = 60_000;

const rule = (version: string) => ({
  name: "ci",
  project: "default",
  payer: "trust:default/ci",
  version,
  issuer: "https://ci.example.com",
  audience: "http://drover.test",
  claims: { project: "7" },
  scopes: ["runs:read" as const],
  limits: {},
  labels: {},
  lifetimeMs: 15 * MINUTE,
  createdAt: droverNow(),
  createdBy: "admin",
  parent: null,
  expiresAt: null,
});
const exchange = (id: string, version = "v1") => {
  const now = droverNow();
  const given = { rule: "ci", keptUntil: now + 15 * MINUTE };
  const times = { createdAt: now, expiresAt: now + 15 * MINUTE };
  const who = { name: "oidc:ci/job", project: "default", payer: id, createdBy: "trust:ci", parent: null };
  const may = { scopes: ["runs:read" as const], limits: {} };
  return registry().exchange({ token: { id, digest: `of ${id}`, ...who, ...may, ...times, given }, version });
};

/** Why a call is refused. A call that `expect` itself waits for would count as unhandled here. */
const failed = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("an exchange in real storage (oidc.md#exchange)", () => {
  test("outlives the registry's process: the rule, the token, and that it cannot be had again", async () => {
    await registry().putTrustRule(rule("v1"));
    await exchange("abcdefghij");
    await evictDurableObject(stub());
    expect(await registry().trustRules(null)).toMatchObject([{ name: "ci", lifetime: "15m" }]);
    expect(await registry().grant("abcdefghij")).toMatchObject({ rule: "ci", name: "oidc:ci/job" });
    expect(await failed(exchange("abcdefghij"))).toMatchObject({ code: "unauthorized" });
    await registry().removeTrustRule(named("ci"), "admin");
    await evictDurableObject(stub());
    expect(await registry().grant("abcdefghij")).toBeNull();
    expect(await failed(registry().trustRule(named("ci")))).toMatchObject({ code: "unknown_trust_rule" });
  });

  test("costs a row, and an alarm at most", async () => {
    await registry().putTrustRule(rule("v1"));
    await exchange("abcdefghij"); // makes the table
    const before = meter.rowsWritten;
    await exchange("klmnopqrst");
    expect(meter.rowsWritten - before).toBeLessThanOrEqual(2);
    const used = meter.rowsWritten;
    await registry().grant("klmnopqrst", "of klmnopqrst");
    expect(meter.rowsWritten).toBe(used);
  });
});

describe("the keys of Drover in real storage (oidc.md#sealed-keys)", () => {
  test("are made once, outlive the registry's process, and lie there sealed", async () => {
    const [one, other] = await Promise.all([registry().signingKeys(), registry().signingKeys()]);
    expect(one.published).toHaveLength(1);
    expect(other.published).toEqual(one.published);
    await evictDurableObject(stub());
    expect(await registry().signingKeys()).toEqual(one);
    const rows = await runInDurableObject(stub(), (_, { storage }) =>
      storage.sql.exec<{ v: string }>("SELECT v FROM keys").toArray(),
    );
    expect(rows).toHaveLength(1);
    const stored = rows[0]?.v ?? "";
    expect(stored).toContain('"by":"DROVER_KEK_1"');
    expect(stored).not.toContain("PRIVATE");
    expect(JSON.parse(stored)).not.toHaveProperty("d");
  });

  test("a Drover that is no issuer has none, and its cron makes none", async () => {
    await registry().poke();
    const tables = await runInDurableObject(stub(), (_, { storage }) =>
      storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'keys'").toArray(),
    );
    expect(tables).toEqual([]);
  });
});
