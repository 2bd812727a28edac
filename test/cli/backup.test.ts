import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Seal } from "../../cli/backup/format.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json } from "./support/control-plane.ts";

// Backups and restores at a control plane that answers in part only, or not to everything.

let bench: Bench;
let puts: string[];
beforeEach(async () => {
  bench = await openBench();
  puts = [];
  const { plane } = bench;
  const deployment = {
    version: "0.1.0",
    url: null,
    bucket: true,
    bucketName: null,
    domains: [],
    wrappingKeys: [],
  };
  plane.on("GET", /^\/v1\/deployment$/, (_seen, res) => json(res, 200, deployment));
  plane.on("GET", /^\/v1\/backup$/, (_seen, res) =>
    json(res, 200, { tokens: [], trustRules: [], poolSecrets: [] }),
  );
  for (const path of ["projects", "secrets", "webhooks"]) {
    plane.on("GET", new RegExp(`^/v1/${path}$`), (_seen, res) => json(res, 200, { items: [], next: null }));
  }
  plane.on("GET", /^\/v1\/pools$/, (_seen, res) => json(res, 200, partial));
  plane.on("PUT", /^\/v1\/pools\/.*$/, ({ path }, res) => {
    puts.push(path);
    json(res, 201, {});
  });
});
afterEach(() => bench.close());

const broken = { pool: "gpus", initialized: true, healthy: false, error: "storage is full" };
const partial = { items: [], next: null, service: [broken] };
const problem = (status: number, code: string) => ({
  status,
  code,
  detail: `it is ${code}`,
  temporary: false,
});

/** A backup with these lines. */
function backupOf(lines: object[]): string {
  const seal = new Seal();
  const head = { drover: "backup", format: 1, version: "0.1.0", url: "https://x.example" };
  const texts = [{ ...head, madeAt: "2026-11-24T12:00:00.000Z" }, ...lines].map((line) =>
    JSON.stringify(line),
  );
  for (const text of texts) seal.add(text);
  const file = join(bench.dir, "made.gz");
  writeFileSync(file, gzipSync(`${[...texts, seal.line()].join("\n")}\n`));
  return file;
}

const POOL = { kind: "pool", name: "gpus", config: { provider: { kind: "none" }, maxInstances: 0 } };

describe("a pool that does not answer (backup.md#archive)", () => {
  test("stops a backup, which would lack it, and no file is left", async () => {
    const before = readdirSync(bench.dir);
    const { code, stderr } = await bench.run(["backup", join(bench.dir, "new.gz"), "--no-history"]);
    expect([code, stderr]).toEqual([
      125,
      expect.stringContaining("the pool gpus does not answer: storage is full"),
    ]);
    expect(readdirSync(bench.dir)).toEqual(before);
  });

  test.each<[what: string, status: number, code: string, created: boolean]>([
    ["is there and does not answer: it stays as it is", 503, "unavailable", false],
    ["is not there: it is created", 404, "unknown_pool", true],
  ])("a pool that no list shows and %s (backup.md#restore)", async (_what, status, code, created) => {
    bench.plane.on("GET", /^\/v1\/pools\/gpus$/, (_seen, res) => json(res, status, problem(status, code)));
    const ended = await bench.run(["restore", backupOf([POOL])]);
    expect(puts).toEqual(created ? ["/v1/pools/gpus"] : []);
    expect(ended.stdout.toString()).toMatch(created ? /gpus +created/ : /gpus +skipped +it may be there/);
    expect(ended.code).toBe(created ? 0 : 1);
  });
});

describe("the secret of an endpoint that is created (backup.md#restore)", () => {
  const HOOK = { kind: "webhook", project: "default", url: "https://ci.example.com", types: [], labels: {} };
  const SECRET = "whsec_shown-once";
  const restore = (...more: string[]) => {
    const hooks = ["one", "two"].map((name) => ({ ...HOOK, name }));
    bench.plane.on("POST", /^\/v1\/webhooks$/, ({ body }, res) => {
      const { name } = Object(body);
      if (name === "two") return json(res, 500, problem(500, "internal"));
      json(res, 201, { name, secret: SECRET });
    });
    return bench.run(["restore", backupOf(hooks), ...more]);
  };

  test("is said at once, so that a later failure does not lose it", async () => {
    const { code, stderr } = await restore();
    expect(code).toBe(125);
    expect(stderr).toContain(
      `the webhook one signs with another secret now; give it to the receiver: ${SECRET}`,
    );
  });

  test("is said once, also with --json", async () => {
    bench.plane.on("POST", /^\/v1\/webhooks$/, (_seen, res) => json(res, 201, { secret: SECRET }));
    const file = backupOf([{ ...HOOK, name: "one" }]);
    const { stdout, stderr } = await bench.run(["restore", file, "--json"]);
    expect(`${stdout}${stderr}`.split(SECRET)).toHaveLength(2);
    expect(JSON.parse(stdout.toString())).toEqual([{ kind: "webhook", name: "one", result: "created" }]);
  });
});

test("--dry-run shows what a token may, and whom a rule trusts (backup.md#archive)", async () => {
  const item = { project: "default", scopes: ["runs:write"], limits: { pools: ["gpus"] } };
  const rule = {
    ...item,
    kind: "trust_rule",
    name: "github",
    issuer: "https://ci.example",
    claims: { sub: "x" },
  };
  bench.plane.on("POST", /^\/v1\/restore$/, ({ body }, res) => {
    const { tokens, trustRules } = Object(body);
    const made = { project: "default", result: "created", reason: null };
    const items = [...tokens, ...trustRules].map(({ name }) => ({ ...made, kind: "token", name }));
    json(res, 200, { items, next: null });
  });
  const file = backupOf([{ ...item, kind: "token", name: "ci" }, rule]);
  const { stdout } = await bench.run(["restore", file, "--dry-run"]);
  expect(stdout.toString()).toContain('runs:write, limits {"pools":["gpus"]}');
  expect(stdout.toString()).toContain('https://ci.example, claims {"sub":"x"}: runs:write');
});

test("a backup does not replace a file, unless --force says so (backup.md#archive)", async () => {
  bench.plane.on("GET", /^\/v1\/pools$/, (_seen, res) =>
    json(res, 200, { items: [], next: null, service: [] }),
  );
  const file = join(bench.dir, "kept.gz");
  writeFileSync(file, "an earlier one");
  const refused = await bench.run(["backup", file, "--no-history"]);
  expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining("is there already")]);
  expect(readFileSync(file, "utf8")).toBe("an earlier one");
  expect((await bench.run(["backup", file, "--no-history", "--force"])).code).toBe(0);
  expect(readFileSync(file, "utf8")).not.toBe("an earlier one");
});
