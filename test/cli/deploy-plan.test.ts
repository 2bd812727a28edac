import { describe, expect, test } from "vitest";
import { configurationFor } from "../../cli/deploy/configuration.ts";
import { type Facts, type Plan, planOf, type Running, type Wanted } from "../../cli/deploy/plan.ts";
import { compareVersions } from "../../cli/deploy/versions.ts";
import { isUnderstood, PROTOCOLS } from "../../src/shared/compat.ts";

const ALL = ["DROVER_ADMIN_TOKEN", "DROVER_SIGNING_KEY", "DROVER_KEK_1", "DROVER_URL"];
const URL_OF = "https://drover.acme.workers.dev";

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  ...{ name: "drover", version: "0.2.0", bucket: undefined, domain: undefined },
  ...{ rotateToken: false, force: false, backup: true },
  ...more,
});
const running = (deployed: Partial<Running["deployed"]> = {}, workers: Running["workers"] = []): Running => ({
  ...{ url: URL_OF, token: "t", workers },
  deployed: { version: "0.1.0", url: URL_OF, bucket: true, ...deployed },
});
const facts = (more: Partial<Facts> = {}): Facts => ({
  ...{ secrets: null, buckets: [], running: undefined, silentAt: undefined, hasToken: false },
  ...more,
});
const live = (more: Partial<Facts> = {}) =>
  facts({ secrets: ALL, buckets: ["drover-logs"], running: running(), hasToken: true, ...more });

describe("a plan follows from what is there (deploy.md#steps)", () => {
  const CASES: [what: string, facts: Facts, wanted: Wanted, plan: Partial<Plan>][] = [
    [
      "nothing",
      facts(),
      wanted(),
      {
        bucket: "drover-logs",
        makesBucket: true,
        newSecrets: ALL.slice(0, 3),
        backsUp: false,
        url: undefined,
      },
    ],
    ["a bucket", facts({ buckets: ["drover-logs"] }), wanted(), { makesBucket: false }],
    ["another name", facts(), wanted({ name: "staging" }), { bucket: "staging-logs" }],
    [
      "a domain from the first day",
      facts(),
      wanted({ domain: "d.acme.example" }),
      { url: "https://d.acme.example" },
    ],
    [
      "a control plane",
      live(),
      wanted(),
      { from: "0.1.0", newSecrets: [], makesBucket: false, backsUp: true, url: URL_OF, domain: undefined },
    ],
    [
      "one with a domain, which stays",
      live({ running: running({ url: "https://d.acme.example" }) }),
      wanted(),
      { domain: "d.acme.example", url: "https://d.acme.example" },
    ],
    ["one without a bucket", live({ running: running({ bucket: false }) }), wanted(), { bucket: null }],
    [
      "one that gets a bucket",
      live({ running: running({ bucket: false }), buckets: [] }),
      wanted({ bucket: "logs" }),
      { bucket: "logs", makesBucket: true },
    ],
    [
      "one with another wrapping key, which is enough",
      live({ secrets: [...ALL.slice(0, 2), "DROVER_KEK_2"] }),
      wanted(),
      { newSecrets: [] },
    ],
    [
      "one whose token is to go",
      live(),
      wanted({ rotateToken: true }),
      { newSecrets: ["DROVER_ADMIN_TOKEN"] },
    ],
    [
      "a first deployment that was interrupted",
      facts({ secrets: ALL.slice(0, 3), hasToken: true }),
      wanted(),
      { from: undefined, newSecrets: [], url: undefined },
    ],
    [
      "one that is broken, with --force",
      facts({ secrets: ALL, hasToken: true, silentAt: URL_OF }),
      wanted({ force: true }),
      { backsUp: false },
    ],
  ];
  test.each(CASES)("%s", (_what, found, what, plan) => {
    expect(planOf(found, what)).toMatchObject({ kind: "plan", ...plan });
  });
});

describe("a refusal says why, before anything is changed (deploy.md#upgrade)", () => {
  const CASES: [what: string, facts: Facts, wanted: Wanted, why: RegExp][] = [
    ["another Worker", facts({ secrets: ["API_KEY"] }), wanted(), /it is not a Drover/],
    ["a token that nobody has", facts({ secrets: ALL }), wanted(), /nothing here has a token/],
    [
      "one that is silent",
      facts({ secrets: ALL, hasToken: true, silentAt: URL_OF }),
      wanted(),
      /does not answer/,
    ],
    [
      "a newer one",
      live({ running: running({ version: "0.10.0" }) }),
      wanted(),
      /Version 0\.10\.0 is running/,
    ],
    ["one with a bucket", live(), wanted({ bucket: false }), /has a bucket/],
  ];
  test.each(CASES)("%s", (_what, found, what, why) => {
    expect(planOf(found, what)).toMatchObject({ kind: "refusal", why: expect.stringMatching(why) });
  });

  test("agents of every protocol are understood until its entry says otherwise (compat.md#hosts)", () => {
    const workers = PROTOCOLS.map((_, protocol) => ({ id: `w-${protocol}`, pool: "p", protocol }));
    expect(planOf(live({ running: running({}, workers) }), wanted()).kind).toBe("plan");
    expect(PROTOCOLS.map((_, protocol) => isUnderstood(protocol, () => false))).toEqual([true, true]);
    const dropped = PROTOCOLS.filter(({ until }) => until !== null);
    expect(PROTOCOLS.filter((_, protocol) => !isUnderstood(protocol, () => true))).toEqual(dropped);
  });
});

describe("the configuration for wrangler (deploy.md#wrangler)", () => {
  const template = {
    main: "dist/worker.js",
    assets: { directory: "dist/assets", binding: "ASSETS" },
    r2_buckets: [{ binding: "LOGS", bucket_name: "drover-logs" }],
    migrations: [{ tag: "v1" }],
  };
  const made = (bucket: string | null, domain?: string) =>
    configurationFor(template, { name: "x", account: "a", bucket, domain }, (path) => `/package/${path}`);

  test("has absolute paths, and what the deployment is called", () => {
    expect(made("x-logs")).toEqual({
      ...{ name: "x", account_id: "a", main: "/package/dist/worker.js", workers_dev: true },
      assets: { directory: "/package/dist/assets", binding: "ASSETS" },
      r2_buckets: [{ binding: "LOGS", bucket_name: "x-logs" }],
      migrations: [{ tag: "v1" }],
    });
  });

  test("has no bucket if there is none, and a domain beside workers.dev", () => {
    expect(made(null)).not.toHaveProperty("r2_buckets");
    const routes = [{ pattern: "d.acme.example", custom_domain: true }];
    expect(made(null, "d.acme.example")).toMatchObject({ workers_dev: true, routes });
  });
});

test.each<[string, string, -1 | 0 | 1]>([
  ["0.1.0", "0.1.0", 0],
  ["0.2.0", "0.10.0", -1],
  ["1.0.0", "0.9.9", 1],
  ["0.2.0-rc.1", "0.2.0", -1],
  ["0.2.0-rc.10", "0.2.0-rc.9", 1],
  ["unknown", "0.1.0", -1],
])("version %s against %s: %i (deploy.md#upgrade)", (one, other, order) => {
  expect(Math.sign(compareVersions(one, other))).toBe(order);
  expect(Math.sign(compareVersions(other, one))).toBe(order === 0 ? 0 : -order);
});
