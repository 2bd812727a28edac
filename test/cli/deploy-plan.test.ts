import { describe, expect, test } from "vitest";
import { configurationFor } from "../../cli/deploy/configuration.ts";
import type { Facts, Running } from "../../cli/deploy/facts.ts";
import { wranglerFailed } from "../../cli/deploy/failure.ts";
import { type Plan, planOf, type Wanted } from "../../cli/deploy/plan.ts";
import { compareVersions } from "../../cli/deploy/versions.ts";
import { PROTOCOLS } from "../../src/shared/compat.ts";

const ALL = ["DROVER_ADMIN_TOKEN", "DROVER_SIGNING_KEY", "DROVER_KEK_1", "DROVER_URL"];
const URL_OF = "https://drover.acme.workers.dev";
const DOMAIN = "https://d.acme.example";

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  ...{ name: "drover", version: "0.2.0", bucket: undefined, domain: undefined },
  ...{ rotateToken: false, force: false, backup: true },
  ...more,
});
const running = (deployed: Partial<Running["deployed"]> = {}, workers: Running["workers"] = []): Running => ({
  ...{ url: URL_OF, token: "t", workers },
  deployed: { version: "0.1.0", url: URL_OF, bucket: true, bucketName: "drover-logs", ...deployed },
});
const facts = (more: Partial<Facts> = {}): Facts => ({
  ...{ secrets: null, buckets: [], running: undefined, silent: undefined, hasToken: false },
  ...{ isRefused: false, recorded: {}, named: undefined },
  ...more,
});
const live = (more: Partial<Facts> = {}) =>
  facts({ secrets: ALL, buckets: ["drover-logs"], running: running(), hasToken: true, ...more });

const silent = (more: Partial<Facts> = {}) =>
  facts({ secrets: ALL, hasToken: true, silent: { url: URL_OF, token: "t", isOld: false }, ...more });
const withoutName = ({ deployed: { bucketName: _, ...deployed }, ...more }: Running): Running => ({
  ...more,
  deployed,
});

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
      "one that is broken, with --force: its bucket, its domains and its address stay",
      silent({ recorded: { url: DOMAIN, bucket: "acme", domains: ["d.acme.example"] } }),
      wanted({ force: true }),
      { backsUp: false, bucket: "acme", url: DOMAIN, domains: ["d.acme.example"], tellsUrl: false },
    ],
    [
      "one that is broken and has no bucket, with --force",
      silent({ recorded: { url: URL_OF, bucket: null } }),
      wanted({ force: true }),
      { bucket: null, makesBucket: false, tellsUrl: false },
    ],
    [
      "one that is broken, with --force and another domain, which it is told",
      silent({ recorded: { url: URL_OF, bucket: null } }),
      wanted({ force: true, domain: "d.acme.example" }),
      { url: DOMAIN, domains: ["d.acme.example"], tellsUrl: true },
    ],
    [
      "one with another bucket, which stays",
      live({ running: running({ bucketName: "acme" }), buckets: ["acme"] }),
      wanted(),
      { bucket: "acme", makesBucket: false },
    ],
    [
      "one of a version that does not say its bucket, which the record does",
      live({ running: withoutName(running()), recorded: { bucket: "acme" } }),
      wanted(),
      { bucket: "acme" },
    ],
    [
      "one with a domain that gets another: the first one stays",
      live({ running: running({ url: DOMAIN, domains: ["d.acme.example", "c.acme.example"] }) }),
      wanted({ domain: "e.acme.example" }),
      {
        ...{ domain: "e.acme.example", url: "https://e.acme.example", before: DOMAIN, tellsUrl: true },
        domains: ["d.acme.example", "c.acme.example", "e.acme.example"],
      },
    ],
    [
      "a first deployment with a domain that was interrupted after the upload",
      facts({ secrets: ALL, hasToken: true, recorded: { nextUrl: DOMAIN, bucket: "acme" } }),
      wanted(),
      { url: DOMAIN, domains: ["d.acme.example"], bucket: "acme", from: undefined, tellsUrl: true },
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
    ["one that is silent", silent(), wanted(), /does not answer/],
    [
      "one of a version that does not say what it is",
      silent({ silent: { url: URL_OF, token: "t", isOld: true } }),
      wanted(),
      /cannot say what was deployed/,
    ],
    [
      "one that is silent and whose bucket nobody knows, also with --force",
      silent(),
      wanted({ force: true }),
      /which bucket this Drover has/,
    ],
    [
      "one that has no bucket's name, and no record",
      live({ running: withoutName(running()) }),
      wanted(),
      /which bucket this Drover has/,
    ],
    ["another bucket", live(), wanted({ bucket: "acme" }), /has the bucket drover-logs/],
    [
      "another bucket, with --force",
      silent({ recorded: { bucket: "acme" } }),
      wanted({ force: true, bucket: "drover-logs" }),
      /has the bucket acme/,
    ],
    [
      "a first deployment from here that another one has overtaken",
      facts({ secrets: ALL, hasToken: true, recorded: { nextUrl: DOMAIN }, isRefused: true }),
      wanted(),
      /nothing here has a token/,
    ],
    [
      "a first deployment from here that never came to an upload, where there is a Drover",
      facts({ secrets: ALL, hasToken: true }),
      wanted(),
      /nothing here has a token/,
    ],
    [
      "no Worker, where the environment names a Drover",
      facts({ named: "DROVER_URL names the Drover at https://x.example" }),
      wanted(),
      /DROVER_URL names the Drover at https:\/\/x\.example, and there is no Worker drover/,
    ],
    [
      "machines that cannot all be seen",
      live({ running: { ...running(), unseen: "the pool gpus does not answer" } }),
      wanted(),
      /Not all machines can be checked: the pool gpus/,
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
    const found = live({ running: running({}, [...workers, { id: "w-script", pool: "p" }]) });
    const dropping = (until: string) => PROTOCOLS.map((one, at) => (at === 0 ? { ...one, until } : one));
    expect(planOf(found, wanted(), PROTOCOLS).kind).toBe("plan");
    expect(planOf(found, wanted(), dropping("0.3.0")).kind).toBe("plan");
    expect(planOf(found, wanted(), dropping("0.2.0"))).toMatchObject({
      kind: "refusal",
      why: expect.stringMatching(/the agents of these machines: w-0 \(pool p\), w-script \(pool p\)\.$/),
    });
    expect(planOf(found, wanted({ force: true }), dropping("0.2.0")).kind).toBe("plan");
  });
});

