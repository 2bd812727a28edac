import { describe, expect, test } from "vitest";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import {
  arePokedAt,
  MAX_WEBHOOKS,
  refusalOfNewWebhook,
  webhookNamed,
} from "../../../src/core/registry/webhooks.ts";
import { WebhookFields } from "../../../src/schema/webhook/webhook.ts";
import { applied } from "../support/applied.ts";
import { poolConfig } from "../support/pool-config.ts";
import { registryOf } from "../support/registry.ts";

const named = (name: string) => ({ project: "default", name });
const fields = (more: object = {}) => WebhookFields.parse({ url: "https://ci.example.com/", ...more });
const created = (name: string, more: object = {}): RegistryEvent => ({
  type: "webhook_created",
  id: `wh-${name}`,
  name,
  project: "default",
  fields: fields(more),
  sealed: "s1",
  by: "admin",
});
const put = (pool: string, more: Parameters<typeof poolConfig>[0] = {}): RegistryEvent => ({
  type: "put",
  pool,
  config: poolConfig(more),
  seed: "s",
  by: "ann",
});

/** A registry in which this has happened, a millisecond apart. */
function told(...events: RegistryEvent[]): RegistryState {
  return events.reduce((state, event, n) => applied(registryMachine, state, event, n), registryOf(null));
}
const owed = (state: RegistryState) =>
  registryMachine.due(state, 0).flatMap((one) => (one.kind === "configure_webhook" ? [one.body] : []));
const confirmed = (state: RegistryState): RegistryState =>
  owed(state).reduce((next, sent) => {
    const answer = { revision: sent.revision };
    return applied(registryMachine, next, { type: "configure_webhook_answered", sent, answer }, 99);
  }, state);

describe("the settings of an endpoint (webhooks.md#endpoints)", () => {
  test("are sent until the endpoint has confirmed them, and not after", () => {
    const state = told(created("ci"));
    expect(owed(state)).toMatchObject([{ webhook: "wh-ci", settings: { name: "ci", createdBy: "admin" } }]);
    expect(owed(confirmed(state))).toEqual([]);
  });

  test("name the pools that there are, each since it is there", () => {
    const state = told(put("a"), created("ci"), put("b"));
    expect(owed(state)[0]?.settings?.pools).toEqual({ a: 1, b: 2 });
    const before = owed(state)[0]?.revision ?? 0;
    const later = applied(registryMachine, confirmed(state), put("c"), 3);
    expect(owed(later)).toMatchObject([{ settings: { pools: { a: 1, b: 2, c: 3 } } }]);
    expect(owed(later)[0]?.revision).toBeGreaterThan(before);
    expect(owed(applied(registryMachine, confirmed(later), put("c"), 4))).toEqual([]);
  });

  test("name only pools of its filter", () => {
    expect(owed(told(put("a"), put("b"), created("ci", { pools: ["b", "z"] })))[0]?.settings?.pools).toEqual({
      b: 2,
    });
  });

  test("keep a pool that serves the project no longer: the runs that it has there end later", () => {
    const others = { projects: { ml: {} } };
    const left = told(put("a"), created("ci"), put("a", others));
    expect(owed(left)[0]?.settings?.pools).toEqual({ a: 1 });
    expect(owed(told(put("a", others), created("ci")))[0]?.settings?.pools).toEqual({});
    const changed = { type: "webhook_changed", id: "wh-ci", fields: fields({ pools: ["z"] }), by: "admin" };
    const filtered = applied(registryMachine, left, changed as RegistryEvent, 5); // of these words
    expect(owed(filtered)[0]?.settings?.pools).toEqual({});
  });

  test("have two secrets for as long as a rotation overlaps", () => {
    const rotated = (sealed: string, overlapMs: number) =>
      ({ type: "webhook_rotated", id: "wh-ci", sealed, overlapMs, by: "admin" }) as const;
    const state = told(created("ci"), rotated("s2", 1_000));
    expect(owed(state)[0]?.settings?.secrets).toEqual([
      { sealed: "s2", until: null },
      { sealed: "s1", until: 1_001 },
    ]);
  });

  test.each<[string, [sealed: string, overlapMs: number][], [sealed: string, until: number | null][]]>([
    [
      "leaves the oldest its overlap: the answer of the first may be lost",
      [
        ["s2", 1_000],
        ["s3", 2_000],
      ],
      [
        ["s3", null],
        ["s2", 2_002],
        ["s1", 1_001],
      ],
    ],
    [
      "ends all others earlier, if its own overlap is shorter",
      [
        ["s2", 1_000],
        ["s3", 500],
      ],
      [
        ["s3", null],
        ["s2", 502],
        ["s1", 502],
      ],
    ],
    [
      "ends all others at once, without an overlap",
      [
        ["s2", 1_000],
        ["s3", 0],
      ],
      [["s3", null]],
    ],
    [
      "leaves three old ones at most",
      [
        ["s2", 1_000],
        ["s3", 1_000],
        ["s4", 1_000],
        ["s5", 1_000],
      ],
      [
        ["s5", null],
        ["s4", 1_004],
        ["s3", 1_003],
        ["s2", 1_002],
      ],
    ],
  ])("a rotation in an overlap %s (webhooks.md#rotation)", (_what, rotations, expected) => {
    const events = rotations.map(([sealed, overlapMs]): RegistryEvent => {
      return { type: "webhook_rotated", id: "wh-ci", sealed, overlapMs, by: "admin" };
    });
    const { secrets = [] } = owed(told(created("ci"), ...events))[0]?.settings ?? {};
    expect(secrets.map(({ sealed, until }) => [sealed, until])).toEqual(expected);
  });

  test("are null once it is deleted; its name is free at once, and its row goes last", () => {
    const state = told(created("ci"), { type: "webhook_deleted", id: "wh-ci", by: "admin" });
    expect(owed(state)).toMatchObject([{ settings: null }]);
    expect(webhookNamed(state.webhooks, named("ci"))).toBeUndefined();
    expect([...confirmed(state).webhooks.live()]).toEqual([]);
    const again = told(created("ci"), { type: "webhook_deleted", id: "wh-ci", by: "admin" });
    const late = { type: "webhook_changed", id: "wh-ci", fields: fields(), by: "admin" } as const;
    expect(owed(applied(registryMachine, again, late, 5))).toMatchObject([{ settings: null }]);
  });

  test(`there are at most ${MAX_WEBHOOKS}, each with a name of its own`, () => {
    const names = Array.from({ length: MAX_WEBHOOKS - 1 }, (_, n) => `h${n}`);
    const state = told(...names.map((name) => created(name)));
    expect(refusalOfNewWebhook(state.webhooks, named("h0"))?.code).toBe("webhook_exists");
    expect(refusalOfNewWebhook(state.webhooks, named("other"))).toBeNull();
    const full = applied(registryMachine, state, created("last"), 0);
    expect(refusalOfNewWebhook(full.webhooks, named("other"))?.code).toBe("busy");
  });
});

describe("the registry pokes endpoints (messages.md#self-repair)", () => {
  test("at one tick of the cron in an hour, so that one whose alarm was lost goes on", () => {
    const ticks = Array.from({ length: 24 }, (_, n) => 1_234 + n * 300_000);
    expect(ticks.filter(arePokedAt)).toEqual([1_234, 3_601_234]);
  });
});
