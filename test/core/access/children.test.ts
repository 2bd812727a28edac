import { beforeEach, describe, expect, test } from "vitest";
import { registryEntry } from "../../../src/core/registry/audit.ts";
import { childrenOf, childrenView } from "../../../src/core/registry/children.ts";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import { ruleNamed } from "../../../src/core/registry/trust.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

// Who made what, by ids: boss makes a helper and the rule ci; a job gets in by the rule, and makes its own.

const T0 = Date.UTC(2026, 10, 24, 12);
const HOUR = 3_600_000;
const OWNED = { project: "default", payer: "admin" };
const fields = { scopes: ["tokens:write" as const], limits: {}, digest: "d", createdAt: T0, ...OWNED };

let state: RegistryState;
const tell = (event: RegistryEvent, now = T0) => {
  state = applied(registryMachine, state, event, now);
  for (const rows of [state.tokens, state.exchanged, state.trust]) rows.flush();
};
const makeToken = (id: string, parent: string | null, name = id, expiresAt: number | null = null) =>
  tell({
    type: "token_created",
    token: { ...fields, id, name, parent, createdBy: `token:${parent}`, expiresAt },
  });
const makeRule = (name: string, parent: string | null) =>
  tell({
    type: "trust_put",
    rule: {
      ...{
        name,
        parent,
        ...OWNED,
        version: name,
        issuer: "https://ci.example.com",
        audience: "drover",
        claims: { a: "b" },
      },
      ...{ scopes: fields.scopes, limits: {}, labels: {}, lifetimeMs: HOUR, createdAt: T0 },
      ...{ createdBy: `token:${parent}`, expiresAt: null },
    },
  });
const exchange = (id: string, rule: string) => {
  const who = { name: `oidc:${rule}/job`, parent: null, createdBy: `trust:${rule}`, expiresAt: T0 + HOUR };
  const given = { rule, keptUntil: T0 + HOUR };
  tell({ type: "token_exchanged", token: { ...fields, ...who, id, given } });
};
const revoke = (id: string, withChildren: boolean): RegistryEvent => ({
  ...{ type: "token_revoked", id, by: "admin", withChildren },
});
const children = (id: string, now = T0) => {
  const { tokens, trustRules } = childrenView(childrenOf(state, id, now));
  return [...tokens.map((one) => one.id), ...trustRules].sort();
};
const isActive = (id: string) => (state.tokens.get(id) ?? state.exchanged.get(id))?.ended === null;

beforeEach(() => {
  state = registryOf(null);
  makeToken("boss", null);
  makeToken("helper", "boss");
  makeToken("leaf", "helper");
  makeRule("ci", "boss");
  exchange("job", "ci");
  makeToken("ofjob", "job", "ofjob", T0 + HOUR);
  makeToken("other", null);
  makeRule("others", "other");
});

describe("what a token has made (access.md#children)", () => {
  test("is found through tokens, rules and the tokens that these gave", () => {
    expect(children("boss")).toEqual(["ci", "helper", "job", "leaf", "ofjob"]);
    expect(children("helper")).toEqual(["leaf"]);
    expect(children("leaf")).toEqual([]);
  });

  test("lives on after its revocation, also behind a token that was revoked before", () => {
    tell(revoke("helper", false));
    tell(revoke("boss", false));
    expect(children("boss")).toEqual(["ci", "job", "leaf", "ofjob"]);
    expect([isActive("boss"), isActive("leaf"), isActive("job")]).toEqual([false, true, true]);
  });

  test("ends with it if that is asked for, even later, and nothing else does", () => {
    tell(revoke("helper", false));
    tell(revoke("boss", false));
    const entry = registryEntry(state, revoke("boss", true), T0);
    expect(entry).toMatchObject({ action: "token.revoke", target: { id: "boss" } });
    expect(entry?.reason).toMatch(/^with .*token leaf.*trust rule ci/);
    tell(revoke("boss", true));
    expect(["leaf", "job", "ofjob"].filter(isActive)).toEqual([]);
    expect([ruleNamed(state.trust, { project: "default", name: "ci" }), isActive("other")]).toEqual([
      undefined,
      true,
    ]);
    expect(state.trust.get("others")).toBeDefined();
    expect(children("boss")).toEqual([]);
    expect(registryEntry(state, revoke("boss", true), T0)).toBeUndefined();
  });

  test("belongs to the token with the id, not to a later one with the same name", () => {
    tell(revoke("boss", false));
    makeToken("boss2", null, "boss");
    expect(children("boss2")).toEqual([]);
  });

  test("that has expired is not among it", () => {
    expect(children("boss", T0 + HOUR)).toEqual(["ci", "helper", "leaf"]);
  });
});
