import { describe, expect, test } from "vitest";
import { accepts, limitsFrom, matches, nameFrom } from "../../../src/routes/oidc/claims.ts";
import { faultsOfTrust } from "../../../src/routes/oidc/issuers.ts";

const HERE = "https://drover.example.com";
const GITHUB = "https://token.actions.githubusercontent.com";

describe("a pattern (oidc.md#trust-rules)", () => {
  test.each<[string, string, boolean]>([
    ["main", "main", true],
    ["main", "main2", false],
    ["main", "Main", false],
    ["", "", true],
    ["*", "", true],
    ["*", "any/thing", true],
    ["refs/heads/*", "refs/heads/x/y", true],
    ["refs/heads/*", "refs/head", false],
    ["*/app", "octo/app", true],
    ["*/app", "octo/app2", false],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["a*bc*c", "abcc", true],
    ["a*bc*bc", "abc", false],
    ["*b*", "abc", true],
    ["*b*", "ac", false],
    ["a**c", "abc", true],
    [".*", "x", false],
    ["[a-z]", "a", false],
    ["x\n*", "x\ny", true],
  ])("%j and %j: %s", (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  test("with many stars is compared in no time", () => {
    expect(matches(`${"a*".repeat(200)}b`, "a".repeat(16_000))).toBe(false);
  });
});

describe("claims (oidc.md#trust-rules)", () => {
  test.each<[string, object, boolean]>([
    ["a text", { id: "7" }, true],
    ["a number", { id: 7 }, true],
    ["a list with it", { id: ["6", "7"] }, true],
    ["another value", { id: "77" }, false],
    ["an empty list", { id: [] }, false],
    ["a list in a list", { id: [["7"]] }, false],
    ["an object", { id: { 7: true } }, false],
    ["nothing", {}, false],
    ["null", { id: null }, false],
  ])("%s", (_, claims, expected) => {
    expect(accepts({ claims: { id: "7" } }, { ...claims })).toBe(expected);
  });

  test("what every object has is no claim", () => {
    expect(accepts({ claims: { constructor: "*" } }, {})).toBe(false);
    expect(accepts({ claims: { toString: "*" } }, {})).toBe(false);
  });

  test("all must match", () => {
    const claims = { id: "7", ref: "main" };
    expect(accepts({ claims: { id: "7", ref: "m*" } }, claims)).toBe(true);
    expect(accepts({ claims: { id: "7", ref: "x*" } }, claims)).toBe(false);
  });

  test.each<[string, object, string]>([
    [GITHUB, { repository: "octo/app", sub: "repo:octo/app" }, "oidc:ci/octo/app"],
    [GITHUB, { sub: "repo:octo/app" }, "oidc:ci/repo:octo/app"],
    ["https://gitlab.com", { project_path: "g/p" }, "oidc:ci/g/p"],
    ["https://agent.buildkite.com", { pipeline_slug: "p" }, "oidc:ci/p"],
    ["https://ci.example.com", { sub: "job" }, "oidc:ci/job"],
    ["https://ci.example.com", { sub: ["job"] }, "oidc:ci/unnamed"],
    ["https://ci.example.com", { sub: "a b\n\u202ec" }, "oidc:ci/a_b__c"],
    ["https://ci.example.com", { sub: "x".repeat(500) }, `oidc:ci/${"x".repeat(128)}`],
  ])("%s names %j as %s (oidc.md#names)", (issuer, claims, name) => {
    expect(nameFrom({ name: "ci", project: "default", issuer }, { ...claims })).toBe(name);
  });

  const rule = {
    name: "ci",
    project: "default",
    payer: "trust:default/ci",
    version: "v",
    issuer: GITHUB,
    audience: HERE,
    claims: {},
    scopes: [],
    lifetimeMs: 1,
    createdAt: 0,
    createdBy: "admin",
    parent: null,
    expiresAt: null,
  };

  test("labels come from claims beside fixed ones", () => {
    const limits = { labels: { team: "x" }, maxPriority: 5 };
    expect(limitsFrom({ ...rule, limits, labels: { sha: "sha" } }, { sha: "c0" })).toEqual({
      maxPriority: 5,
      labels: { team: "x", sha: "c0" },
    });
    expect(limitsFrom({ ...rule, limits: {}, labels: {} }, { sha: "c0" })).toEqual({});
  });
});

describe("a rule for an issuer (oidc.md#shared-issuers)", () => {
  const BUILDKITE = "https://agent.buildkite.com";
  test.each<[string, string, Record<string, string>, string | undefined]>([
    ["GitHub by repository", GITHUB, { repository_id: "1" }, undefined],
    ["GitHub by owner", GITHUB, { repository_owner_id: "1", ref: "*" }, undefined],
    ["GitHub by name", GITHUB, { repository: "octo/app" }, "/claims"],
    ["GitHub by a pattern of ids", GITHUB, { repository_id: "1*" }, "/claims"],
    ["GitHub by `sub`", GITHUB, { repository_id: "1", sub: "repo:*" }, "/claims/sub"],
    ["GitHub of an enterprise", `${GITHUB}/octo`, { ref: "main" }, "/claims"],
    ["GitHub with data residency", "https://token.actions.octo.ghe.com", { ref: "main" }, "/claims"],
    ["GitLab by project", "https://gitlab.com", { project_id: "1" }, undefined],
    ["GitLab by path", "https://gitlab.com", { project_path: "g/p" }, "/claims"],
    ["a GitLab of one's own", "https://gitlab.example.com", { ref: "main" }, undefined],
    ["Buildkite by organization", BUILDKITE, { organization_slug: "octo" }, undefined],
    ["Buildkite by a pipeline's name", BUILDKITE, { pipeline_slug: "deploy" }, "/claims"],
    ["Google by account", "https://accounts.google.com", { sub: "1" }, undefined],
    ["Google by nothing", "https://accounts.google.com", { email_verified: "true" }, "/claims"],
    ["Terraform by workspace", "https://app.terraform.io", { terraform_workspace_id: "ws-1" }, undefined],
    ["anybody by http", "http://ci.example.com", { sub: "1" }, "/issuer"],
    ["loopback", "http://127.0.0.1:1", { sub: "1" }, "/issuer"],
    ["a private address", "https://10.0.0.1", { sub: "1" }, "/issuer"],
    ["the metadata of a cloud", "http://169.254.169.254/latest", { sub: "1" }, "/issuer"],
    ["a name of a local network", "https://sso.corp", { sub: "1" }, "/issuer"],
    ["a public address without a name", "https://8.8.8.8", { sub: "1" }, "/issuer"],
    ["another port", "https://ci.example.com:9000", { sub: "1" }, "/issuer"],
  ])("%s", (_, issuer, claims, pointer) => {
    expect(faultsOfTrust({ issuer, claims }, false)[0]?.pointer).toBe(pointer);
  });

  test("a local address says which flag allows it, and is allowed with it (webhooks.md#addresses)", () => {
    const claims = { sub: "1" };
    for (const issuer of ["http://127.0.0.1:1", "http://10.0.0.1:1", "https://sso.corp"]) {
      expect(faultsOfTrust({ issuer, claims }, true)).toEqual([]);
    }
    const [fault] = faultsOfTrust({ issuer: "https://sso.corp", claims }, false);
    expect(fault?.detail).toContain("`drover up --allow-local-issuers`");
  });
});
