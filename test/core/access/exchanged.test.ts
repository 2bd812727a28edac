import { describe, expect, test } from "vitest";
import {
  type Exchange,
  MAX_EXCHANGED,
  MAX_EXCHANGED_OF_RULE,
  refusalOfExchange,
} from "../../../src/core/registry/exchanged.ts";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import { grantOf, tokenViews } from "../../../src/core/registry/tokens.ts";
import { MAX_TRUST_RULES, refusalOfRule, ruleRows, type TrustRow } from "../../../src/core/registry/trust.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 10, 24, 12);

const CI = { project: "default", name: "ci" };
const ruleOf = (over: Partial<TrustRow> = {}): TrustRow => ({
  name: "ci",
  project: "default",
  payer: "trust:default/ci",
  version: "v1",
  issuer: "https://ci.example.com",
  audience: "https://drover.test",
  claims: { project: "7" },
  scopes: ["runs:read"],
  limits: {},
  labels: {},
  lifetimeMs: 15 * MINUTE,
  createdAt: T0,
  createdBy: "admin",
  parent: null,
  expiresAt: null,
  ...over,
});
const put = (over: Partial<TrustRow> = {}): RegistryEvent => ({ type: "trust_put", rule: ruleOf(over) });
const tokenOf = (id: string, { rule = "ci", keptUntil = T0 + 15 * MINUTE } = {}): Exchange["token"] => ({
  id,
  name: `oidc:${rule}/job`,
  project: "default",
  payer: `trust:default/${rule}`,
  scopes: ["runs:read"],
  limits: {},
  digest: `digest of ${id}`,
  createdAt: T0,
  createdBy: `trust:${rule}`,
  parent: null,
  expiresAt: T0 + 15 * MINUTE,
  given: { rule, keptUntil },
});
const given = (id: string, more: object = {}): RegistryEvent => ({
  type: "token_exchanged",
  token: tokenOf(id, more),
});

function registryAfter(...events: [RegistryEvent, number][]): RegistryState {
  return events.reduce((state, [event, now]) => {
    const next = applied(registryMachine, state, event, now);
    next.exchanged.flush();
    next.trust.flush();
    return next;
  }, registryOf(null));
}
const refusal = ({ exchanged, trust }: RegistryState, id: string, version = "v1") =>
  refusalOfExchange(exchanged, trust, { token: tokenOf(id), version });

