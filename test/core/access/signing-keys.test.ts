import { describe, expect, test } from "vitest";
import { registryEntry } from "../../../src/core/registry/audit.ts";
import {
  KEY_KEPT_MS,
  KEY_LEAD_MS,
  KEY_SIGNS_MS,
  keyOwed,
  signingKeysAt,
} from "../../../src/core/registry/keys/signing-keys.ts";
import { type RegistryState, registryMachine } from "../../../src/core/registry/machine.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const T0 = Date.UTC(2026, 10, 24, 12);
const sealed = { by: "DROVER_KEK_1", iv: "", text: "" };

function step(state: RegistryState, event: Parameters<typeof registryMachine.apply>[1], now: number) {
  const next = applied(registryMachine, state, event, now);
  next.keys.flush();
  return next;
}
const made = (state: RegistryState, kid: string, replaces: string | null, now: number) =>
  step(state, { type: "key_made", key: { kid, n: kid, e: "AQAB", sealed }, replaces }, now);
const tick = (state: RegistryState, now: number) => step(state, { type: "tick" }, now);
const signer = ({ keys }: RegistryState, now: number) => signingKeysAt(keys, now)?.signer.kid;
const published = ({ keys }: RegistryState, now: number) =>
  signingKeysAt(keys, now)?.published.map(({ kid }) => kid);

describe("the keys with which Drover signs (oidc.md#rotation)", () => {
  test("there is none before somebody asks, and the first one signs at once", () => {
    const empty = registryOf(null);
    expect(signingKeysAt(empty.keys, T0)).toBeNull();
    expect(keyOwed(empty.keys, T0)).toBe("none");
    const state = made(empty, "a", null, T0);
    expect(signer(state, T0)).toBe("a");
    expect(keyOwed(state.keys, T0)).toBeUndefined();
  });

  test("the next one is published a day before it signs, and the last one until its tokens are over", () => {
    let state = made(registryOf(null), "a", null, T0);
    const signs = T0 + KEY_SIGNS_MS;
    expect(keyOwed(state.keys, signs - KEY_LEAD_MS - 1)).toBeUndefined();
    expect(keyOwed(state.keys, signs - KEY_LEAD_MS)).toBe("a");
    state = made(state, "b", "a", signs - KEY_LEAD_MS);
    expect(published(state, signs - KEY_LEAD_MS)).toEqual(["b", "a"]);
    expect([signer(state, signs - 1), signer(state, signs)]).toEqual(["a", "b"]);
    expect(registryMachine.wakeAt(state)).toBe(signs + KEY_KEPT_MS);
    state = tick(state, signs + KEY_KEPT_MS - 1);
    expect(published(state, signs + KEY_KEPT_MS - 1)).toEqual(["b", "a"]);
    state = tick(state, signs + KEY_KEPT_MS);
    expect(published(state, signs + KEY_KEPT_MS)).toEqual(["b"]);
    expect(registryMachine.wakeAt(state)).toBeUndefined();
  });

  test("a Drover that nobody asked for months still publishes a key before it signs", () => {
    const late = T0 + 10 * KEY_SIGNS_MS;
    const state = made(made(registryOf(null), "a", null, T0), "b", "a", late);
    expect([signer(state, late), signer(state, late + KEY_LEAD_MS)]).toEqual(["a", "b"]);
  });

  test("replaced at once, none of the former ones is left, nor the next one (oidc.md#replacement)", () => {
    let state = made(registryOf(null), "a", null, T0);
    const late = T0 + KEY_SIGNS_MS - KEY_LEAD_MS;
    state = made(state, "b", "a", late);
    const key = { kid: "c", n: "c", e: "AQAB", sealed };
    const event = { type: "keys_replaced", key, by: "admin" } as const;
    const entry = registryEntry(state, event, late + 1);
    expect(entry).toMatchObject({ by: "admin", action: "key.replace", target: { kind: "key", id: "c" } });
    expect(entry?.reason).toBe("b, a");
    state = step(state, event, late + 1);
    expect([signer(state, late + 1), published(state, late + 1)]).toEqual(["c", ["c"]]);
    expect(keyOwed(state.keys, late + 1)).toBeUndefined();
    state = made(state, "d", "b", late + 2); // it was being made meanwhile
    expect(published(state, late + 2)).toEqual(["c"]);
  });

  test("of two keys that are made at the same time the second is dropped", () => {
    let state = made(registryOf(null), "a", null, T0);
    state = made(state, "b", null, T0 + 1);
    expect(published(state, T0 + 1)).toEqual(["a"]);
    const late = T0 + KEY_SIGNS_MS;
    state = made(made(state, "c", "a", late), "d", "a", late + 1);
    expect(published(state, late + 1)).toEqual(["c", "a"]);
  });
});
