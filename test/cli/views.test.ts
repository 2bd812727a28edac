import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkerStatus } from "../../src/schema/pool.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const RUNS = /^\/v1\/runs$/;

const worker: WorkerStatus = {
  id: "w-1",
  pool: "default",
  state: "running",
  idleBehavior: "drain",
  instanceType: "local",
  providerType: "local",
  own: false,
  instance: "i-1",
  address: null,
  price: 0,
  resources: { vcpus: 4, memoryBytes: 2 ** 31, diskBytes: 0, gpus: 0 },
  runs: ["r1", "r2"],
  askedAt: "2026-11-21T08:00:00.000Z",
  readyAt: "2026-11-21T08:00:02.500Z",
  idleSince: null,
  lastRun: null,
  reason: "it has 2 runs",
  version: 3,
  bootOutcome: "success",
  notice: null,
  stale: [],
  prices: [],
  bootProbe: { ok: true, output: "" },
  createdAt: null,
  joinedAt: null,
  lastReportAt: null,
  leaseUntil: null,
  incarnation: 1,
  ordersRevision: 2,
  orders: [],
  events: [{ at: "2026-11-21T08:00:02.500Z", type: "Ready", message: "the boot probe succeeded" }],
};

/** Serves lists of runs by the states that are asked for. */
function serveRuns(lists: Record<string, ReturnType<typeof summaryOf>[]>) {
  bench.plane.on("GET", RUNS, ({ query }: Seen, res) => {
    const items = lists[query.getAll("state").join()] ?? [];
    const from = Number(query.get("cursor") ?? 0);
    const to = from + Number(query.get("limit"));
    const next = to < items.length ? String(to) : null;
    json(res, 200, { items: items.slice(from, to), next, service: [] });
  });
}

const at = (minute: number) => `2026-11-21T08:${String(minute).padStart(2, "0")}:00.000Z`;

test("ps shows what goes on and what was latest, each once, newest first, as it is now", async () => {
  serveRuns({
    "pending,running": [
      summaryOf("old", { submittedAt: at(1) }),
      summaryOf("new", { submittedAt: at(9), version: 1 }),
    ],
    all: [
      summaryOf("new", { submittedAt: at(9), version: 2, state: "complete", exitCode: 3 }),
      summaryOf("mid", { submittedAt: at(5), state: "failed", worker: null, command: "sh -c 'x\ny'" }),
    ],
  });
  const ended = await bench.run(["ps"]);
  const lines = ended.stdout.toString().trimEnd().split("\n");
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(lines.map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
    ["RUN", "STATE"],
    ["new", "complete"],
    ["mid", "failed"],
    ["old", "running"],
  ]);
  expect(lines[1]).toMatch(/^new {2}complete {2}3 {5}/);
  expect(lines[2]).toMatch(/sh -c 'x y'$/);
  expect(new Set(lines.map((line) => line.search(/COMMAND|make|sh -c/))).size).toBe(1);
});

test("ps reads page after page up to its limit, and says when there is more", async () => {
  const all = Array.from({ length: 2_500 }, (_, index) => summaryOf(`r${index}`));
  serveRuns({ all });
  const some = await bench.run(["ps", "--all", "--limit", "2100", "--json"]);
  expect(JSON.parse(some.stdout.toString()).length).toBe(2_100);
  expect(some.stderr).toMatch(/There are more runs/);
  const whole = await bench.run(["ps", "--all", "--limit", "2500", "--json"]);
  expect(JSON.parse(whole.stdout.toString())).toEqual(all);
  expect(whole.stderr).toBe("");
});

test("ps asks for the states, labels and pool that it was told", async () => {
  serveRuns({});
  await bench.run([
    "ps",
    "--state",
    "failed",
    "--state",
    "unknown",
    "--label",
    "a=b",
    "-l",
    "c=d",
    "--pool",
    "gpu",
  ]);
  const query = bench.plane.seen[0]?.query;
  expect(query?.getAll("state")).toEqual(["failed", "unknown"]);
  expect(query?.getAll("label")).toEqual(["a:b", "c:d"]);
  expect(query?.get("pool")).toBe("gpu");
});

test("status shows a run to a person, and all of it to a program", async () => {
  const status = statusOf("r1", {
    state: "failed",
    failure: { class: "infrastructure", code: "queue_timeout", text: "no machine within 5m" },
    spec: RunSpec.parse({ argv: ["sh", "-c", "echo it's"], dir: "/src" }),
    labels: { team: "web" },
    placements: [{ epoch: 1, worker: "w-1", from: at(1), to: null, outcome: "open" }],
    placedAt: "2026-11-21T08:00:01.500Z",
    finishedAt: "2026-11-21T08:05:00.000Z",
  });
  bench.plane.runs.set("r1", status);
  const shown = (await bench.run(["status", "r1"])).stdout.toString();
  for (const line of [
    /^Run +r1$/m,
    /^State +failed$/m,
    /^Why +no machine within 5m \(queue_timeout\)$/m,
    /^Command +sh -c 'echo it'\\''s'$/m,
    /^Directory +\/src$/m,
    /^Labels +team=web$/m,
    /^Worker +w-1$/m,
    /^Placed .*\(after 1\.5s\)$/m,
    /^Finished .*\(after 5m\)$/m,
  ]) {
    expect(shown).toMatch(line);
  }
  expect(shown).not.toMatch(/null|undefined|Started/);
  expect(JSON.parse((await bench.run(["status", "--json", "r1"])).stdout.toString())).toEqual(status);
});

