import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const RULE = /^\/v1\/trust-rules\/ci$/;
const rule = {
  name: "ci",
  issuer: "https://token.actions.githubusercontent.com",
  audience: "https://drover.example.com",
  claims: { repository_id: "1", ref: "refs/heads/*" },
  scopes: ["runs:read"],
  limits: {},
  labels: { "gh.sha": "sha" },
  lifetime: "15m",
  createdAt: "2026-11-21T08:30:00.000Z",
  createdBy: "admin",
  expiresAt: null,
};
/** The rule that was sent. */
const sent = () => bench.plane.seen.filter(({ method }) => method === "PUT").map(({ body }) => body);

test("a rule is sent as its flags say, and an issuer may have its short name", async () => {
  bench.plane.on("PUT", RULE, (_seen, res) => json(res, 201, rule));
  const flags = ["--issuer", "github", "--claim", "repository_id=1", "--claim", "ref=refs/heads/*"];
  const ended = await bench.run([
    "trust",
    "set",
    "ci",
    ...flags,
    "--preset",
    "submitter",
    "--lifetime",
    "1h",
  ]);
  expect({ code: ended.code, stdout: ended.stdout.toString() }).toEqual({ code: 0, stdout: "" });
  expect(ended.stderr).toContain("are trusted by the rule ci");
  expect(sent()).toMatchObject([
    { issuer: rule.issuer, claims: rule.claims, preset: "submitter", lifetime: "1h", limits: {} },
  ]);
  expect(JSON.stringify(sent())).not.toContain('"labels"');
});

test("--no-labels asks for none, and --label for those", async () => {
  bench.plane.on("PUT", RULE, (_seen, res) => json(res, 200, rule));
  const flags = ["--issuer", "https://ci.example.com", "--claim", "sub=x", "--scope", "runs:read"];
  await bench.run(["trust", "set", "ci", ...flags, "--no-labels"]);
  await bench.run(["trust", "set", "ci", ...flags, "--label", "commit=sha", "--label", "job=job_id"]);
  expect(sent()).toMatchObject([
    { issuer: "https://ci.example.com", scopes: ["runs:read"], labels: {} },
    { labels: { commit: "sha", job: "job_id" } },
  ]);
});

test("rules are listed with what they ask for and what they give", async () => {
  bench.plane.on("GET", /^\/v1\/trust-rules$/, (_seen, res) => json(res, 200, { items: [rule], next: null }));
  const { stdout } = await bench.run(["trust", "list"]);
  expect(stdout.toString()).toMatch(
    /ci +https:\S+ +https:\S+ +repository_id=1 ref=refs\/heads\/\* +runs:read +gh.sha=sha/,
  );
  expect(JSON.parse((await bench.run(["trust", "list", "--json"])).stdout.toString())).toEqual([rule]);
});

test("a rule is removed by its name, and one that is not there is said", async () => {
  bench.plane.on("DELETE", RULE, (_seen, res) => json(res, 200, rule), 1);
  expect((await bench.run(["trust", "rm", "ci"])).stderr).toContain("the trust rule ci is removed");
  bench.plane.on("DELETE", RULE, (_seen, res) => problem(res, 404, "unknown_trust_rule"));
  expect((await bench.run(["trust", "rm", "ci"])).code).toBe(125);
});

test("drover run --identity asks for it", async () => {
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 400, "invalid_request"));
  await bench.run(["run", "--identity", "--", "true"]);
  const bodies = bench.plane.seen.filter(({ method }) => method === "POST").map(({ body }) => body);
  expect(bodies).toMatchObject([{ identity: true }]);
});

test("the keys of Drover itself are replaced, and the new one is named (oidc.md#replacement)", async () => {
  bench.plane.on("POST", /^\/v1\/issuer\/keys\/replace$/, (_seen, res) => json(res, 200, { kid: "k-2" }));
  expect((await bench.run(["issuer", "replace-keys"])).stderr).toContain("k-2 signs from now on");
  const { stdout } = await bench.run(["issuer", "replace-keys", "--json"]);
  expect(JSON.parse(stdout.toString())).toEqual({ kid: "k-2" });
});
