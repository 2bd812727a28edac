import { beforeEach, describe, expect, test, vi } from "vitest";
import { workerFor } from "../../src/routes/walls/pool-wall.ts";
import { PoolConfig } from "../../src/schema/pool.ts";
import { PRESETS, type Scope } from "../../src/shared/access/scopes.ts";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { addEvents } from "./support/fake-objects.ts";
import { expectNobody, FOREIGN_CALLS, type Kind, LISTS } from "./support/foreign-calls.ts";
import { listedWorkerOf, POOL_CONFIG, workerOf } from "./support/samples.ts";

// Two projects beside `default`: what one of them has does not exist for the others.

const SCOPES: Scope[] = [
  ...new Set<Scope>([
    ...PRESETS.operator,
    "runs:env",
    "runs:exec",
    "pools:write",
    "tokens:write",
    "secrets:write",
    "webhooks:write",
    "secrets:use",
  ]),
];
const ML = { "drover-project": "ml" };

let edge: Edge;
let ml: ReturnType<typeof as>;
let web: ReturnType<typeof as>;
let house: ReturnType<typeof as>;
beforeEach(() => {
  edge = createEdge("default", "ml-only", "web-only", "both");
  for (const project of ["ml", "web"]) edge.projects.create(project, "admin");
  const serving = (...names: string[]) =>
    PoolConfig.parse({ ...POOL_CONFIG, projects: Object.fromEntries(names.map((name) => [name, {}])) });
  edge.pools.set("ml-only", serving("ml"));
  edge.pools.set("web-only", serving("web"));
  edge.pools.set("both", serving("ml", "web"));
  const tokenOf = (project: string) => as(edge, makeToken(edge, SCOPES, {}, { project, name: "ci" }));
  ml = tokenOf("ml");
  web = tokenOf("web");
  house = as(edge, makeToken(edge, SCOPES));
  edge.addRun("ml.build", { project: "ml", pool: "both" });
  edge.addRun("web.build", { project: "web", pool: "both" });
  edge.addRun("build", { pool: "default" });
  for (const run of edge.runs.values()) addEvents(run, 3);
});

const answerOf = async (answer: Response) => {
  const { instance: _, ...problem }: Json = await answer.json();
  return { status: answer.status, ...problem };
};
const renamed = (value: unknown, from: string, to: string) =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to));

test("the history of a shared pool has the caller's own runs only (projects.md#pools)", async () => {
  const runsFor = async (caller: ReturnType<typeof as>) =>
    (await caller.json(200, "GET", "/v1/pools/both/history")).items.map(({ run }: Json) => run);
  expect([await runsFor(ml), await runsFor(web)]).toEqual([["ml.build"], ["web.build"]]);
});

describe("the past of a pool (projects.md#pools, api.md#past-of-a-pool)", () => {
  const itemsOf = async (caller: ReturnType<typeof as>, pool: string, what: string): Promise<Json[]> =>
    (await caller.json(200, "GET", `/v1/pools/${pool}/${what}`)).items;

  test("of a shared one has machines of the caller's own project only", async () => {
    const goneFor = async (caller: ReturnType<typeof as>) =>
      (await itemsOf(caller, "both", "gone-workers")).map(({ project }) => project);
    expect([await goneFor(ml), await goneFor(web)]).toEqual([["ml"], ["web"]]);
  });

  test("of a shared one says nothing of money, and of one's own it does", async () => {
    for (const [what, money] of [
      ["samples", "perHour"],
      ["tallies", "spent"],
    ] as const) {
      expect((await itemsOf(ml, "both", what))[0]).not.toHaveProperty(money);
      expect((await itemsOf(ml, "ml-only", what))[0]).toHaveProperty(money);
    }
  });
});

test("a run follows runs of its project, whose ids need not say that (api.md#after)", async () => {
  const run = await ml.json(201, "POST", "/v1/runs", { argv: ["true"], pool: "both", after: ["build"] });
  expect(run.spec.after).toEqual(["ml.build"]);
  const other = { argv: ["true"], pool: "both", after: ["web.build"] };
  expect(await ml.json(404, "POST", "/v1/runs", other)).toMatchObject({ code: "unknown_run" });
});

