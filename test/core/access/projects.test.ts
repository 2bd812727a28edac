import { describe, expect, test } from "vitest";
import { registryEntry } from "../../../src/core/registry/audit.ts";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import { refusalOfPut, refusalOfRemoval, withProject } from "../../../src/core/registry/pool-projects.ts";
import { refusalOfDeletion } from "../../../src/core/registry/project-deletion.ts";
import { hasProject, projectViews, refusalOfNewProject } from "../../../src/core/registry/projects.ts";
import { refusalOfNewToken } from "../../../src/core/registry/tokens.ts";
import { MAX_WEBHOOKS, refusalOfNewWebhook } from "../../../src/core/registry/webhooks.ts";
import type { PutPoolConfig } from "../../../src/schema/pool.ts";
import { WebhookFields } from "../../../src/schema/webhook/webhook.ts";
import { nameIn, projectOfRun, runIdIn } from "../../../src/shared/access/project.ts";
import { applied } from "../support/applied.ts";
import { poolConfig } from "../support/pool-config.ts";
import { registryOf } from "../support/registry.ts";

const T0 = Date.UTC(2026, 10, 25);
const FIELDS = WebhookFields.parse({ url: "https://ci.example.com/" });
const ML: RegistryEvent = { type: "project_created", name: "ml", by: "admin" };

function registryAfter(...events: RegistryEvent[]): RegistryState {
  return events.reduce((state, event) => applied(registryMachine, state, event, T0), registryOf(null));
}
const poolFor = (pool: string, ...projects: string[]): RegistryEvent => {
  const served = Object.fromEntries(projects.map((name) => [name, {}]));
  const config = { ...poolConfig(), ...(projects.length === 0 ? {} : { projects: served }) };
  return { type: "put", pool, config, seed: "s", by: "admin" };
};
const config = (...projects: string[]): PutPoolConfig => ({
  ...poolConfig(),
  ...(projects.length === 0 ? {} : { projects: Object.fromEntries(projects.map((name) => [name, {}])) }),
});

describe("a project (projects.md#what-exists)", () => {
  test("exists once it is made, beside default, which always does", () => {
    const state = registryAfter(ML);
    expect(projectViews(state.projects).map(({ name }) => name)).toEqual(["default", "ml"]);
    expect(["default", "ml", "web"].map((name) => hasProject(state.projects, name))).toEqual([
      true,
      true,
      false,
    ]);
    expect(refusalOfNewProject(state.projects, "ml")?.code).toBe("project_exists");
    expect(refusalOfNewProject(state.projects, "default")?.code).toBe("project_exists");
    expect(refusalOfNewProject(state.projects, "web")).toBeNull();
  });

  const token = {
    id: "abcdefghij",
    name: "ci",
    project: "ml",
    payer: "abcdefghij",
    parent: null,
    scopes: ["runs:read" as const],
    limits: {},
    digest: "d",
    createdAt: T0,
    createdBy: "admin",
    expiresAt: null,
  };
  const rule = {
    ...{
      name: "ci",
      project: "ml",
      payer: "x",
      parent: null,
      version: "v",
      issuer: "https://i",
      audience: "a",
      claims: {},
    },
    ...{
      scopes: [],
      limits: {},
      labels: {},
      lifetimeMs: 1,
      createdAt: T0,
      createdBy: "admin",
      expiresAt: null,
    },
  };
  const secret = {
    ...{
      type: "secret_set" as const,
      secret: { project: "ml", name: "key" },
      use: "run" as const,
      version: 1,
      bytes: 8,
      by: "admin",
    },
    sealed: { key: "ml/1", iv: "i", ct: "c" },
  };
  test.each<[string, RegistryEvent, string]>([
    ["a token", { type: "token_created", token }, "the token ci"],
    ["a trust rule", { type: "trust_put", rule }, "the trust rule ci"],
    ["a secret", secret, "the secret key"],
    ["a pool that names it", poolFor("gpu", "ml", "default"), "the pool gpu"],
  ])("is not deleted while it has %s, and the refusal names it", (_what, event, named) => {
    const refusal = refusalOfDeletion(registryAfter(ML, event), "ml");
    expect(refusal?.code).toBe("project_in_use");
    expect(refusal?.message).toContain(named);
  });

  test("is deleted once its tokens have ended, and never if it is default", () => {
    const ended: RegistryEvent[] = [
      ML,
      { type: "token_created", token },
      { type: "token_revoked", id: token.id, by: "admin", withChildren: false },
    ];
    expect(refusalOfDeletion(registryAfter(...ended), "ml")).toBeNull();
    expect(refusalOfDeletion(registryAfter(), "ml")?.code).toBe("unknown_project");
    expect(refusalOfDeletion(registryAfter(), "default")?.code).toBe("project_in_use");
    const gone = registryAfter(ML, { type: "project_deleted", name: "ml", by: "admin" });
    expect(hasProject(gone.projects, "ml")).toBe(false);
    expect(projectViews(gone.projects).map(({ name }) => name)).toEqual(["default"]);
    // Its old runs have the name in their ids, so nobody gets it again.
    expect(refusalOfNewProject(gone.projects, "ml")?.code).toBe("project_exists");
  });

  test("has a part of what is there for all, and cannot use it up", () => {
    const names = Array.from({ length: MAX_WEBHOOKS / 10 }, (_, n) => `h${n}`);
    const state = registryAfter(ML);
    for (const name of names) {
      const made = { id: `wh-${name}`, name, project: "ml", fields: FIELDS, sealed: "s", by: "admin" };
      applied(registryMachine, state, { type: "webhook_created", ...made }, T0);
    }
    expect(refusalOfNewWebhook(state.webhooks, { project: "ml", name: "more" })?.code).toBe("busy");
    expect(refusalOfNewWebhook(state.webhooks, { project: "default", name: "more" })).toBeNull();
  });

  test("has names of its own", () => {
    const { tokens, secrets } = registryAfter(ML, { type: "token_created", token }, secret);
    expect(refusalOfNewToken(tokens, { project: "ml", name: "ci" })?.code).toBe("token_exists");
    expect(refusalOfNewToken(tokens, { project: "default", name: "ci" })).toBeNull();
    expect(secrets.get("ml/key")).toBeDefined();
    expect(secrets.get("key")).toBeUndefined();
  });
});

