import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drover, type Ended, makeHome } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { type Server, startServer } from "./support/server.ts";

// What one Drover has comes back at another one, by the built command.

const POOL = { provider: { kind: "none" }, maxInstances: 0, tags: { team: "build" } };
const NEEDY = {
  provider: { kind: "http", url: "https://machines.example.com", secret: { secret: "cloud" } },
  instanceTypes: { small: { vcpus: 1, memory: "1GiB" } },
};
const RULE = {
  issuer: "https://token.actions.githubusercontent.com",
  claims: { repository_id: "1296269" },
  preset: "submitter",
  audience: "drover",
};
/** A pool of the project `ml`, which names a secret of its own. */
const OF_ML = {
  provider: { kind: "http", url: "https://ml.example.com", secret: { secret: "cloud" } },
  instanceTypes: { small: { vcpus: 1, memory: "1GiB" } },
  projects: { ml: {} },
  maxInstances: 0,
};
const IN_ML = { "drover-project": "ml" };
/** A job of each night, and one that follows it, which comes before it in a list. */
const NIGHTLY = { spec: { argv: ["true"] }, schedule: { cron: "30 2 * * *", zone: "UTC" } };
const AFTER = { spec: { argv: ["true"], after: [{ job: "nightly" }] }, paused: true };
const HOOK = { name: "ci", url: "https://ci.example.com/hook", labels: { team: "x" } };

let [old, fresh]: Server[] = [];
let home: string;
let file: string;
let laptop: string;

const as = (server: Server | undefined, args: string[], token = server?.token ?? ""): Promise<Ended> =>
  drover(home, args, { DROVER_URL: server?.url ?? "", DROVER_TOKEN: token, HOME: home });
const said = (ended: Ended): string => `${ended.code}\n${ended.stdout}${ended.stderr}`;
const results = ({ stdout }: Ended): string[] =>
  JSON.parse(stdout.toString()).map(({ kind, name, result }: Json) => `${kind} ${name} ${result}`);
const list = async (server: Server | undefined, path: string): Promise<Json[]> =>
  (await server?.json(200, "GET", path))?.items ?? [];
const namesAt = async (server: Server | undefined) => ({
  pools: (await list(server, "/v1/pools")).map(({ name }) => name),
  tokens: (await list(server, "/v1/tokens")).map(({ name }) => name),
  webhooks: (await list(server, "/v1/webhooks")).map(({ name }) => name),
});

beforeAll(async () => {
  [old, fresh] = [await startServer(), await startServer()];
  home = makeHome("backup");
  file = join(home, "made.jsonl.gz");
  await old.json(201, "POST", "/v1/projects", { name: "ml" });
  laptop = (await old.json(201, "POST", "/v1/tokens", { name: "laptop", preset: "viewer" })).token;
  await old.json(201, "POST", "/v1/tokens", { name: "ml-ci", preset: "viewer" }, IN_ML);
  await old.json(200, "PUT", "/v1/secrets/cloud", { value: "another-value", use: "provider" }, IN_ML);
  await old.json(201, "PUT", "/v1/pools/theirs", OF_ML, IN_ML);
  await old.json(201, "PUT", "/v1/trust-rules/github", RULE);
  await old.json(200, "PUT", "/v1/secrets/cloud", { value: "a-secret-value", use: "provider" });
  await old.json(201, "PUT", "/v1/pools/own", POOL);
  await old.json(201, "PUT", "/v1/pools/needy", { ...NEEDY, maxInstances: 0 });
  await old.json(201, "POST", "/v1/webhooks", HOOK);
  await old.json(201, "PUT", "/v1/jobs/nightly", NIGHTLY);
  await old.json(201, "PUT", "/v1/jobs/after", AFTER);
  await old.json(
    201,
    "PUT",
    "/v1/jobs/nightly",
    { ...NIGHTLY, spec: { argv: ["false"], pool: "theirs" } },
    IN_ML,
  );
  await old.json(201, "POST", "/v1/runs", { id: "kept", argv: ["true"] });
  await old.json(200, "GET", "/v1/runs/kept?wait=60s&state=done");
});
afterAll(async () => {
  await Promise.all([old?.stop(), fresh?.stop()]);
  rmSync(home, { recursive: true, force: true });
});