test("status of a run that is not there is 125 with the server's words", async () => {
  const ended = await bench.run(["status", "nobody"]);
  expect(ended).toMatchObject({ code: 125, stderr: "drover: it is unknown_run\n" });
});

test("why answers for a run, else for a worker, else says that there is neither", async () => {
  bench.plane.runs.set("r1", statusOf("r1"));
  bench.plane.why.reason.text = "no machine is ready";
  expect((await bench.run(["why", "r1"])).stdout.toString()).toMatch(
    /^Why +no machine is ready \(no_workers\)$/m,
  );
  bench.plane.on("GET", /^\/v1\/workers\/w-1\/why$/, (_seen, res) =>
    json(res, 200, {
      state: "booting",
      reason: { code: "boot", text: "it boots", tries: 2 },
      next: { action: "gives up", at: new Date(Date.now() + 3_600_000).toISOString() },
      chain: [{ what: "pool default", state: "ok", text: "may grow" }],
    }),
  );
  const shown = (await bench.run(["why", "w-1"])).stdout.toString();
  expect(shown).toMatch(/^Why +it boots \(boot\)$/m);
  expect(shown).toMatch(/tries 2/);
  expect(shown).toMatch(/^Next +gives up \(in (59m59s|1h), at /m);
  expect(shown).toMatch(/^pool default +ok: may grow$/m);
  bench.plane.on("GET", /^\/v1\/workers\/x\/why$/, (_seen, res) => problem(res, 404, "unknown_worker"));
  const neither = await bench.run(["why", "x"]);
  expect(neither.code).toBe(125);
  expect(neither.stderr).toContain("There is no run or worker with the id x.");
});

test.each([
  ["stopping", true],
  ["no_workers", false],
])("N1: why says how to hurry a run that is %s: %s", async (code, says) => {
  bench.plane.runs.set("r1", statusOf("r1"));
  const { reason } = bench.plane.why;
  const before = reason.code;
  reason.code = code;
  const shown = (await bench.run(["why", "r1"])).stdout.toString();
  reason.code = before;
  expect(/^ +to end it at once: drover abort --force r1$/m.test(shown)).toBe(says);
});

test("workers lists them, and shows one whole", async () => {
  bench.plane.on("GET", /^\/v1\/workers$/, (_seen, res) =>
    json(res, 200, { items: [worker], next: null, service: [] }),
  );
  bench.plane.on("GET", /^\/v1\/workers\/w-1$/, (_seen, res) => json(res, 200, worker));
  const list = await bench.run(["workers", "--pool", "default", "--state", "running"]);
  expect(list.stdout.toString()).toMatch(
    /^w-1 +default +running \(drain\) +local +2 .* 2\.5s +it has 2 runs$/m,
  );
  expect(bench.plane.seen[0]?.query.toString()).toBe("pool=default&state=running");
  const one = (await bench.run(["workers", "w-1"])).stdout.toString();
  expect(one).toMatch(/^Resources +4 CPUs, 2GiB memory, 0B disk, 0 GPUs$/m);
  expect(one).toMatch(/Ready: the boot probe succeeded$/m);
  expect(JSON.parse((await bench.run(["workers", "w-1", "--json"])).stdout.toString())).toEqual(worker);
});

// devices.md#report
test("workers shows the GPUs of one, and who has each", async () => {
  const t4 = { vendor: "nvidia", model: "Tesla T4", memoryBytes: 2 ** 34, driver: "550" };
  const machine: WorkerStatus = {
    ...worker,
    resources: { ...worker.resources, gpus: 2 },
    used: { ...worker.resources, gpus: 1 },
    devices: [
      { id: "g0", ...t4, healthy: true, attempt: "r1/main/1.1" },
      { id: "g1", ...t4, driver: "", memoryBytes: 0, healthy: true, attempt: null },
      { id: "g2", ...t4, healthy: false, attempt: null },
    ],
  };
  bench.plane.on("GET", /^\/v1\/workers\/w-1$/, (_seen, res) => json(res, 200, machine));
  const shown = (await bench.run(["workers", "w-1"])).stdout.toString();
  expect(shown).toMatch(/^In use +4 of 4 CPUs, 2GiB of 2GiB memory, 1 of 2 GPUs$/m);
  expect(shown).toContain(
    "GPUs\n" +
      "  ID  VENDOR  MODEL     MEMORY  DRIVER  HAS IT\n" +
      "  g0  nvidia  Tesla T4  16GiB   550     r1/main/1.1\n" +
      "  g1  nvidia  Tesla T4  -       -       free\n" +
      "  g2  nvidia  Tesla T4  16GiB   550                  cannot be used\n",
  );
});

test("workers says why a host does not know its GPUs (devices.md#report)", async () => {
  const machine = { ...worker, devices: [], devicesFault: "/opt/gpus: it has printed nothing" };
  bench.plane.on("GET", /^\/v1\/workers\/w-1$/, (_seen, res) => json(res, 200, machine));
  const shown = (await bench.run(["workers", "w-1"])).stdout.toString();
  expect(shown).toMatch(/^GPU fault +\/opt\/gpus: it has printed nothing$/m);
  expect(shown).not.toMatch(/^GPUs$/m);
});

test("A6 M04-last: workers shows since when one is idle, and what it did last", async () => {
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const idle = {
    ...worker,
    state: "idle",
    runs: [],
    idleSince: ago(200_000),
    lastRun: { run: "r9", endedAt: ago(200_000) },
  };
  bench.plane.on("GET", /^\/v1\/workers\/w-1$/, (_seen, res) => json(res, 200, idle));
  const one = (await bench.run(["workers", "w-1"])).stdout.toString();
  expect(one).toMatch(/^Idle for +3m\d+s$/m);
  expect(one).toMatch(/^Last run +r9, which ended 3m\d+s ago$/m);
});

test("P3, P15: workers shows what was not made as asked or refused, and what is gone if asked", async () => {
  const unmade = (["asked", "refused", "unconfirmed", "made"] as const).map((machine) => {
    return { ...worker, id: `w-${machine}`, state: "booting", idleBehavior: "run", machine };
  });
  bench.plane.on("GET", /^\/v1\/workers$/, (_seen, res) =>
    json(res, 200, { items: unmade, next: null, service: [] }),
  );
  const list = (await bench.run(["workers"])).stdout.toString();
  for (const state of ["asked", "refused", "unconfirmed"])
    expect(list).toMatch(new RegExp(`^w-${state} +default +${state} +local`, "m"));
  expect(list).toMatch(/^w-made +default +booting +local/m);
  await bench.run(["workers", "--all"]);
  await bench.run(["workers", "--state", "gone"]);
  expect(bench.plane.seen.map(({ query }) => query.getAll("state"))).toEqual([
    ["unknown", "booting", "idle", "running", "shutdown"],
    [],
    ["gone"],
  ]);
});

test("abort waits for the end of each run, and fails if one is not there", async () => {
  const { plane } = bench;
  plane.runs.set("r1", statusOf("r1", { state: "running" }));
  plane.runs.set("r2", statusOf("r2", { state: "complete", exitCode: 0 }));
  const ended = await bench.run(["abort", "--reason", "wrong branch", "r1", "r2", "nobody", "r1"]);
  expect(ended.code).toBe(125);
  expect(ended.stdout.toString().split("\n").sort()).toEqual([
    "",
    "r1 ended: aborted",
    "r2 had already ended: complete",
  ]);
  expect(ended.stderr).toBe("drover: nobody: it is unknown_run\n");
  const aborts = plane.seen.filter(({ method }) => method === "POST");
  expect(aborts).toMatchObject([{ path: "/v1/runs/r1/abort", body: { reason: "wrong branch" } }]);
});

test("abort --no-wait only asks for it", async () => {
  const { plane } = bench;
  plane.runs.set("r1", statusOf("r1", { state: "running" }));
  plane.on("POST", /\/abort$/, (_seen, res) => json(res, 200, plane.runs.get("r1")));
  const ended = await bench.run(["abort", "--no-wait", "r1"]);
  expect([ended.code, ended.stdout.toString()]).toEqual([0, "r1 is being aborted\n"]);
});

test("drover console shows the lines of a console, and says beside them what they are", async () => {
  const text = "booting\n\u001b]0;title\u0007 login:\n";
  const shown = { worker: "w-1", readAt: "2026-11-21T08:30:00.000Z", updatedAt: null, truncated: true, text };
  bench.plane.on("GET", /^\/v1\/workers\/w-1\/console$/, (_seen, res) => json(res, 200, shown));
  const { stdout, stderr, code } = await bench.run(["console", "w-1"]);
  expect([code, stdout.toString()]).toEqual([0, "booting\n\\x1b]0;title\\x07 login:\n"]);
  expect(stderr).toBe("drover: What came before is left out.\n");
  expect(JSON.parse((await bench.run(["console", "w-1", "--json"])).stdout.toString())).toEqual(shown);
});