describe("a pool and the projects that it serves (projects.md#pools)", () => {
  const state = registryAfter(ML, poolFor("mine", "ml"), poolFor("both", "ml", "default"), poolFor("theirs"));
  test.each<[string, string, PutPoolConfig, string | null, string | undefined]>([
    ["the operator changes any", "both", config("ml"), null, undefined],
    ["the operator names a project that is not there", "new", config("nobody"), null, "unknown_project"],
    ["a project changes its own", "mine", config("ml"), "ml", undefined],
    ["a project makes a new one", "new", config("ml"), "ml", undefined],
    [
      "a project changes its quotas",
      "mine",
      { ...config(), projects: { ml: { maxRuns: 9 } } },
      "ml",
      "beyond_limits",
    ],
    ["a project lets others in", "mine", config("ml", "default"), "ml", "beyond_limits"],
    ["a project changes one of several", "both", config("ml"), "ml", "beyond_limits"],
    ["a project takes another's name", "theirs", config("ml"), "ml", "beyond_limits"],
    ["default makes a new one", "new", config(), "default", undefined],
    ["default takes another's name", "mine", config(), "default", "beyond_limits"],
  ])("%s", (_what, pool, wanted, project, code) => {
    expect(refusalOfPut(state, pool, wanted, project)?.code).toBe(code);
  });

  test("a new pool of a project serves it, unless the configuration says more", () => {
    expect(withProject(config(), "ml").projects).toEqual({ ml: {} });
    expect(withProject(config("default"), "ml").projects).toEqual({ default: {} });
    expect(withProject(config(), "default").projects).toBeUndefined();
    expect(withProject(config(), null).projects).toBeUndefined();
    const present = { projects: { ml: { maxRuns: 3 } } };
    expect(withProject(config(), "ml", present).projects).toEqual(present.projects);
  });

  test.each<[string, string, string | null, string | undefined]>([
    ["its own", "mine", "ml", undefined],
    ["one of several", "both", "ml", "beyond_limits"],
    ["another's, which is unknown", "theirs", "ml", "unknown_pool"],
    ["any, as the operator", "theirs", null, undefined],
  ])("is deleted by a caller: %s", (_what, pool, project, code) => {
    expect(refusalOfRemoval(state, pool, project)?.code).toBe(code);
  });
});

test("the id of a run says its project (projects.md#runs)", () => {
  expect(runIdIn("default", "build-17")).toBe("build-17");
  expect(runIdIn("ml", "build-17")).toBe("ml.build-17");
  expect(runIdIn("ml", "ml.build-17")).toBe("ml.build-17");
  expect(["build-17", "ml.build-17"].map(projectOfRun)).toEqual(["default", "ml"]);
  expect([nameIn("default", "ci", ":"), nameIn("ml", "ci", ":")]).toEqual(["ci", "ml:ci"]);
});

describe("the entry of a pool's configuration (audit.md#entries)", () => {
  test.each<[string, string[], string[], string | null]>([
    ["its project's, if it serves the same alone", ["ml"], ["ml"], "ml"],
    ["the operator's, if it served others before", ["ml", "default"], ["ml"], null],
    ["the operator's, if it goes over to another", ["ml"], ["default"], null],
  ])("is %s", (_what, before, after, project) => {
    const state = registryAfter(ML, poolFor("gpu", ...before));
    const config = {
      ...poolConfig({ maxInstances: 3 }),
      projects: Object.fromEntries(after.map((name) => [name, {}])),
    };
    const entry = registryEntry(state, { type: "put", pool: "gpu", config, seed: "s", by: "admin" }, T0);
    expect(entry?.project).toBe(project);
  });
});
