import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf, taskOf } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const LOGS = /\/logs\/main\/stdout$/;
const MIB = 2 ** 20;

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("output comes out piece by piece, while the run goes on", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  plane.logsEnded = false;
  const running = bench.start(["run", "--", "x"]);
  await plane.requests("GET", LOGS);
  for (const word of ["first", "second", "third"]) {
    plane.write("stdout", `${word}, without an end of line `);
    await running.says(new RegExp(word), "stdout");
    plane.write("stderr", `${word} error\n`);
    await running.says(new RegExp(`${word} error`));
  }
  plane.endLogs();
  plane.end({ state: "complete", exitCode: 6 });
  const ended = await running.ended;
  expect(ended.code).toBe(6);
  expect(ended.stdout.toString()).toBe(
    "first, without an end of line second, without an end of line third, without an end of line ",
  );
  expect(ended.stderr).toBe("first error\nsecond error\nthird error\n");
});

test("the end of the run does not cut its output short", async () => {
  const { plane } = bench;
  plane.logsEnded = false;
  const running = bench.start(["run", "--", "x"]);
  await plane.requests("GET", LOGS);
  await plane.requests("GET", /^\/v1\/runs\/[^/]+$/);
  plane.write("stdout", "the last word");
  plane.endLogs();
  expect((await running.ended).stdout.toString()).toBe("the last word");
});

test("every byte comes out as it was written", async () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  bench.plane.logs.stdout = Buffer.concat([all, Buffer.from([0xff, 0xfe, 0xc3]), all]);
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.stdout.equals(bench.plane.logs.stdout)).toBe(true);
});

test("20 MiB through a slow reader come out whole", async () => {
  const { plane } = bench;
  plane.logs.stdout = randomBytes(20 * MIB);
  const { child, ended } = bench.start(["run", "--", "x"], { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout?.removeAllListeners("data").pause();
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of child.stdout ?? []) {
    pieces.push(piece);
    // Slower than the sender for some of the way: the pipe is full, and the sender has to wait.
    if (size < 8 * MIB) await sleep(1);
    size += piece.length;
  }
  expect(digest(Buffer.concat(pieces))).toBe(digest(plane.logs.stdout));
  expect((await ended).code).toBe(0);
});

test("a connection that breaks is continued at the right byte, as often as it breaks", async () => {
  const { plane } = bench;
  plane.logs.stdout = randomBytes(300_000);
  let breaks = 0;
  plane.on(
    "GET",
    LOGS,
    ({ headers }, res) => {
      breaks += 1;
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
      const range = { "content-range": `bytes ${from}-299999/*` };
      if (from === 0) res.writeHead(200);
      else res.writeHead(206, range);
      res.write(plane.logs.stdout.subarray(from, from + 70_001), () => res.destroy());
    },
    3,
  );
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.code).toBe(0);
  expect(digest(ended.stdout)).toBe(digest(plane.logs.stdout));
  expect(breaks).toBe(3);
});

test("a connection that breaks is continued in the attempt that it broke in", async () => {
  const { plane } = bench;
  plane.logs.stdout = Buffer.from("whole");
  const first = { "drover-attempt": "1.1" };
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(200, first).write("wh", () => res.destroy()), 1);
  expect((await bench.run(["run", "--", "x"])).stdout.toString()).toBe("whole");
  const asked = plane.seen.filter(({ path }) => LOGS.test(path));
  expect(asked.map(({ query, headers }) => [query.get("attempt"), headers.range])).toEqual([
    [null, undefined],
    ["1.1", "bytes=2-"],
  ]);
});

test.each([
  ["after its first bytes", "wh", "bytes=2-"],
  ["before its first byte", "", undefined],
])(
  "a log that was asked for before there was an attempt, and breaks %s, goes on in the first one",
  async (_when, bytes, range) => {
    const { plane } = bench;
    plane.ends = undefined;
    plane.logs.stdout = Buffer.from("whole");
    plane.on(
      "GET",
      LOGS,
      (_seen, res) => {
        const attempts = ["r1/main/1.1", "r1/main/1.2"].map((id) => attemptOf(id));
        plane.end({ tasks: [taskOf({ attempts, phase: "dead" })] });
        res.writeHead(200).write(bytes, () => res.destroy());
        res.flushHeaders();
      },
      1,
    );
    await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
    await bench.run(["logs", "-f", "--stdout", "r1"]);
    const asked = plane.seen.filter(({ path }) => LOGS.test(path));
    expect(asked.map(({ query, headers }) => [query.get("attempt"), headers.range]).slice(0, 2)).toEqual([
      [null, undefined],
      ["1.1", range],
    ]);
  },
);