describe("drover backup and drover restore (backup.md)", () => {
  test("a backup has what matters, is for its owner alone, and has no secret", async () => {
    const made = await as(old, ["backup", file]);
    expect(said(made)).toMatch(
      /^0\n.* has: projects 1, tokens 2, trust rules 1, .* secrets 2, pools 4, jobs 3, webhooks 1, ended/,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = gunzipSync(readFileSync(file)).toString();
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line): Json => JSON.parse(line));
    expect(lines[0]).toMatchObject({ drover: "backup", format: 2, url: old?.url });
    expect(lines.filter(({ kind }) => kind === "run").map(({ run }) => run.id)).toEqual(["kept"]);
    expect(lines.some(({ kind, entry }) => kind === "audit" && entry.action === "token.create")).toBe(true);
    for (const secret of ["a-secret-value", laptop, old?.token ?? "", "whsec_"]) {
      expect(text.includes(secret)).toBe(false);
    }
  });

  test("--dry-run says what would be done, and does nothing", async () => {
    const before = await namesAt(fresh);
    const rehearsed = await as(fresh, ["restore", file, "--dry-run", "--json"]);
    expect(results(rehearsed).sort()).toEqual(
      [
        "project ml created",
        "token laptop created",
        "token ml/ml-ci created",
        "trust rule github created",
        "pool default skipped",
        "pool needy skipped",
        "pool own created",
        "pool theirs skipped",
        "job nightly created",
        "job after created",
        "job ml/nightly skipped",
        "webhook ci created",
      ].sort(),
    );
    expect(await namesAt(fresh)).toEqual(before);
  });

  test("a restore creates what is missing, says what it could not do, and tokens stay valid", async () => {
    const restored = await as(fresh, ["restore", file]);
    expect(restored.code).toBe(1);
    expect(restored.stdout.toString()).toMatch(/pool +needy +skipped +the secret cloud is missing/);
    expect(restored.stdout.toString()).toMatch(
      /pool +theirs +skipped +the secret cloud of ml is missing.*drover --project ml secrets set cloud/,
    );
    expect(restored.stderr).toMatch(/the webhook ci signs with another secret now.*whsec_/);
    expect(await namesAt(fresh)).toMatchObject({ pools: ["default", "own"], webhooks: ["ci"] });
    expect(await fresh?.json(200, "GET", "/v1/jobs/after")).toMatchObject({
      spec: AFTER.spec,
      paused: { by: "admin" },
    });
    const { stdout } = await as(fresh, ["pools", "--json"], laptop);
    expect(stdout.toString()).toContain('"own"');
    expect(await list(fresh, "/v1/trust-rules")).toMatchObject([{ name: "github", claims: RULE.claims }]);
  });

  test("a second one changes nothing, and goes on where the first could not", async () => {
    const { revoked, differing } = await changeThere();
    const again = await as(fresh, ["restore", file, "--json"]);
    const outcomes = results(again);
    expect(outcomes).toContain("pool needy created");
    expect(outcomes.filter((one) => one.endsWith("created"))).toEqual(["pool needy created"]);
    expect(outcomes).toContain(`token ${revoked} skipped`);
    expect(outcomes).toContain(`pool ${differing} skipped`);
    expect(
      (await fresh?.call("GET", "/v1/caller", undefined, { authorization: `Bearer ${laptop}` }))?.status,
    ).toBe(401);
    expect(outcomes.filter((one) => one.startsWith("job"))).toEqual([
      "job nightly skipped",
      "job after kept",
      "job ml/nightly skipped",
    ]);
    const forced = await as(fresh, ["restore", file, "--json", "--overwrite"]);
    expect(results(forced)).toContain(`pool ${differing} changed`);
    expect(results(forced)).toContain("job nightly changed");
    expect(await fresh?.json(200, "GET", "/v1/jobs/nightly")).toMatchObject({ version: 1, paused: null });
    expect((await fresh?.json(200, "GET", "/v1/pools/own"))?.config.tags).toEqual(POOL.tags);
  });

  /** What happens at the other Drover between two restores. */
  async function changeThere() {
    await fresh?.json(200, "PUT", "/v1/secrets/cloud", { value: "another", use: "provider" });
    await fresh?.json(200, "PUT", "/v1/pools/own", { ...POOL, tags: { team: "another" } });
    await fresh?.json(200, "POST", "/v1/jobs/nightly/pause");
    const { id } = (await list(fresh, "/v1/tokens")).find(({ name }) => name === "laptop");
    await fresh?.json(200, "DELETE", `/v1/tokens/${id}`);
    return { revoked: "laptop", differing: "own" };
  }

  test("a pool of a project gets the secret of that project, and never one of `default`", async () => {
    expect((await list(fresh, "/v1/pools")).map(({ name }) => name)).not.toContain("theirs");
    await fresh?.json(200, "PUT", "/v1/secrets/cloud", { value: "a third", use: "provider" }, IN_ML);
    const outcomes = results(await as(fresh, ["restore", file, "--json"]));
    expect(outcomes).toEqual(expect.arrayContaining(["pool theirs created", "job ml/nightly created"]));
    const { poolSecrets } = (await fresh?.json(200, "GET", "/v1/backup")) ?? {};
    expect(poolSecrets.toSorted((a: Json, b: Json) => (a.pool < b.pool ? -1 : 1))).toEqual([
      { pool: "needy", secret: "cloud", project: "default" },
      { pool: "theirs", secret: "cloud", project: "ml" },
    ]);
  });

  test("an item that this version cannot read is refused by itself", async () => {
    const { tokens } = (await old?.json(200, "GET", "/v1/backup")) ?? {};
    const [first] = tokens;
    const items = [
      { ...first, id: "zzzzzzzzzz", name: "later", also: 1 },
      { name: "x", project: "default" },
      first,
    ];
    const asked = { madeAt: new Date().toISOString(), tokens: items, dryRun: true };
    const answer = await fresh?.json(200, "POST", "/v1/restore", asked);
    const [later, bare, whole] = answer?.items ?? [];
    expect([later, bare].map(({ result }) => result)).toEqual(["refused", "refused"]);
    expect(later.reason).toMatch(/this version cannot read it: .*also/);
    expect(whole.reason ?? "").not.toContain("cannot read");
  });

  test("a rule with no claims, or with tokens that live for years, does not come in by a file", async () => {
    const { trustRules } = (await old?.json(200, "GET", "/v1/backup")) ?? {};
    const wide = [{ claims: {} }, { lifetime: "8760h" }].map((more) => ({
      ...trustRules[0],
      name: "wide",
      ...more,
    }));
    const asked = { madeAt: new Date().toISOString(), trustRules: wide };
    const answer = await fresh?.json(200, "POST", "/v1/restore", asked);
    expect((answer?.items ?? []).map(({ result }: Json) => result)).toEqual(["refused", "refused"]);
  });

  test("a token of another kind can make none, and restore none", async () => {
    const made = await old?.json(201, "POST", "/v1/tokens", { name: "op", preset: "operator" });
    for (const args of [
      ["backup", join(home, "no.gz")],
      ["restore", file],
    ]) {
      const refused = await as(old, args, made?.token);
      expect(said(refused)).toMatch(/^125\n/);
      expect(refused.stderr).toContain("the scope admin");
    }
  });
});

