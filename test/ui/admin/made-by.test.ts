import { describe, expect, test } from "vitest";
import type { Token, TrustRule } from "../../../src/generated/api.ts";
import { givenBy, madeBy } from "../../../ui/pages/admin/tokens/made-by.ts";

// The answer to a revocation says the same by id: test/ui/admin/tokens.long.test.ts.

const minute = (number: number) => `2026-11-27T16:${String(number).padStart(2, "0")}:00Z`;

const idOf = (name: string | null) => (name === null ? null : `id-${name}`);

/** A token that the token `parent` has made. */
function token(name: string, parent: string | null, more: Partial<Token> = {}): Token {
  const createdBy = parent === null ? "admin" : `token:${parent}`;
  return {
    ...{ id: `id-${name}`, name, project: "default", scopes: [], limits: {}, state: "active" as const },
    ...{
      payer: null,
      rule: null,
      createdAt: minute(10),
      createdBy,
      parent: idOf(parent),
      expiresAt: null,
      rotatedAt: null,
    },
    ...{ oldSecretUntil: null, lastUsedOn: null, revokedAt: null, revokedBy: null },
    ...more,
  };
}

function rule(name: string, parent: string | null): TrustRule {
  const createdBy = parent === null ? "admin" : `token:${parent}`;
  return {
    ...{ name, project: "default", issuer: "https://gitlab.com", audience: "drover", claims: {}, scopes: [] },
    ...{ limits: {}, labels: {}, lifetime: "15m", createdAt: minute(20), createdBy, expiresAt: null },
    parent: idOf(parent),
  };
}

const lead = token("lead", null, { createdAt: minute(1) });

/** The names of what the token `lead` has made. */
function made(tokens: Token[], rules: TrustRule[] = []): string[] {
  const found = madeBy(lead, [lead, ...tokens], rules);
  return [...found.tokens, ...found.rules].map(({ name }) => name).sort();
}

describe("what a token has made (access.md#children)", () => {
  test("is what has its id as maker", () => {
    expect(made([token("a", "lead"), token("b", "lead"), token("c", null)])).toEqual(["a", "b"]);
  });

  test("is also what that has made, even if what is between has ended", () => {
    const ended = token("a", "lead", { state: "revoked", revokedAt: minute(30) });
    expect(made([ended, token("b", "a")])).toEqual(["b"]);
  });

  test("is a trust rule with the tokens that it gave, and what these have made", () => {
    const given = token("oidc:jobs/42", null, { rule: "jobs", id: "id-given" });
    expect(made([given, token("a", "given")], [rule("jobs", "lead")])).toEqual(["a", "jobs", "oidc:jobs/42"]);
  });

  test("is nothing of another token that has the same name", () => {
    const other = token("a", "lead", { parent: "id-of-another" });
    expect(made([other])).toEqual([]);
  });

  test("is found though tokens go round in a circle", () => {
    const [a, b] = [token("a", "lead"), token("b", "a")];
    expect(made([{ ...a, parent: "id-b" }, b, token("c", "lead")])).toEqual(["c"]);
  });
});

test("a trust rule has given what names it, in its project, and is valid (oidc.md#exchange)", () => {
  const tokens = [
    token("one", null, { rule: "jobs" }),
    token("two", null, { rule: "jobs", state: "expired" }),
    token("three", null, { rule: "jobs", project: "ml" }),
    token("four", null, { rule: "others" }),
  ];
  expect(givenBy(rule("jobs", null), tokens).map(({ name }) => name)).toEqual(["one"]);
});