test.each([
  ["that its answer has named", { "drover-attempt": "1.1" }],
  ["that there was not yet when it was asked for", {}],
])("a task that is started again goes on behind the attempt %s", async (_what, headers) => {
  const { plane } = bench;
  const attempts = ["r1/main/1.1", "r1/main/1.2"].map((id) => attemptOf(id));
  const main = taskOf({ attempts: attempts.slice(0, 1), phase: "backoff" });
  plane.ends = { state: "running", tasks: [main] };
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(200, headers).end("one "), 1);
  plane.on(
    "GET",
    /\/events$/,
    (_seen, res) => {
      plane.runs.set("r1", statusOf("r1", { tasks: [taskOf({ attempts, phase: "dead" })] }));
      json(res, 200, { items: [], dropped: 0, ended: true });
    },
    1,
  );
  plane.logs.stdout = Buffer.from("two");
  const ended = await bench.run(["logs", "-f", "--stdout", "r1"]);
  expect([ended.code, ended.stdout.toString()]).toEqual([0, "one two"]);
  const asked = plane.seen.filter(({ path }) => LOGS.test(path));
  expect(asked.map(({ query }) => query.get("attempt"))).toEqual([null, "1.2"]);
});

test("a task that was started again before its output was asked for shows all attempts", async () => {
  const { plane } = bench;
  const attempts = ["r1/main/1.1", "r1/main/1.2"].map((id) => attemptOf(id));
  plane.ends = { state: "complete", tasks: [taskOf({ attempts, phase: "dead" })] };
  const texts: Record<string, string> = { "1.1": "one ", "1.2": "two" };
  plane.on("GET", LOGS, ({ query }, res) => {
    const attempt = query.get("attempt") ?? "1.2";
    res.writeHead(200, { "drover-attempt": attempt }).end(texts[attempt]);
  });
  const ran = await bench.run(["run", "--id", "r1", "--", "x"]);
  expect(ran.stdout.toString()).toBe("one two");
  const back = await bench.run(["attach", "r1"]);
  expect(back.stdout.toString()).toBe("one two");
  const followed = await bench.run(["logs", "-f", "--stdout", "r1"]);
  expect(followed.stdout.toString()).toBe("two");
});

test("a task whose first attempts are dropped while they are read shows those that are kept", async () => {
  const { plane } = bench;
  const attempts = ["r1/main/1.1", "r1/main/1.2", "r1/main/1.3"].map((id) => attemptOf(id));
  plane.ends = { state: "complete", tasks: [taskOf({ attempts, phase: "dead" })] };
  const texts: Record<string, string> = { "1.2": "two ", "1.3": "three" };
  plane.on("GET", LOGS, ({ query }, res) => {
    const attempt = query.get("attempt") ?? "1.3";
    if (attempt !== "1.1") return void res.writeHead(200, { "drover-attempt": attempt }).end(texts[attempt]);
    plane.runs.set("r1", statusOf("r1", { tasks: [taskOf({ attempts: attempts.slice(1), phase: "dead" })] }));
    problem(res, 404, "unknown_attempt");
  });
  const ran = await bench.run(["run", "--id", "r1", "--", "x"]);
  expect(ran.stdout.toString()).toBe("two three");
});

function attemptOf(id: string): RunStatus["tasks"][number]["attempts"][number] {
  return { id, state: "exited", startedAt: null, finishedAt: null, exit: null };
}

test("a server that ignores Range is not copied twice", async () => {
  const { plane } = bench;
  plane.logs.stdout = Buffer.from("0123456789".repeat(10_000));
  let calls = 0;
  plane.on(
    "GET",
    LOGS,
    (_seen, res) => {
      calls += 1;
      res.writeHead(200);
      if (calls === 1) res.write(plane.logs.stdout.subarray(0, 12_345), () => res.destroy());
      else res.end(plane.logs.stdout);
    },
    2,
  );
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.stdout.equals(plane.logs.stdout)).toBe(true);
  expect(calls).toBe(2);
});

test("a break after the last byte is no loss: the server says that nothing is left", async () => {
  const { plane } = bench;
  plane.logs.stdout = Buffer.from("whole");
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(416).end(), 1);
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(200).write("whole", () => res.destroy()), 1);
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString()).toBe("whole");
});

test("a reader that goes away ends the run, as SIGPIPE would end it here", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  plane.logsEnded = false;
  const { child, ended } = bench.start(["run", "--", "yes"]);
  await plane.requests("GET", LOGS);
  child.stdout?.destroy();
  plane.write("stdout", "y\n".repeat(100_000));
  const [abort] = await plane.requests("POST", /\/abort$/);
  expect(abort?.body).toEqual({ reason: "nothing reads its output any more" });
  expect(await ended).toMatchObject({ code: 141, stderr: expect.stringContaining("Aborting run") });
});

