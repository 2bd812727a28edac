import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";

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
  expect(abort?.body).toEqual({ reason: "nobody reads its output any more" });
  expect(await ended).toMatchObject({ code: 141, stderr: expect.stringContaining("Aborting run") });
});

test("logs into a reader that goes away ends quietly, and leaves the run alone", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  await bench.run(["run", "--detach", "--id", "r1", "--", "yes"]);
  plane.logsEnded = false;
  const { child, ended } = bench.start(["logs", "-f", "r1"]);
  await plane.requests("GET", LOGS);
  child.stdout?.destroy();
  plane.write("stdout", "y\n".repeat(100_000));
  expect(await ended).toMatchObject({ code: 141, stderr: "" });
  expect(plane.seen.some(({ path }) => path.endsWith("/abort"))).toBe(false);
});

test.each([
  [[], "out", "err"],
  [["--stdout"], "out", ""],
  [["--stderr"], "", "err"],
  [["--tail", "2"], "ut", "rr"],
  [["-f"], "out", "err"],
])("logs %j shows %j and %j", async (flags, stdout, stderr) => {
  const { plane } = bench;
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  plane.logs.stdout = Buffer.from("out");
  plane.logs.stderr = Buffer.from("err");
  const ended = await bench.run(["logs", ...flags, "r1"]);
  expect([ended.code, ended.stdout.toString(), ended.stderr]).toEqual([0, stdout, stderr]);
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