describe("the configuration for wrangler (deploy.md#wrangler)", () => {
  const template = {
    main: "dist/worker.js",
    assets: { directory: "dist/assets", binding: "ASSETS" },
    r2_buckets: [{ binding: "LOGS", bucket_name: "drover-logs" }],
    migrations: [{ tag: "v1" }],
  };
  const made = (bucket: string | null, ...domains: string[]) =>
    configurationFor(template, { name: "x", account: "a", bucket, domains }, (path) => `/package/${path}`);

  test("has absolute paths, and what the deployment is called", () => {
    expect(made("x-logs")).toEqual({
      ...{ name: "x", account_id: "a", main: "/package/dist/worker.js", workers_dev: true },
      assets: { directory: "/package/dist/assets", binding: "ASSETS" },
      r2_buckets: [{ binding: "LOGS", bucket_name: "x-logs" }],
      migrations: [{ tag: "v1" }],
      vars: { DROVER_BUCKET: "x-logs" },
    });
  });

  test("has no bucket if there is none, and a domain beside workers.dev", () => {
    expect(made(null)).not.toHaveProperty("r2_buckets");
    const routes = ["d.acme.example", "e.acme.example"].map((pattern) => ({ pattern, custom_domain: true }));
    const vars = { DROVER_DOMAINS: "d.acme.example,e.acme.example" };
    expect(made(null, "d.acme.example", "e.acme.example")).toMatchObject({ workers_dev: true, routes, vars });
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

test.each<[text: string, isOfZone: boolean]>([
  ["Could not find zone for `drover.acme.example`. Make sure the domain is set up", true],
  ["Can't deploy to custom domains that belong to another account", true],
  ["The time zone of the schedule is unknown", false],
])("a failure that says %s is about the zone of a domain: %s (deploy.md#domains)", (text, isOfZone) => {
  const said = { code: 1, stdout: "", stderr: text, failure: undefined };
  const { hints } = wranglerFailed("upload the Worker", said);
  expect(hints.includes("The domain must be in a zone of this account.")).toBe(isOfZone);
});