test("logs into a reader that goes away ends quietly, and leaves the run alone", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  await bench.run(["run", "--detach", "--id", "r1", "--", "yes"]);
  plane.logsEnded = false;
  const { child, ended } = bench.start(["logs", "-f", "r1"]);
  await plane.requests("GET", /\/logs\/main$/);
  child.stdout?.destroy();
  plane.write("stdout", "y\n".repeat(100_000));
  expect(await ended).toMatchObject({ code: 141, stderr: "" });
  expect(plane.seen.some(({ path }) => path.endsWith("/abort"))).toBe(false);
});

test.each([
  [[], "out", "err"],
  [["--stdout"], "out", ""],
  [["--stderr"], "", "err"],
  [["--tail", "2B"], "ut", "rr"],
  [["-f"], "out", "err"],
])("logs %j shows %j and %j", async (flags, stdout, stderr) => {
  const { plane } = bench;
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  plane.logs.stdout = Buffer.from("out");
  plane.logs.stderr = Buffer.from("err");
  const ended = await bench.run(["logs", ...flags, "r1"]);
  expect([ended.code, ended.stdout.toString(), ended.stderr]).toEqual([0, stdout, stderr]);
});

const LINES = Array.from({ length: 9_000 }, (_, index) => `line ${index + 1}\n`);

test.each<[tail: string, log: string, shown: string]>([
  ["0", "1\n2\n", ""],
  ["1", "1\n2\n", "2\n"],
  ["2", "1\n2\n", "1\n2\n"],
  ["3", "1\n2\n", "1\n2\n"],
  ["1", "1\n2", "2"],
  ["2", "1\n\n2\n", "\n2\n"],
  ["2", "", ""],
  ["1", "no end of line", "no end of line"],
  ["3", LINES.join(""), LINES.slice(-3).join("")],
  ["5000", LINES.join(""), LINES.slice(-5_000).join("")],
  ["1", `short\n${"long ".repeat(50_000)}\n`, `${"long ".repeat(50_000)}\n`],
])("P32: logs --tail %s shows so many lines", async (tail, log, shown) => {
  const { plane } = bench;
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  plane.logs.stdout = Buffer.from(log);
  const ended = await bench.run(["logs", "--stdout", "--tail", tail, "r1"]);
  expect([ended.code, ended.stdout.toString() === shown, ended.stderr]).toEqual([0, true, ""]);
});

test("P32: logs -f --tail begins with the last lines, and goes on with what comes", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  plane.logsEnded = false;
  plane.logs.stdout = Buffer.from("1\n2\n3\n");
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  const running = bench.start(["logs", "-f", "--stdout", "--tail", "2", "r1"]);
  await running.says(/2\n3\n/, "stdout");
  plane.write("stdout", "4\n");
  await running.says(/4\n/, "stdout");
  plane.end({ state: "complete", exitCode: 0, tasks: [taskOf({ phase: "dead" })] });
  plane.endLogs();
  expect((await running.ended).stdout.toString()).toBe("2\n3\n4\n");
});

test("logs of one attempt are asked for by its name", async () => {
  const { plane } = bench;
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  await bench.run(["logs", "-f", "--stdout", "--attempt", "1.2", "r1"]);
  const asked = plane.seen.filter(({ path }) => LOGS.test(path));
  expect(asked.map(({ query }) => query.toString())).toEqual(["attempt=1.2&follow=1"]);
});

test("logs without -f shows what there is, and does not wait for more", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  plane.logsEnded = false;
  plane.logs.stdout = Buffer.from("so far");
  expect((await bench.run(["logs", "r1"])).stdout.toString()).toBe("so far");
});

test("no thread that compiles is left to keep the command from ending", async () => {
  // Node's bug needs a rare moment, but V8 tells of what it needs: batches that another thread compiles.
  const trace = ["--trace-baseline", "--trace-baseline-batch-compilation"];
  const batches = async (args: string[]) => {
    const { code, stdout } = await bench.run(args, {}, trace);
    expect(code).toBe(0);
    return stdout.toString("latin1").split("[Concurrent Sparkplug] compiling").length - 1;
  };
  bench.plane.logs.stdout = randomBytes(MIB);
  // Those of the start, before the command has had a say.
  const atStart = await batches(["--version"]);
  expect(atStart).toBeGreaterThan(0);
  expect(await batches(["run", "--", "x"])).toBeLessThanOrEqual(atStart);
});