describe("an exchange (oidc.md#exchange)", () => {
  test("gives a token that is valid, that is listed, and that nobody can get again", () => {
    const state = registryAfter([put(), T0], [given("abcdefghij"), T0]);
    expect(grantOf(state.exchanged, "abcdefghij", T0)).toMatchObject({ name: "oidc:ci/job", rule: "ci" });
    expect(tokenViews(state, null, T0)).toMatchObject([{ rule: "ci", state: "active" }]);
    expect(refusal(state, "abcdefghij")).toMatchObject({ code: "unauthorized" });
    expect(refusal(state, "klmnopqrst")).toBeNull();
  });

  test("is forgotten when both tokens are over, and not before", () => {
    const kept = { keptUntil: T0 + 60 * MINUTE };
    const ticked = (at: number) =>
      registryAfter([put(), T0], [given("abcdefghij", kept), T0], [{ type: "tick" }, at]);
    expect(registryMachine.wakeAt(ticked(T0))).toBe(T0 + 60 * MINUTE);
    const later = ticked(T0 + 60 * MINUTE - 1);
    expect(grantOf(later.exchanged, "abcdefghij", T0 + 60 * MINUTE - 1)).toBeNull();
    expect(tokenViews(later, null, T0 + 60 * MINUTE - 1)).toEqual([]);
    expect(refusal(later, "abcdefghij")).toMatchObject({ code: "unauthorized" });
    const over = ticked(T0 + 60 * MINUTE);
    expect(over.exchanged.get("abcdefghij")).toBeUndefined();
    expect(registryMachine.wakeAt(over)).toBeUndefined();
  });

  test("by a rule that has changed or is deleted is refused, and may be tried again", () => {
    const changed = registryAfter([put(), T0], [put({ version: "v2" }), T0]);
    expect(refusal(changed, "abcdefghij")).toMatchObject({ code: "unavailable", temporary: true });
    expect(refusal(changed, "abcdefghij", "v2")).toBeNull();
    const deleted = registryAfter([put(), T0], [{ type: "trust_removed", rule: CI, by: "admin" }, T0]);
    expect(refusal(deleted, "abcdefghij")).toMatchObject({ code: "unavailable" });
  });

  test("does not use up the names and the number of created tokens", () => {
    const state = registryAfter([put(), T0], [given("abcdefghij"), T0], [given("klmnopqrst"), T0]);
    expect([...state.tokens.live()]).toEqual([]);
    expect([...state.exchanged.live()]).toHaveLength(2);
  });

  test("is refused while a rule, or all rules, have too many", () => {
    const state = registryAfter([put(), T0], [put({ name: "other" }), T0]);
    const fill = (rule: string, count: number) => {
      for (let n = 0; n < count; n += 1) {
        const token = { ...tokenOf(`${rule}-${n}`, { rule }), old: null, rotatedAt: null, usedOn: null };
        state.exchanged.set(token.id, { ...token, ended: null, at: T0 }, T0);
      }
    };
    fill("ci", MAX_EXCHANGED_OF_RULE - 1);
    expect(refusal(state, "abcdefghij")).toBeNull();
    fill("ci", MAX_EXCHANGED_OF_RULE);
    expect(refusal(state, "abcdefghij")).toMatchObject({ code: "busy", temporary: true });
    const ofOther = { token: tokenOf("abcdefghij", { rule: "other" }), version: "v1" };
    expect(refusalOfExchange(state.exchanged, state.trust, ofOther)).toBeNull();
    fill("third", MAX_EXCHANGED - MAX_EXCHANGED_OF_RULE);
    expect(refusalOfExchange(state.exchanged, state.trust, ofOther)).toMatchObject({ code: "busy" });
  });
});

describe("a trust rule (oidc.md#trust-rules)", () => {
  test("that is deleted ends its tokens and no others, and remembers what was exchanged", () => {
    const state = registryAfter(
      [put(), T0],
      [given("abcdefghij"), T0],
      [given("klmnopqrst", { rule: "other" }), T0],
      [{ type: "trust_removed", rule: CI, by: "token:boss" }, T0 + 1],
    );
    expect(grantOf(state.exchanged, "abcdefghij", T0 + 1)).toBeNull();
    expect(grantOf(state.exchanged, "klmnopqrst", T0 + 1)).not.toBeNull();
    expect(state.exchanged.get("abcdefghij")?.ended).toEqual({ how: "revoked", by: "token:boss" });
    expect(ruleRows(state.trust, null)).toEqual([]);
  });

  test("that is changed leaves its tokens as they are", () => {
    const state = registryAfter([put(), T0], [given("abcdefghij"), T0], [put({ version: "v2" }), T0 + 1]);
    expect(grantOf(state.exchanged, "abcdefghij", T0 + 1)).not.toBeNull();
  });

  test("ends with the token of its creator", () => {
    const state = registryAfter([put({ expiresAt: T0 + MINUTE }), T0]);
    expect(registryMachine.wakeAt(state)).toBe(T0 + MINUTE);
    const over = registryAfter([put({ expiresAt: T0 + MINUTE }), T0], [{ type: "tick" }, T0 + MINUTE]);
    expect(ruleRows(over.trust, null)).toEqual([]);
  });

  test("is one of a bounded number", () => {
    const state = registryAfter();
    for (let n = 0; n < MAX_TRUST_RULES; n += 1) state.trust.set(`r${n}`, ruleOf({ name: `r${n}` }), T0);
    expect(refusalOfRule(state.trust, { ...CI, name: "new" })).toMatchObject({ code: "busy" });
    expect(refusalOfRule(state.trust, { ...CI, name: "r0" })).toBeNull();
  });
});