describe("a file that is no backup changes nothing (backup.md#archive)", () => {
  const whole = () => gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  const zipped = (lines: string[]) => gzipSync(`${lines.join("\n")}\n`);
  const CASES: [name: string, content: () => Buffer, why: string][] = [
    ["cut off in the middle", () => readFileSync(file).subarray(0, 600), "it was cut off"],
    ["without its last line", () => zipped(whole().slice(0, -1)), "its end is missing"],
    [
      "with a changed token",
      () => zipped(whole().map((line) => line.replace('"runs:read"', '"runs:write"'))),
      "its lines are not those that were written",
    ],
    ["with something behind its end", () => zipped([...whole(), "{}"]), "something follows its last line"],
    [
      "of a newer format",
      () => zipped(whole().map((line) => line.replace('"format":2', '"format":3'))),
      "a newer version of Drover wrote it",
    ],
    ["that is empty", () => Buffer.alloc(0), "its end is missing"],
    ["of another program", () => zipped(['{"hello":1}']), "it is no backup of Drover"],
    ["without lines", () => gzipSync(Buffer.alloc(20 * 2 ** 20, "x")), "a line has no end"],
    ["that is not compressed", () => Buffer.from("name,price\n"), "it is no backup of Drover, or is damaged"],
  ];
  test.each(CASES)("%s", async (_name, content, why) => {
    const bad = join(home, "bad.gz");
    writeFileSync(bad, content());
    const before = await namesAt(fresh);
    const refused = await as(fresh, ["restore", bad]);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toContain(why);
    expect(refused.stderr).toContain("Nothing has been changed.");
    expect(await namesAt(fresh)).toEqual(before);
  });

  test("that is not there, or a place that cannot be written to", async () => {
    expect((await as(fresh, ["restore", join(home, "none.gz")])).stderr).toContain("Cannot read");
    const refused = await as(fresh, ["backup", join(home, "no-such-folder", "x.gz")]);
    expect(said(refused)).toMatch(/^125\n.*Cannot write .*no-such-folder/s);
  });
});
