import { describe, expect, test } from "vitest";
import { RunQuery, RunSpec, Submission, statesSelected } from "../../../src/schema/run/run.ts";
import { MAX_TASKS } from "../../../src/schema/run/task.ts";
import { MAX_AFTER, MAX_BATCH_RUNS, MAX_QUERY_IDS } from "../../../src/shared/limits.ts";

/** The pointers of what is wrong with a spec; none if it is taken. */
function faults(more: Record<string, unknown>): string[] {
  const { error } = RunSpec.safeParse({ argv: ["make"], ...more });
  return [...new Set(error?.issues.map((issue) => issue.path.join("/")) ?? [])];
}

const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

test("what is not said has its default (api.md#forms-and-defaults, tasks.md#kill-note-1)", () => {
  expect(RunSpec.parse({ argv: ["make"] })).toEqual({
    argv: ["make"],
    pool: "default",
    priority: 50,
    labels: {},
    meta: {},
    env: {},
    resources: { vcpus: 1, disk: "0", gpus: 0 },
    killTimeout: "5s",
    killSignal: "SIGTERM",
  });
});

test("a check has its defaults (health.md#spec)", () => {
  const checks = [{ name: "web", http: { port: 80 } }];
  const parsed = RunSpec.parse({ argv: ["make"], checks, checkRestart: { limit: 3 } });
  expect(parsed.checks).toEqual([
    {
      name: "web",
      http: { port: 80, path: "/", method: "GET" },
      interval: "10s",
      timeout: "5s",
      passAfter: 1,
      failAfter: 3,
      startPeriod: "0s",
    },
  ]);
  expect(parsed.checkRestart).toEqual({ limit: 3, grace: "1s", ignoreWarnings: false });
});

test("each resource that is not said has its default, too", () => {
  expect(RunSpec.parse({ argv: ["make"], resources: { vcpus: 2 } }).resources).toEqual({
    vcpus: 2,
    disk: "0",
    gpus: 0,
  });
});

describe("a spec is taken", () => {
  test.each<[string, Record<string, unknown>]>([
    ["empty arguments, but the first", { argv: ["printf", "", "\n"] }],
    ["many arguments", { argv: Array.from({ length: 100_000 }, () => "x") }],
    ["the shortest id", { id: "0" }],
    ["the longest id", { id: `a${"-".repeat(62)}` }],
    ["the least priority", { priority: 1 }],
    ["the greatest priority", { priority: 100 }],
    ["64 labels", { labels: entries(64) }],
    ["64 entries of meta", { meta: entries(64) }],
    ["long labels", { labels: { ["k".repeat(128)]: "v".repeat(1_024) } }],
    ["an environment", { env: { _: "", PATH: "/bin", a1: "é\n" } }],
    ["no vCPUs", { resources: { vcpus: 0 } }],
    ["1024 vCPUs and 64 GPUs", { resources: { vcpus: 1_024, gpus: 64 } }],
    ["sizes as numbers", { resources: { memory: 0, disk: 1e12 } }],
    ["a kill timeout of nothing", { killTimeout: "0s" }],
    ["a directory below the task's own", { dir: "a/../b/./c" }],
    ["the task's own directory", { dir: "." }],
    ["an absolute directory, which the pool decides on", { dir: "/srv/../etc" }],
    ["the longest key", { replace: "k".repeat(128) }],
    ["the longest key of concurrency", { concurrency: { key: "k".repeat(200), limit: 10_000, queueMax: 0 } }],
    ["as many as it can follow", { after: Array.from({ length: MAX_AFTER }, (_, i) => `r${i}`) }],
    ["a trace", { trace: { jobId: "j" } }],
    ["time limits", { timeout: "1ms", queueTimeout: "36500d" }],
  ])("%s", (_what, more) => {
    expect(faults(more)).toEqual([]);
  });
});

describe("a group is taken at its bounds (beyond them: test/edge/support/bad-tasks.ts)", () => {
  const task = (more: object = {}) => ({ name: "m", argv: ["make"], ...more });
  const artifact = { url: "https://a.example/".padEnd(2_048, "x"), sha256: "f".repeat(64), to: "." };

  test.each<[string, object[]]>([
    [`${MAX_TASKS} tasks`, Array.from({ length: MAX_TASKS }, (_, i) => task({ name: `t${i}` }))],
    ["a name of 63 characters", [task({ name: "-".repeat(63) })]],
    ["a user of 64 characters", [task({ user: "u".repeat(64) })]],
    ["64 artifacts, each with a URL of 2,048 characters", [task({ artifacts: Array(64).fill(artifact) })]],
    ["delays that just fit", [task({ restart: { attempts: 3, delay: "2s", interval: "6s" } })]],
    ["delays of a hundred years", [task({ shutdownDelay: "36500d", killTimeout: "36500d" })]],
    ["a poststart sidecar", [task(), task({ name: "s", lifecycle: { hook: "poststart", sidecar: true } })]],
  ])("%s", (_what, tasks) => {
    expect(RunSpec.safeParse({ tasks }).error?.issues).toBeUndefined();
  });
});

