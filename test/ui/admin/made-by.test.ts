import { describe, expect, test } from "vitest";
import type { Token, TrustRule } from "../../../src/generated/api.ts";
import { givenBy, madeBy } from "../../../ui/pages/admin/tokens/made-by.ts";

// The answer to a revocation says the same by id: test/ui/admin/tokens.long.test.ts.

const minute = (number: number) => `2026-11-27T16:${String(number).padStart(2, "0")}:00Z`;

function token(name: string, createdBy: string, more: Partial<Token> = {}): Token {
  return {
    ...{ id: `id-${name}`, name, project: "default", scopes: [], limits: {}, state: "active" as const },
    ...{ payer: null, rule: null, createdAt: minute(10), createdBy, expiresAt: null, rotatedAt: null },
    ...{ oldSecretUntil: null, lastUsedOn: null, revokedAt: null, revokedBy: null },
    ...more,
  };
}

function rule(name: string, createdBy: string): TrustRule {
  return {
    ...{ name, project: "default", issuer: "https://gitlab.com", audience: "drover", claims: {}, scopes: [] },
    ...{ limits: {}, labels: {}, lifetime: "15m", createdAt: minute(20), createdBy, expiresAt: null },
  };
}

const lead = token("lead", "admin", { createdAt: minute(1) });

/** The names of what the token `lead` has made. */
function made(tokens: Token[], rules: TrustRule[] = []): string[] {
  const found = madeBy(lead, [lead, ...tokens], rules);
  return [...found.tokens, ...found.rules].map(({ name }) => name).sort();
}

describe("what a token has made (access.md#children)", () => {
  test("is what has its name as maker, by its own requests or in a browser", () => {
    expect(made([token("a", "token:lead"), token("b", "session:lead"), token("c", "admin")])).toEqual([
      "a",
      "b",
    ]);
  });

  test("is also what that has made, even if what is between has ended", () => {
    const ended = token("a", "token:lead", { state: "revoked", revokedAt: minute(30) });
    expect(made([ended, token("b", "token:a", { createdAt: minute(20) })])).toEqual(["b"]);
  });

  test("is a trust rule with the tokens that it gave, and what these have made", () => {
    const given = token("oidc:jobs/42", "trust", { rule: "jobs", id: "given" });
    const later = token("a", "oidc:jobs/42", { createdAt: minute(20) });
    expect(made([given, later], [rule("jobs", "token:lead")])).toEqual(["a", "jobs", "oidc:jobs/42"]);
  });

  test("is nothing of another token that has had the same name before, or of another project", () => {
    const before = token("a", "token:lead", { createdAt: minute(0) });
    const elsewhere = token("b", "token:ml:lead", { project: "ml" });
    expect(made([before, elsewhere])).toEqual([]);
  });

  test("is nothing that was made under its name after its end", () => {
    const past = { ...lead, revokedAt: minute(5) };
    expect(madeBy(past, [past, token("a", "token:lead")], [])).toEqual({ tokens: [], rules: [] });
  });

  test("is found though names go round in a circle", () => {
    const [a, b] = [token("a", "token:lead"), token("b", "token:a")];
    expect(made([{ ...a, createdBy: "token:b" }, b, token("c", "token:lead")])).toEqual(["c"]);
  });
});

test("a trust rule has given what names it, in its project, and is valid (oidc.md#exchange)", () => {
  const tokens = [
    token("one", "trust", { rule: "jobs" }),
    token("two", "trust", { rule: "jobs", state: "expired" }),
    token("three", "trust", { rule: "jobs", project: "ml" }),
    token("four", "trust", { rule: "others" }),
  ];
  expect(givenBy(rule("jobs", "admin"), tokens).map(({ name }) => name)).toEqual(["one"]);
});