describe("a thing of another project (projects.md#callers)", () => {
  const NAMES: Record<Exclude<Kind, "token" | "session">, (project: string) => string> = {
    run: (project) => `${project}.build`,
    pool: (project) => `${project}-only`,
    worker: (project) => `${project}-machine`,
    webhook: (project) => `${project}-hook`,
    secret: (project) => `${project}-key`,
    trust: (project) => `${project}-rule`,
    job: (project) => `${project}-job`,
  };
  const RULE = {
    issuer: "https://ci.example.com",
    audience: "https://drover.test",
    claims: { sub: "job" },
    preset: "viewer",
  };

  /** What `project` has, by kind. */
  const thingsOf = async (who: ReturnType<typeof as>, project: string) => {
    const named = { run: "", pool: "", worker: "", webhook: "", secret: "", trust: "", job: "" };
    for (const kind of Object.keys(named) as (keyof typeof named)[]) named[kind] = NAMES[kind](project);
    edge.workers.set(named.worker, { ...workerOf(named.worker, "both"), runs: [], lastRun: null });
    edge.owners.set(named.worker, project);
    await who.json(201, "POST", "/v1/webhooks", { name: named.webhook, url: "https://ci.example.com/h" });
    await who.json(200, "PUT", `/v1/secrets/${named.secret}`, { value: "correct-horse" });
    await who.json(201, "PUT", `/v1/trust-rules/${named.trust}`, RULE);
    await who.json(201, "PUT", `/v1/jobs/${named.job}`, { spec: { argv: ["true"], pool: "both" } });
    const { token } = await who.json(201, "POST", "/v1/tokens", {
      name: `${project}-browser`,
      preset: "viewer",
    });
    const started = { "content-type": "application/json" };
    await edge.send("POST", "/ui/session", started, JSON.stringify({ token }));
    const [session] = (await who.json(200, "GET", "/v1/sessions")).items;
    return { ...named, token: token.slice(4, 14), session: session.id };
  };

  test.each(FOREIGN_CALLS)("$operation of a $kind answers as for none: $request", async (call) => {
    const [theirs, own] = [await thingsOf(web, "web"), await thingsOf(ml, "ml")];
    const { kind, expected, operation } = call;
    // Whose a run is stands in its id, so one that nobody has is of another project, too.
    const more = kind === "run" ? { expected, nobody: "web.nobody" } : { expected };
    await expectNobody(edge, ml, call, { theirs: theirs[kind], ...more });
    if (kind === "run") {
      await expectNobody(edge, house, call, { theirs: own.run, ...more });
      await expectNobody(edge, web, call, { theirs: own.run, expected, nobody: "ml.nobody" });
    }
    if (typeof expected === "number") return;
    // In its own project the thing is there, a run by its id and by its name alone.
    for (const id of kind === "run" ? [own.run, "build"] : [own[kind]]) {
      if (operation === "deleteRun") edge.addRun(own.run, { project: "ml", pool: "both", state: "complete" });
      const answer = await ml.send(call.method, call.path(id), call.body?.(id));
      const { code }: Json = answer.status < 400 ? {} : await answer.json();
      expect(code).not.toBe(expected);
    }
  });

  test.each(LISTS)("%s names none of it: %s", async (_operation, path) => {
    await thingsOf(web, "web");
    await thingsOf(ml, "ml");
    const answer = await ml.send("GET", path);
    expect([path, answer.status]).toEqual([path, 200]);
    const text = await answer.text();
    expect(text).not.toMatch(/\bweb[.:"-]|"build"/);
    // The log is empty here; `test/objects/walls.test.ts` reads a full one.
    if (!path.startsWith("/v1/audit")) expect(text).toMatch(/\bml[.:"-]/);
  });
});

describe("a run of another project (projects.md#runs)", () => {
  test("is in no list, wait or abort of its pool", async () => {
    const ids = async (who: ReturnType<typeof as>, path: string) =>
      (await who.json(200, "GET", path)).items.map(({ id }: Json) => id);
    expect(await ids(ml, "/v1/runs")).toEqual(["ml.build"]);
    expect(await ids(ml, "/v1/runs?pool=both&state=all&limit=1000")).toEqual(["ml.build"]);
    expect(await ids(house, "/v1/runs")).toEqual(["build"]);
    const waited = await ml.json(200, "GET", "/v1/runs?pool=both&all=1&state=done&wait=0");
    expect(waited.all).toMatchObject({ open: 1 });
    const aborted = await ml.json(200, "POST", "/v1/runs/abort", { all: true });
    expect(aborted.items.map(({ id }: Json) => id)).toEqual(["ml.build"]);
    expect(edge.runs.get("web.build")?.status.abort).toBeNull();
  });

  test("that has ended is deleted by its name alone, also when its pool is gone", async () => {
    edge.addRun("ml.old", { project: "ml", pool: "both", state: "complete" });
    expect((await ml.send("DELETE", "/v1/runs/old")).status).toBe(204);
    edge.addRun("ml.older", { project: "ml", pool: "gone", state: "complete" });
    expect((await ml.send("DELETE", "/v1/runs/ml.older")).status).toBe(204);
    edge.addRun("older", { pool: "gone", state: "complete" });
    expect((await house.send("DELETE", "/v1/runs/older")).status).toBe(204);
  });

  test("has an id that no other project can take or probe", async () => {
    const taken = await ml.json(201, "POST", "/v1/runs", { id: "same", argv: ["true"], pool: "both" });
    expect(taken).toMatchObject({ id: "ml.same", project: "ml" });
    const other = await web.json(201, "POST", "/v1/runs", { id: "same", argv: ["false"], pool: "both" });
    expect(other).toMatchObject({ id: "web.same", project: "web" });
    const again = await ml.json(200, "POST", "/v1/runs", { id: "same", argv: ["true"], pool: "both" });
    expect(again.id).toBe("ml.same");
    for (const who of [web, house]) {
      const refused = await who.json(400, "POST", "/v1/runs", { id: "ml.same", argv: ["true"] });
      expect(refused.errors[0].pointer).toBe("/id");
    }
    const plain = await house.json(201, "POST", "/v1/runs", { id: "default.plain", argv: ["true"] });
    expect(plain.id).toBe("plain");
    const long = await ml.json(400, "POST", "/v1/runs", { id: "a".repeat(61), argv: ["true"] });
    expect(long.errors[0].detail).toContain("63 characters together with its project");
  });

  test("is not found by the key of another project's run", async () => {
    const keyed = (project: string) =>
      edge.send(
        "POST",
        "/v1/runs",
        {
          authorization: `Bearer ${makeToken(edge, ["runs:write"], {}, { project })}`,
          "content-type": "application/json",
          "idempotency-key": "k1",
        },
        JSON.stringify({ argv: ["true"], pool: "both" }),
      );
    const first: Json = await (await keyed("ml")).json();
    const second: Json = await (await keyed("web")).json();
    expect([first.project, second.project]).toEqual(["ml", "web"]);
    expect(second.id).not.toBe(first.id);
  });
});

describe("what a project calls by name (projects.md#what-exists)", () => {
  test("secrets, trust rules, webhooks and tokens are each project's own", async () => {
    const names = async (who: ReturnType<typeof as>, path: string) =>
      (await who.json(200, "GET", path)).items.map(({ project, name }: Json) => `${project}/${name}`);
    const rule = {
      issuer: "https://ci.example.com",
      audience: "https://drover.test",
      claims: { sub: "job" },
      preset: "viewer",
    };
    for (const who of [ml, web]) {
      await who.json(200, "PUT", "/v1/secrets/key", { value: "correct-horse" });
      await who.json(201, "PUT", "/v1/trust-rules/ci", rule);
      await who.json(201, "POST", "/v1/webhooks", { name: "hook", url: "https://ci.example.com/hook" });
      await who.json(201, "POST", "/v1/tokens", { name: "reader", preset: "viewer" });
    }
    for (const [who, project] of [
      [ml, "ml"],
      [web, "web"],
    ] as const) {
      expect(await names(who, "/v1/secrets")).toEqual([`${project}/key`]);
      expect(await names(who, "/v1/trust-rules")).toEqual([`${project}/ci`]);
      expect(await names(who, "/v1/webhooks")).toEqual([`${project}/hook`]);
      expect((await names(who, "/v1/tokens")).sort()).toEqual([`${project}/ci`, `${project}/reader`]);
    }
    expect(await names(house, "/v1/secrets")).toEqual([]);
    expect((await edge.json(200, "GET", "/v1/secrets")).items).toHaveLength(2);
    expect((await ml.send("DELETE", "/v1/secrets/key")).status).toBe(204);
    expect(await names(web, "/v1/secrets")).toEqual(["web/key"]);
    await ml.json(404, "DELETE", "/v1/secrets/key");
  });

  test("runs of a project name its secrets, and no others", async () => {
    await web.json(200, "PUT", "/v1/secrets/key", { value: "correct-horse" });
    const run = { argv: ["true"], pool: "both", secrets: { K: { secret: "key" } } };
    expect(await ml.json(404, "POST", "/v1/runs", run)).toMatchObject({ code: "unknown_secret" });
    await web.json(201, "POST", "/v1/runs", run);
  });
});

describe("a budget (projects.md#budgets-of-tokens)", () => {
  test("is that of the token's maker, and no token of another budget can be taken over", async () => {
    const limits = { maxCostPerHour: 2 };
    const scopes = ["tokens:write", "runs:write"];
    const boss = await edge.json(201, "POST", "/v1/tokens", { name: "boss", scopes, limits });
    const other = await edge.json(201, "POST", "/v1/tokens", { name: "other", scopes, limits });
    expect([boss.payer, other.payer]).toEqual([boss.id, other.id]);
    const mine = as(edge, boss.token);
    const child = await mine.json(201, "POST", "/v1/tokens", { name: "child", scopes, limits });
    expect(child.payer).toBe(boss.id);
    await mine.json(200, "POST", `/v1/tokens/${child.id}/rotate`, {});
    const refused = await mine.json(403, "POST", `/v1/tokens/${other.id}/rotate`, {});
    expect(refused.code).toBe("beyond_limits");
    await mine.json(400, "POST", "/v1/tokens", { name: "free", scopes });
  });
});

describe("a caller and its project (projects.md#callers)", () => {
  test("is named after it, and can name no other", async () => {
    expect(await ml.json(200, "GET", "/v1/caller")).toMatchObject({ by: "token:ml:ci", project: "ml" });
    const secret = makeToken(edge, SCOPES, {}, { project: "ml" });
    const naming = (project: string) => as(edge, secret, { "drover-project": project });
    await naming("ml").json(200, "GET", "/v1/runs");
    const theirs = await answerOf(await naming("web").send("GET", "/v1/runs"));
    expect(theirs).toMatchObject({ status: 404, code: "unknown_project" });
    expect(renamed(theirs, "web", "x")).toEqual(
      renamed(await answerOf(await naming("nobody").send("GET", "/v1/runs")), "nobody", "x"),
    );
  });

  test("with full access acts in the project that it chooses, and sees nothing else there", async () => {
    expect(await edge.json(200, "GET", "/v1/caller")).toMatchObject({ by: "admin", project: null });
    const all = (await edge.json(200, "GET", "/v1/runs")).items;
    expect(all.map(({ id }: Json) => id).sort()).toEqual(["build", "ml.build", "web.build"]);
    const own = (await edge.json(200, "GET", "/v1/runs", undefined, ML)).items;
    expect(own.map(({ id }: Json) => id)).toEqual(["ml.build"]);
    const made = await edge.json(201, "POST", "/v1/tokens", { name: "new", preset: "viewer" }, ML);
    expect(made.project).toBe("ml");
    expect(await as(edge, made.token).json(200, "GET", "/v1/caller")).toMatchObject({ by: "token:ml:new" });
    await edge.json(404, "GET", "/v1/runs", undefined, { "drover-project": "nobody" });
  });

  test("outside of default has no token that makes projects", async () => {
    const refused = await edge.json(400, "POST", "/v1/tokens", { name: "x", scopes: ["projects:write"] }, ML);
    expect(refused.errors[0].detail).toContain("projects:write");
    const made = await edge.json(201, "POST", "/v1/tokens", { name: "x", scopes: ["projects:write"] });
    const maker = as(edge, made.token);
    await maker.json(201, "POST", "/v1/projects", { name: "third" });
    const { items } = await maker.json(200, "GET", "/v1/projects");
    expect(items.map(({ name }: Json) => name)).toEqual(["default", "ml", "third", "web"]);
    expect((await maker.send("DELETE", "/v1/projects/third")).status).toBe(204);
    expect(await maker.json(409, "DELETE", "/v1/projects/ml")).toMatchObject({ code: "project_in_use" });
  });
});

describe("a pool (projects.md#pools)", () => {
  test("exists for the callers of the projects that it serves", async () => {
    const names = async (who: ReturnType<typeof as>) =>
      (await who.json(200, "GET", "/v1/pools")).items.map(({ name }: Json) => name);
    expect(await names(ml)).toEqual(["both", "ml-only"]);
    expect(await names(house)).toEqual(["default"]);
    for (const path of ["/v1/pools/web-only", "/v1/pools/web-only/queue", "/v1/events?pool=web-only"])
      expect(await ml.json(404, "GET", path)).toMatchObject({ code: "unknown_pool" });
    await ml.json(404, "GET", "/v1/runs?pool=web-only");
    await ml.json(404, "DELETE", "/v1/pools/web-only");
    await ml.json(404, "POST", "/v1/enrollments", { pool: "web-only" });
    const metrics = await (await ml.send("GET", "/metrics")).text();
    expect(metrics).toContain('pool="ml-only"');
    expect(metrics).not.toContain('pool="web-only"');
  });

  test("of several projects is changed by its operator alone", async () => {
    await ml.json(200, "GET", "/v1/pools/both");
    expect(await ml.json(403, "POST", "/v1/enrollments", { pool: "both" })).toMatchObject({
      code: "beyond_limits",
    });
    await ml.json(201, "POST", "/v1/enrollments", { pool: "ml-only" });
    await edge.json(201, "POST", "/v1/enrollments", { pool: "both" });
  });

  test("shows no machine and no run that another project has left in it", async () => {
    const left = { runs: ["ml.secret"], lastRun: { run: "ml.older", endedAt: new Date(0).toISOString() } };
    const worker = { ...listedWorkerOf("w", "web-only"), ...left };
    expect(workerFor("web", { ...worker, project: "ml" })).toBeUndefined();
    expect(workerFor("web", { ...worker, project: "*" })).toBeUndefined();
    expect(workerFor("web", { ...worker, project: null })).toMatchObject({ runs: [], lastRun: null });
    expect(workerFor(null, { ...worker, project: "ml" })).toMatchObject(left);
    const until = new Date(0).toISOString();
    const kept = [
      { run: "ml.secret", until },
      { run: "web.own", until },
    ];
    expect(workerFor("web", { ...worker, project: null, kept })?.kept).toEqual([{ run: "web.own", until }]);
    const others = { ...worker, project: null, kept: kept.slice(0, 1) };
    expect(workerFor("web", others)).toEqual(workerFor("web", { ...worker, project: null }));
  });

  test("shows what is used of a machine that is the project's own, and of no other one", () => {
    const used = { vcpus: 3, memoryBytes: 0, diskBytes: 0, gpus: 0 };
    const worker = { ...listedWorkerOf("w", "both"), runs: ["web.own"], used };
    const usedFor = (who: string | null, more: object) => workerFor(who, { ...worker, ...more })?.used;
    expect(usedFor("web", { project: "web" })).toEqual(used);
    expect(usedFor(null, { project: null, runs: ["ml.secret"] })).toEqual(used);
    // Nobody can tell from it whether others have runs there.
    expect(usedFor("web", { project: null })).toBeUndefined();
    expect(usedFor("web", { project: null, runs: ["web.own", "ml.secret"] })).toBeUndefined();
    expect(usedFor("web", { project: "web", runs: ["web.own", "ml.left"] })).toBeUndefined();
  });

  test("that is unknown costs no look-up for each question", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const asked = () => edge.calls.filter((call) => call === "registry pools").length;
    for (let tries = 0; tries < 5; tries += 1) await ml.json(404, "GET", "/v1/pools/nope");
    expect(asked()).toBe(1);
    vi.setSystemTime(Date.now() + 1_000);
    await ml.json(404, "GET", "/v1/pools/nope");
    expect(asked()).toBe(2);
    vi.useRealTimers();
  });

  test("that a project makes serves it", async () => {
    await ml.json(201, "PUT", "/v1/pools/new", POOL_CONFIG);
    expect(edge.pools.get("new")?.projects).toEqual({ ml: {} });
    expect((await ml.json(200, "GET", "/v1/pools/new")).name).toBe("new");
    await web.json(404, "GET", "/v1/pools/new");
  });
});

test("a session acts in the project of its token (projects.md#callers)", async () => {
  const { code } = await ml.json(201, "POST", "/v1/sessions");
  expect(code).toMatch(/^drv/);
  const started = await edge.send(
    "POST",
    "/ui/session",
    { "content-type": "application/json" },
    JSON.stringify({ code }),
  );
  const [cookie = ""] = started.headers.getSetCookie();
  const headers = { cookie: cookie.split(";")[0] ?? "", "sec-fetch-site": "same-origin" };
  const runs: Json = await (await edge.send("GET", "/v1/runs", headers)).json();
  expect(runs.items.map(({ id }: Json) => id)).toEqual(["ml.build"]);
  expect((await web.json(200, "GET", "/v1/sessions")).items).toEqual([]);
  expect((await ml.json(200, "GET", "/v1/sessions")).items).toHaveLength(1);
});
