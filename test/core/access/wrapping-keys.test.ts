import { describe, expect, test } from "vitest";
import { wrappingKeys } from "../../../src/core/registry/keys/wrapping-keys.ts";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import { WebhookFields } from "../../../src/schema/webhook/webhook.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

// A newer wrapping key takes over by itself all that an older one has sealed (secrets.md#rotation).

const T0 = Date.UTC(2026, 10, 26);
const sealedBy = (kek: number, iv = "iv") => ({ by: `DROVER_KEK_${kek}`, iv, text: "t" });
const textBy = (kek: number, iv?: string) => JSON.stringify(sealedBy(kek, iv));
const webhook: RegistryEvent = {
  type: "webhook_created",
  id: "wh-ci",
  name: "ci",
  project: "default",
  fields: WebhookFields.parse({ url: "https://ci.example.com/" }),
  sealed: textBy(1),
  by: "admin",
};
const rotated = (sealed: string, overlapMs: number): RegistryEvent => {
  return { type: "webhook_rotated", id: "wh-ci", sealed, overlapMs, by: "admin" };
};
const key: RegistryEvent = {
  type: "key_made",
  key: { kid: "k", n: "n", e: "e", sealed: sealedBy(1) },
  replaces: null,
};

function registryWith(keks: number[], ...events: RegistryEvent[]): RegistryState {
  return events.reduce((state, event) => applied(registryMachine, state, event, T0), registryOf(null, keks));
}
function confirmed(state: RegistryState): RegistryState {
  const owed = registryMachine
    .due(state, T0)
    .flatMap((one) => (one.kind === "configure_webhook" ? [one.body] : []));
  return owed.reduce((next, sent) => {
    const answer = { revision: sent.revision };
    return applied(registryMachine, next, { type: "configure_webhook_answered", sent, answer }, T0);
  }, state);
}
const owed = (state: RegistryState, now = T0) =>
  registryMachine
    .due(state, now)
    .flatMap((one) => (one.kind === "reseal" ? [{ ...one.body, by: JSON.parse(one.body.sealed).by }] : []))
    .map(({ of, id, by }) => `${of} ${id} ${by}`);
const states = (state: RegistryState, now = T0) =>
  wrappingKeys(state, now).map(({ number, state: is }) => `${number} ${is}`);
const resealed = (of: "webhook" | "signing_key", id: string, sealed: string): RegistryEvent => {
  return { type: "resealed", of, id, sealed, resealed: textBy(2, "iv2") };
};

describe.each<[string, RegistryEvent, RegistryEvent, string]>([
  ["a secret of an endpoint", webhook, resealed("webhook", "wh-ci", textBy(1)), "webhook wh-ci DROVER_KEK_1"],
  [
    "a private key of Drover",
    key,
    resealed("signing_key", "k", JSON.stringify(sealedBy(1))),
    "signing_key k DROVER_KEK_1",
  ],
])("%s", (_what, made, done, named) => {
  test.each<[string, number[], string[], string[]]>([
    ["is sealed by the newest key", [1], [], ["1 in_use"]],
    ["is owed to a newer key, and needs its own until then", [1, 2], [named], ["1 in_use", "2 in_use"]],
    ["is not owed if its own key is not configured", [2], [], ["1 missing", "2 in_use"]],
    ["is not owed if there is no key", [], [], ["1 missing"]],
  ])("%s", (_, keks, expected, is) => {
    const state = confirmed(registryWith(keks, made));
    expect(owed(state)).toEqual(expected);
    expect(states(state)).toEqual(is);
  });

  test("is owed no more once it is sealed anew, and a late answer changes nothing", () => {
    const state = confirmed(registryWith([1, 2], made, done, done));
    expect(owed(state)).toEqual([]);
    expect(states(state)).toEqual(["1 unused", "2 in_use"]);
    const versions = [state.webhooks.version, state.keys.version];
    const again = applied(registryMachine, state, done, T0);
    expect([again.webhooks.version, again.keys.version]).toEqual(versions);
  });
});

test("an endpoint that has not confirmed its settings may still have what an older key has sealed", () => {
  const state = registryWith([1, 2], webhook, resealed("webhook", "wh-ci", textBy(1)));
  expect(states(state)).toEqual(["1 in_use", "2 in_use"]);
  expect(states(confirmed(state))).toEqual(["1 unused", "2 in_use"]);
});

test("the secrets of a rotation are sealed anew one by one, and those whose overlap is over are not", () => {
  const state = confirmed(registryWith([1, 2], webhook, rotated(textBy(1, "of the second"), 1_000)));
  expect(owed(state)).toHaveLength(2);
  expect(owed(state, T0 + 1_000)).toHaveLength(1);
  const one = applied(registryMachine, state, resealed("webhook", "wh-ci", textBy(1)), T0);
  expect(owed(one)).toHaveLength(1);
  expect(one.webhooks.get("wh-ci")?.secrets.map(({ sealed }) => JSON.parse(sealed).iv)).toEqual([
    "of the second",
    "iv2",
  ]);
});

describe("the data key of new values", () => {
  const wrapped = { iv: "iv", ct: "ct" };
  const made = (id: string, kek: number): RegistryEvent => ({ type: "data_key_made", id, kek, wrapped });
  const set = (name: string, version: number, dataKey: string): RegistryEvent => {
    const secret = { project: "default", name };
    const value = { version, bytes: 8, sealed: { key: dataKey, ...wrapped } };
    return { type: "secret_set", secret, use: "run", by: "ann", ...value };
  };
  const dataKeys = (state: RegistryState) => [...state.dataKeys.live()].map(({ id }) => id);

  test("is dropped once no value needs it, but not as long as it is for new values", () => {
    const old = [made("1", 1), set("a", 1, "1"), set("b", 1, "1"), made("2", 2)];
    const keysAfter = (...events: RegistryEvent[]) => dataKeys(registryWith([1, 2], ...old, ...events));
    expect(keysAfter()).toEqual(["1", "2"]);
    expect(keysAfter(set("a", 2, "2"))).toEqual(["1", "2"]);
    expect(keysAfter(set("a", 2, "2"), set("b", 2, "2"))).toEqual(["2"]);
    const removed: RegistryEvent = {
      type: "secret_removed",
      secret: { project: "default", name: "b" },
      by: "ann",
    };
    expect(keysAfter(removed)).toEqual(["1", "2"]);
    expect(keysAfter(removed, set("a", 2, "2"))).toEqual(["2"]);
    expect(dataKeys(registryWith([1], made("1", 1), set("b", 1, "1"), removed))).toEqual(["1"]);
  });
});
