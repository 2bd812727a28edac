import { describe, expect, test } from "vitest";
import { type RegistryEvent, registryMachine } from "../../../src/core/registry/machine.ts";
import { webhookInbox } from "../../../src/core/webhook/inbox.ts";
import type { WebhookEvent } from "../../../src/core/webhook/machine.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";
import { answered, configure, DOWN, Endpoint, ID, run, settings, T0 } from "./endpoint.ts";

const by = "token:ops";
const disable: WebhookEvent = { type: "disable", by };
const enable = (from: "last" | number = "last"): WebhookEvent => ({ type: "enable", from, by });
const owed = (endpoint: Endpoint) =>
  endpoint.due().flatMap((one) => (one.kind === "audit" ? one.entries : []));
const shown = (endpoint: Endpoint) =>
  owed(endpoint).map(({ n, action, reason = "" }) => [n, action, reason].join(" ").trim());

describe("what is asked of an endpoint (audit.md#outbox)", () => {
  test("is owed to the registry, also after a crash, until that has it", () => {
    const endpoint = new Endpoint();
    endpoint.on(disable);
    endpoint.crash();
    endpoint.on(enable());
    expect(shown(endpoint)).toEqual(["1 webhook.disable", "2 webhook.enable"]);
    expect(owed(endpoint)).toMatchObject([{ by }, { by }]);
    expect(endpoint.due().every((one) => one.kind !== "audit" || one.repeatedBy === "self")).toBe(true);
    endpoint.settle();
    expect(endpoint.entries).toHaveLength(2);
    expect(owed(endpoint)).toEqual([]);
  });

  test("has no entry if it changes nothing", () => {
    const endpoint = new Endpoint();
    endpoint.on(enable(), disable, disable);
    expect(shown(endpoint)).toEqual(["1 webhook.disable"]);
    endpoint.on({ type: "replay", numbers: [77], by });
    expect(shown(endpoint)).toEqual(["1 webhook.disable"]);
  });

  test("has one if it ends a failure or a pause of an endpoint that is not disabled", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.receiver = () => answered(503, 60_000);
    endpoint.news();
    endpoint.settle();
    endpoint.on(enable(), enable());
    expect(shown(endpoint)).toEqual(["1 webhook.enable"]);
  });

  test("says from when on it sends again, and what is sent again", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.news();
    endpoint.settle();
    const range = { since: T0, until: T0 + 1, all: false };
    endpoint.now += 1_000;
    endpoint.on(
      enable(endpoint.now),
      { type: "replay", numbers: [1], by },
      { type: "replay_range", range, by },
    );
    expect(shown(endpoint)).toEqual([
      "1 webhook.enable with what ends from 2026-11-24T00:00:01.000Z on",
      `2 webhook.replay msg_${ID}_1`,
      "3 webhook.replay what was not delivered, from 2026-11-24T00:00:00.000Z until 2026-11-24T00:00:00.001Z",
    ]);
  });

  test("is owed by a deleted endpoint, which is forgotten only when the registry has it", () => {
    const endpoint = new Endpoint();
    endpoint.on(disable, configure(2, null));
    const sent = { webhook: ID, revision: 2, settings: null };
    const confirmed = () => webhookInbox.configure_webhook.answer(endpoint.state, sent, endpoint.now);
    expect(confirmed()).toEqual({ revision: 1 });
    endpoint.settle();
    expect(endpoint.entries.map(({ action }) => action)).toEqual(["webhook.disable"]);
    expect(confirmed()).toEqual({ revision: 2 });
  });
});

describe("an endpoint that Drover disables by itself (audit.md#outbox)", () => {
  /** An endpoint to which an end is owed. */
  const owing = (receiver: Endpoint["receiver"]) => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"), run("b"));
    endpoint.receiver = receiver;
    return endpoint;
  };

  test.each([
    [
      "since its receiver is gone",
      answered(410),
      0,
      /^the receiver answered 410, which asks to send nothing/,
    ],
    ["after five days", DOWN, 8 * 24 * 3_600_000, /^every attempt has failed for 5d: nobody is there; mend/],
  ])("%s has one entry for it, by Drover, with the reason", (_, outcome, ms, reason) => {
    const endpoint = owing(() => outcome);
    endpoint.pass(ms);
    expect(endpoint.state.record?.disabled).toMatchObject({ by: null });
    expect(endpoint.entries).toMatchObject([
      { n: 1, action: "webhook.disable", by: "drover", reason: expect.stringMatching(reason) },
    ]);
    expect(endpoint.entries[0]?.at).toBe(endpoint.state.record?.disabled?.at);
  });

  test("keeps it over a crash, and has another one for each time that it is disabled", () => {
    const endpoint = owing(() => answered(410));
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    endpoint.on({ type: "follow_answered", sent: follow.body, answer: endpoint.page(follow.body) });
    for (const number of [1, 2]) endpoint.on({ type: "attempted", number, tries: 0, outcome: answered(410) });
    expect(shown(endpoint)).toHaveLength(1);
    endpoint.crash();
    endpoint.on(enable());
    endpoint.settle();
    expect(endpoint.entries.map(({ n, action, by: who }) => `${n} ${action} ${who}`)).toEqual([
      "1 webhook.disable drover",
      `2 webhook.enable ${by}`,
      "3 webhook.disable drover",
    ]);
  });

  test("has none, and keeps its reason, if somebody has disabled it while an attempt was in flight", () => {
    const endpoint = owing(() => answered(410));
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    endpoint.on({ type: "follow_answered", sent: follow.body, answer: endpoint.page(follow.body) });
    endpoint.on(disable, { type: "attempted", number: 1, tries: 0, outcome: answered(410) });
    expect(endpoint.state.record?.disabled).toMatchObject({ code: "asked", by });
    expect(shown(endpoint)).toEqual(["1 webhook.disable"]);
  });

  test("has none if only a test fails", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = () => answered(410);
    endpoint.on({ type: "test", by });
    endpoint.settle();
    expect(endpoint.entries).toEqual([]);
  });
});

describe("the registry (audit.md#owners)", () => {
  const { fields } = settings();
  const created = { type: "webhook_created", id: ID, name: "ci", fields, sealed: "", by } as const;
  const entry = (n: number) => ({ n, at: T0, by, action: "webhook.disable" }) as const;
  const taken = (...numbers: number[]): RegistryEvent => {
    return { type: "webhook_entries", id: ID, entries: numbers.map(entry) };
  };

  test("stores each entry once, however often it comes", () => {
    const events = [created, taken(1), taken(1, 2), taken(1, 2)];
    const state = events.reduce(
      (known, event) => applied(registryMachine, known, event, T0),
      registryOf(null),
    );
    const rows = [...state.audit.rows.changes()].map(({ after }) => after);
    expect(rows.map(({ action, target }) => `${action} ${target.kind} ${target.name}`)).toEqual([
      "webhook.create webhook ci",
      "webhook.disable webhook ci",
      "webhook.disable webhook ci",
    ]);
  });

  test("takes none of an endpoint that it does not know", () => {
    const state = applied(registryMachine, registryOf(null), taken(1), T0);
    expect([...state.audit.rows.changes()]).toEqual([]);
  });
});