describe("a spec is refused, and the refusal names the field (400, api.md#refused-specs)", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["no command", { argv: [] }, "argv"],
    ["a command without a name", { argv: [""] }, "argv"],
    ["a command line as text", { argv: "make" }, "argv"],
    ["an argument that is none", { argv: ["make", 4] }, "argv/1"],
    ["a NUL in an argument", { argv: ["make", "a\0b"] }, "argv/1"],
    ["no id", { id: "" }, "id"],
    ["an id of 64 characters", { id: "a".repeat(64) }, "id"],
    ["an id in capitals", { id: "Build" }, "id"],
    ["an id that begins with a dash", { id: "-b" }, "id"],
    ["an id with a slash", { id: "a/b" }, "id"],
    ["an id with two dots", { id: "a.b.c" }, "id"],
    ["an id with a line end", { id: "a\n" }, "id"],
    ["a pool that is no name", { pool: "../x" }, "pool"],
    ["priority 0", { priority: 0 }, "priority"],
    ["priority 101", { priority: 101 }, "priority"],
    ["half a priority", { priority: 1.5 }, "priority"],
    ["65 labels", { labels: entries(65) }, "labels"],
    ["65 entries of meta", { meta: entries(65) }, "meta"],
    ["a label without a name", { labels: { "": "v" } }, "labels/"],
    ["a label's name that is too long", { labels: { ["k".repeat(129)]: "v" } }, `labels/${"k".repeat(129)}`],
    ["a label that is too long", { labels: { k: "v".repeat(1_025) } }, "labels/k"],
    ["a label that is a number", { labels: { k: 1 } }, "labels/k"],
    ["a variable with a dash", { env: { "A-B": "" } }, "env/A-B"],
    ["a variable that begins with a digit", { env: { "1A": "" } }, "env/1A"],
    ["a NUL in a variable", { env: { A: "\0" } }, "env/A"],
    ["a directory outside", { dir: "../x" }, "dir"],
    ["a directory outside, in a roundabout way", { dir: "a/../../b" }, "dir"],
    ["no directory", { dir: "" }, "dir"],
    ["a NUL in a directory", { dir: "a\0" }, "dir"],
    ["a directory that is too long", { dir: "a".repeat(4_097) }, "dir"],
    ["a negative number of vCPUs", { resources: { vcpus: -1 } }, "resources/vcpus"],
    ["less than a thousandth of a vCPU", { resources: { vcpus: 0.0005 } }, "resources/vcpus"],
    ["1025 vCPUs", { resources: { vcpus: 1_025 } }, "resources/vcpus"],
    ["65 GPUs", { resources: { gpus: 65 } }, "resources/gpus"],
    ["negative memory", { resources: { memory: -1 } }, "resources/memory"],
    ["memory that is no size", { resources: { memory: "much" } }, "resources/memory"],
    ["a resource that there is not", { resources: { tpus: 1 } }, "resources"],
    ["a timeout of nothing", { timeout: "0s" }, "timeout"],
    ["a number where a duration is due", { timeout: 60 }, "timeout"],
    ["a negative duration", { timeout: "-1s" }, "timeout"],
    ["an overflowing duration", { timeout: "36501d" }, "timeout"],
    ["a queueTimeout of nothing", { queueTimeout: "0ms" }, "queueTimeout"],
    ["a negative killTimeout", { killTimeout: "-1s" }, "killTimeout"],
    ["a signal that there is not", { killSignal: "SIGNOPE" }, "killSignal"],
    ["a signal by number", { killSignal: 15 }, "killSignal"],
    ["a trace with more in it", { trace: { span: "x" } }, "trace"],
    ["a compatibility that there is not", { compat: "arvados" }, "compat"],
    ["a field that there is not", { argvs: ["make"] }, ""],
  ])("%s", (_what, more, pointer) => {
    expect(faults(more)).toEqual([pointer]);
  });
});

describe(`a batch has at most MAX_BATCH_RUNS runs`, () => {
  const batch = (count: number) =>
    Submission.safeParse({ runs: Array.from({ length: count }, () => ({ argv: ["true"] })) }).success;

  test.each([
    [0, false],
    [1, true],
    [MAX_BATCH_RUNS, true],
    [MAX_BATCH_RUNS + 1, false],
  ])("%d: %s", (count, taken) => {
    expect(batch(count)).toBe(taken);
  });

  test("one run by itself is a submission, both forms at once are none", () => {
    expect(Submission.safeParse({ argv: ["true"] }).success).toBe(true);
    expect(Submission.safeParse({ argv: ["true"], runs: [{ argv: ["true"] }] }).success).toBe(false);
  });
});

describe("a query names at most MAX_QUERY_IDS runs", () => {
  const query = (count: number) =>
    RunQuery.safeParse({ runs: Array.from({ length: count }, (_, i) => `r${i}`) }).success;

  test.each([
    [MAX_QUERY_IDS, true],
    [MAX_QUERY_IDS + 1, false],
  ])("%d: %s", (count, taken) => {
    expect(query(count)).toBe(taken);
  });

  test.each([
    [["done", "pending", 127, 0], true],
    [[128], false],
    [[-1], false],
    [[1.5], false],
    [["ended"], false],
  ])("states %j: %s (a bit set above 127 is a 400)", (states, taken) => {
    expect(RunQuery.safeParse({ states }).success).toBe(taken);
  });
});

// Bit n is state n (api.md#state-filter, decisions/runs.md#state-numbers).
describe("what a state filter selects", () => {
  test.each([
    [[0], []],
    [[1], ["unknown"]],
    [[2], ["pending"]],
    [[4], ["running"]],
    [[8], ["complete"]],
    [[16], ["failed"]],
    [[32], ["aborted"]],
    [[64], ["timedout"]],
    [[121], ["unknown", "complete", "failed", "aborted", "timedout"]],
    [["done"], ["unknown", "complete", "failed", "aborted", "timedout"]],
    [[127], ["unknown", "pending", "running", "complete", "failed", "aborted", "timedout"]],
    [["all"], ["unknown", "pending", "running", "complete", "failed", "aborted", "timedout"]],
    [
      ["pending", 4],
      ["pending", "running"],
    ],
    [[], []],
  ])("%j: %j", (filter, selected) => {
    expect([...statesSelected(filter)].sort()).toEqual([...selected].sort());
  });
});
