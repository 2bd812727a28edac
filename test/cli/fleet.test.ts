import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PoolView } from "../../src/schema/pool.ts";
import { poolConfig } from "../core/support/pool-config.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const VERB = /^\/v1\/workers\/([^/]+)\/(hold|drain|resume|kill)$/;
const POOL = /^\/v1\/pools\/[^/]+$/;

const pool: PoolView = {
  name: "default",
  config: { ...poolConfig(), maxInstances: 8, provider: { kind: "http", url: "http://cloud.test" } },
  queue: { depth: 2, oldestAgeMs: 61_000 },
  runs: { pending: 2, running: 3 },
  workers: { idle: 1, booting: 2, gone: 40 },
  holdOffs: [
    {
      scope: "type:small",
      cause: "capacity",
      until: "2026-11-21T08:30:00.000Z",
      trying: false,
      tries: 1,
      reason: "no capacity",
    },
  ],
  cloudError: null,
};

/** A fleet of which `old` is on its way out, `lost` is gone, and the others are as they should. */
function serveWorkers(): void {
  bench.plane.on("POST", VERB, ({ path }: Seen, res) => {
    const id = VERB.exec(path)?.[1] ?? "";
    if (id === "nobody") return problem(res, 404, "unknown_worker");
    const state = { old: "shutdown", lost: "gone" }[id] ?? "running";
    json(res, 200, { id, state, reason: "it was idle" });
  });
}

/** The posts so far. Where the route takes a body, one that says nothing is `{}`. */
const posts = () =>
  bench.plane.seen.filter(({ method }) => method === "POST").map(({ path, body }) => [path, body]);

test.each<[string, RegExp, body?: object]>([
  ["hold", /^w-1 is held: it takes no new runs, and stays\n$/],
  ["drain", /^w-1 is draining: /],
  ["resume", /^w-1 takes runs again\n$/],
  ["kill", /^w-1 is being destroyed\n$/, {}],
])(
  "%s does it to each worker that is named, once, and says so (workers.md#idle-behaviors)",
  async (verb, said, body) => {
    serveWorkers();
    const ended = await bench.run([verb, "w-1", "w-1"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout.toString()).toMatch(said);
    expect(posts()).toEqual([[`/v1/workers/w-1/${verb}`, body]]);
  },
);

test("kill keeps the reason with the worker", async () => {
  serveWorkers();
  await bench.run(["kill", "--reason", "it smokes", "w-1"]);
  expect(posts()).toEqual([["/v1/workers/w-1/kill", { reason: "it smokes" }]]);
});

const LEFT = { worker: "w-1", instance: "i-7", provider: "http://cloud.test" };
const MAY_BE_LEFT =
  "drover: Machine i-7 of worker w-1 may be left at http://cloud.test: look for it there and delete it.\n";

test.each([
  ["of a machine that may be left names it", { leftBehind: LEFT }, MAY_BE_LEFT],
  ["of a machine that cannot have been made warns of nothing", {}, ""],
  [
    "of several machines under one name names each",
    { leftBehind: { ...LEFT, others: ["i-8"] } },
    MAY_BE_LEFT + MAY_BE_LEFT.replace("i-7", "i-8"),
  ],
  [
    "of a machine without a known id names its worker",
    { leftBehind: { ...LEFT, instance: null } },
    MAY_BE_LEFT.replace("Machine i-7", "A machine"),
  ],
])("P9: kill --force %s", async (_what, more, said) => {
  const ends = { id: "w-1", state: "shutdown", own: false, reason: "killed by ann", ...more };
  bench.plane.on("POST", VERB, (_seen, res) => json(res, 200, ends));
  const ended = await bench.run(["kill", "--force", "w-1"]);
  expect([ended.code, ended.stderr]).toEqual([0, said]);
  expect(ended.stdout.toString()).toBe("w-1 is being destroyed: killed by ann\n");
  expect(posts()).toEqual([["/v1/workers/w-1/kill", { force: true }]]);
});

const KILLED = "takes no more runs; its runs and machines are being killed, and then it is deleted";
const LATER = "takes no more runs, and is deleted once its runs have ended and its machines are gone";
test.each([
  ["--force", { deleted: false, leftBehind: [LEFT] }, "force=1", `build ${KILLED}\n`, MAY_BE_LEFT],
  ["--force", { deleted: true, leftBehind: [] }, "force=1", "build is deleted\n", ""],
  ["--drain", { deleted: false }, "drain=1", `build ${LATER}\n`, ""],
])("P9: pools delete %s, answered with %j", async (flag, answer, query, printed, said) => {
  bench.plane.on("DELETE", POOL, (_seen, res) => json(res, 200, answer));
  const ended = await bench.run(["pools", "delete", flag, "build"]);
  expect([ended.code, ended.stdout.toString(), ended.stderr]).toEqual([0, printed, said]);
  const [asked] = bench.plane.seen.filter(({ method }) => method === "DELETE");
  expect(new URLSearchParams(asked?.query).toString()).toBe(query);
});

test("P9: a pool that is gone by now, or not there yet, is no trouble", async () => {
  const service = [
    { pool: "pconn", initialized: false, healthy: false, error: 'there is no pool "pconn"' },
    { pool: "ok", initialized: true, healthy: true },
  ];
  const list = { items: [], next: null, service };
  for (const verb of ["pools", "workers", "ps"]) {
    bench.plane.on("GET", /^\/v1\/(pools|workers|runs)$/, (_seen, res) => json(res, 200, list));
    expect(await bench.run([verb])).toMatchObject({ code: 0, stderr: "" });
  }
});

test.each([
  ["kill", "w-1 is gone: killed by admin"],
  ["drain", "w-1 is gone"],
])("P9: %s --force of a machine that is gone ends with no empty reason", async (verb, said) => {
  const reason = verb === "kill" ? "killed by admin" : "";
  bench.plane.on("POST", VERB, (_seen, res) =>
    json(res, 200, { id: "w-1", state: "gone", own: false, reason }),
  );
  expect((await bench.run([verb, "w-1"])).stdout.toString()).toBe(`${said}\n`);
});

test("P3: pools says what came of asking for machines, and when one is asked for again", async () => {
  const shown = {
    ...pool,
    workers: { booting: 4, idle: 1 },
    unmade: { asked: 1, refused: 1, unconfirmed: 1 },
    holdOffs: [
      { scope: "all", cause: "invalid", until: null, trying: false, tries: 1, reason: "no such image" },
    ],
  };
  bench.plane.on("GET", POOL, (_seen, res) => json(res, 200, shown));
  const said = (await bench.run(["pools", "build"])).stdout.toString();
  const counts = "1 asked for, 1 refused by the provider, 1 not confirmed by the provider";
  expect(said).toMatch(new RegExp(`^Machines +1 booting, 1 idle, ${counts}$`, "m"));
  expect(said).toMatch(/^Held off .*until the pool is applied again: no such image$/m);
});

test("P9: a pool that is in use is not deleted, and what deletes it is said", async () => {
  bench.plane.on("DELETE", POOL, (_seen, res) => problem(res, 409, "pool_in_use"));
  const ended = await bench.run(["pools", "delete", "build"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("drover pools delete --drain build");
  expect(ended.stderr).toContain("drover pools delete --force build");
});

test.each(["hold", "resume"])("%s of a machine that is ending fails, and does not save it", async (verb) => {
  serveWorkers();
  const ended = await bench.run([verb, "old"]);
  expect([ended.code, ended.stdout.toString()]).toEqual([125, ""]);
  expect(ended.stderr).toBe(
    `drover: old is being destroyed, and \`drover ${verb}\` cannot save it: it was idle\n`,
  );
});

test.each(["drain", "kill"])("%s of a machine that ends anyway has come to its end", async (verb) => {
  serveWorkers();
  const ended = await bench.run([verb, "old", "lost"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString().split("\n").sort()).toEqual([
    "",
    "lost is gone: it was idle",
    "old is being destroyed: it was idle",
  ]);
});

test("one worker that is not there stops none of the others, and the exit code says it", async () => {
  serveWorkers();
  const ended = await bench.run(["drain", "nobody", "w-1"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toBe("drover: nobody: it is unknown_worker\n");
  expect(ended.stdout.toString()).toMatch(/^w-1 is draining/);
});

test("pools lists them, and shows one whole", async () => {
  bench.plane.on("GET", /^\/v1\/pools$/, (_seen, res) =>
    json(res, 200, {
      items: [pool],
      next: null,
      service: [{ pool: "other", initialized: true, healthy: false, error: "it does not answer" }],
    }),
  );
  bench.plane.on("GET", POOL, (_seen, res) => json(res, 200, pool));
  const list = await bench.run(["pools"]);
  expect(list.stdout.toString()).toMatch(/ MAX MACHINES /);
  expect(list.stdout.toString()).toMatch(/^default +2 +3 +8 +1 idle, 2 booting$/m);
  expect(list.stderr).toContain("Pool other is in trouble: it does not answer");
  const one = (await bench.run(["pools", "default"])).stdout.toString();
  expect(one).toMatch(/^Queue +2 waiting, the oldest for 1m1s$/m);
  expect(one).toMatch(
    /^Held off +no machine is asked for \(type:small\), until 2026-11-21T08:30:00.000Z: no capacity$/m,
  );
  expect(one).toMatch(/^Configuration\n\{\n[\s\S]*^ {2}"maxInstances": 8,?$/m);
  expect(JSON.parse((await bench.run(["pools", "default", "--json"])).stdout.toString())).toEqual(pool);
});

/** What `apply` puts, and how it ends. */
async function apply(content: string, ...flags: string[]) {
  writeFileSync(join(bench.dir, "pool.json"), content);
  bench.plane.on("PUT", POOL, ({ path }: Seen, res) => json(res, 200, { ...pool, name: path.split("/")[3] }));
  const ended = await bench.run(["apply", "-f", "pool.json", ...flags]);
  const puts = bench.plane.seen.filter(({ method }) => method === "PUT");
  return { ...ended, puts: puts.map(({ path, body }) => [path, body]) };
}

test.each<[string, string, string[], string, object]>([
  ["by its flag", '{"maxInstances": 1}', ["--name", "big"], "big", { maxInstances: 1 }],
  ["in the file", '{"name": "big", "maxInstances": 1}', [], "big", { maxInstances: 1 }],
  ["in both", '{"name": "big"}', ["--name", "big"], "big", {}],
  ["by a flag that is no ordinary name", "{}", ["--name", "a/../b"], "a%2F..%2Fb", {}],
])("apply puts the pool that is named %s", async (_how, content, flags, name, body) => {
  const { code, puts, stdout } = await apply(content, ...flags);
  expect([code, puts]).toEqual([0, [[`/v1/pools/${name}`, body]]]);
  expect(stdout.toString()).toBe(`Pool ${name} is as the file says\n`);
});

// Complaint 68: an e-mail with a password for each server.
test.each([
  ["no key", { kind: "hetzner", sshKeys: [] }, /Without an SSH key, Hetzner sends an e-mail with a password/],
  ["a key", { kind: "hetzner", sshKeys: ["ops"] }, /^$/],
  ["another cloud", { kind: "fly", app: "ci" }, /^$/],
])("68: apply says what follows from a pool on Hetzner with %s", async (_what, provider, said) => {
  writeFileSync(join(bench.dir, "pool.json"), JSON.stringify({ name: "ci", provider }));
  bench.plane.on("PUT", POOL, (_seen: Seen, res) =>
    json(res, 200, { ...pool, config: { ...pool.config, provider } }),
  );
  const { code, stderr } = await bench.run(["apply", "-f", "pool.json"]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(said)]);
});

test.each<[string, string, string[], RegExp]>([
  ["invalid JSON", '{"maxInstances": 1,}', [], /^drover: pool\.json is not valid JSON: .*line 1, column 20/],
  ["what is no object", "[]", [], /^drover: pool\.json must hold one JSON object/],
  ["a pool without a name", "{}", [], /^drover: Which pool\?\n {2}Name it with --name, or as `name`/],
  ["a name that is no text", '{"name": 7}', [], /^drover: Which pool\?/],
  ["two names", '{"name": "a"}', ["--name", "b"], /^drover: pool\.json is for pool a, but --name says b\./],
])("apply refuses %s, and puts nothing", async (_what, content, flags, said) => {
  const { code, puts, stderr } = await apply(content, ...flags);
  expect([code, puts]).toEqual([125, []]);
  expect(stderr).toMatch(said);
});

test("apply says which file it cannot read, and reads standard input for a dash", async () => {
  const missing = await bench.run(["apply", "-f", "nothing.json"]);
  expect([missing.code, missing.stderr]).toEqual([
    125,
    expect.stringMatching(/^drover: Cannot read nothing\.json: /),
  ]);
  bench.plane.on("PUT", POOL, (_seen, res) => json(res, 200, pool));
  const piped = bench.start(["apply", "-f", "-"], { stdio: ["pipe", "pipe", "pipe"] });
  if (piped.child.stdin === null) throw new Error("it has no standard input");
  Readable.from(['{"name": "default"', ', "maxQueue": 5}']).pipe(piped.child.stdin);
  expect((await piped.ended).code).toBe(0);
  expect(bench.plane.seen.at(-1)).toMatchObject({ path: "/v1/pools/default", body: { maxQueue: 5 } });
});

test("what is wrong with a pool the server says, field by field", async () => {
  const errors = [{ pointer: "/provider/url", detail: "must be an http or https URL" }];
  bench.plane.on("PUT", POOL, (_seen, res) => problem(res, 400, "invalid_request", { detail: "no", errors }));
  writeFileSync(join(bench.dir, "pool.json"), '{"name": "x", "provider": {"url": 1}}');
  expect(await bench.run(["apply", "-f", "pool.json"])).toMatchObject({
    code: 125,
    stderr: "drover: Drover does not accept this:\n  /provider/url: must be an http or https URL\n",
  });
});

const ENROLLMENT = {
  code: "drvc_build-s-1.1.x",
  worker: "build-s-1",
  pool: "build",
  expiresAt: "2026-11-21T09:30:00.000Z",
  command: "curl -fsSL https://drover.test/agent/install.sh | DROVER_CODE=drvc_build-s-1.1.x sh -s --",
};

test("enroll prints the line to paste, and nothing else, so that a script can use it", async () => {
  bench.plane.on("POST", /^\/v1\/enrollments$/, (_seen, res) => json(res, 201, ENROLLMENT));
  const ended = await bench.run(["enroll", "--pool", "build", "--ttl", "10m"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString()).toBe(`${ENROLLMENT.command}\n`);
  expect(posts()).toEqual([["/v1/enrollments", { pool: "build", ttl: "10m" }]]);
  const whole = await bench.run(["enroll", "--json"]);
  expect(JSON.parse(whole.stdout.toString())).toEqual(ENROLLMENT);
});

test("enroll is asked again when its answer was lost, and lets one machine in all the same", async () => {
  const path = /^\/v1\/enrollments$/;
  bench.plane.on("POST", path, (_seen, res) => json(res, 201, ENROLLMENT));
  bench.plane.on("POST", path, (_seen, res) => res.destroy(), 1);
  expect(await bench.run(["enroll"])).toMatchObject({ code: 0 });
  const keys = bench.plane.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([expect.stringMatching(/./), keys[0]]);
});

test("drain of a self-hosted machine says that it is let go", async () => {
  const letGo = { id: "w-1", own: true, state: "shutdown", reason: "set to drain by ann" };
  bench.plane.on("POST", VERB, (_seen, res) => json(res, 200, letGo));
  const ended = await bench.run(["drain", "w-1"]);
  expect(ended.stdout.toString()).toBe("w-1 is being let go: set to drain by ann\n");
});

describe("A6 M-queue: queue lists the runs that wait, in their order", () => {
  const queued = (position: number) => ({
    id: `run-${position}`,
    position,
    priority: 50,
    command: "make test",
    submittedAt: "2026-11-21T08:30:00.000Z",
    ageMs: 61_000,
    reason: { code: "hold_off", text: "no machine is created for now" },
    next: { action: "ask for a machine again", at: null },
  });
  const serve = (items: object[], count: number) =>
    bench.plane.on("GET", /^\/v1\/pools\/build\/queue$/, ({ query }: Seen, res) => {
      const second = query.get("cursor") === "more";
      const page = second ? items.slice(1) : items.slice(0, 1);
      json(res, 200, { items: page, next: second ? null : "more", queued: count });
    });

  test("of a pool, page by page, with the reason and its code", async () => {
    serve([queued(1), queued(2)], 2);
    const { code, stdout, stderr } = await bench.run(["queue", "--pool", "build"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.toString()).toMatch(/^PLACE +RUN +PRIORITY +AGE +COMMAND +WHY$/m);
    const why = "no machine is created for now \\(hold_off\\)";
    for (const n of [1, 2])
      expect(stdout.toString()).toMatch(new RegExp(`^${n} +run-${n} +50 +1m1s +make test +${why}$`, "m"));
  });

  test("as JSON, up to the limit", async () => {
    serve([queued(1), queued(2)], 2);
    const ended = await bench.run(["queue", "--pool", "build", "--limit", "1", "--json"]);
    expect(JSON.parse(ended.stdout.toString())).toEqual([queued(1)]);
    expect(ended.stderr).toContain("2 runs wait; to see more than 1, use --limit.");
  });

  test("that is empty", async () => {
    bench.plane.on("GET", /^\/v1\/pools\/default\/queue$/, (_seen, res) =>
      json(res, 200, { items: [], next: null, queued: 0 }),
    );
    expect((await bench.run(["queue"])).stdout.toString()).toBe("No run waits for a place.\n");
  });
});
