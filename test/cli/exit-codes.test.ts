import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RunSpec, type RunStatus } from "../../src/schema/run/run.ts";
import type { FailureCode } from "../../src/shared/errors.ts";
import { type Bench, openBench } from "./support/command.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.plane.ends = { state: "complete", exitCode: 0 };
});

const failure = (code: FailureCode, kind: "task" | "infrastructure" = "infrastructure") => ({
  state: "failed" as const,
  failure: { class: kind, code, text: `because of ${code}` },
});
const killed = (oomKilled: boolean): Partial<RunStatus> => ({
  state: "complete",
  exitCode: 137,
  signal: "SIGKILL",
  tasks: [
    {
      name: "main",
      state: "dead",
      phase: "dead",
      failed: true,
      restarts: 0,
      startedAt: null,
      finishedAt: null,
      attempts: [
        {
          id: "r/main/1.1",
          state: "exited",
          startedAt: null,
          finishedAt: null,
          exit: { code: null, signal: "SIGKILL", oomKilled, message: "" },
        },
      ],
      events: [],
    },
  ],
});

// Issue 2, item 6: the command's own exit code; 124 time-out; 125 Drover's own failure; 126 and 127 as a
// shell; 128+n.
const table: [name: string, end: Partial<RunStatus>, code: number, stderr: RegExp][] = [
  ["complete with 0", { state: "complete", exitCode: 0 }, 0, /^$/],
  ["complete with 3", { state: "complete", exitCode: 3 }, 3, /^$/],
  ["complete with 255", { state: "complete", exitCode: 255 }, 255, /^$/],
  ["ended by a signal", { state: "complete", exitCode: 143, signal: "SIGTERM" }, 143, /ended by SIGTERM/],
  ["killed by KILL", killed(false), 137, /ended by SIGKILL/],
  [
    "S1: out of memory",
    { ...killed(true), description: "ran out of memory (64MiB)" },
    137,
    /The command ran out of memory \(64MiB\)\. Give it more with --memory/,
  ],
  [
    "S1: out of memory below a shell",
    { ...killed(true), signal: null, description: "ran out of memory (64MiB)" },
    137,
    /ran out of memory.*--memory/,
  ],
  ["complete without a code", { state: "complete", exitCode: null }, 125, /without an exit code/],
  [
    "timed out",
    { state: "timedout", spec: RunSpec.parse({ argv: ["x"], timeout: "5s" }) },
    124,
    /longer than its timeout of 5s/,
  ],
  ["not found", failure("command_not_found", "task"), 127, /because of command_not_found/],
  ["not executable", failure("not_executable", "task"), 126, /because of not_executable/],
  ["too many arguments", failure("arguments_too_long", "task"), 126, /because of arguments_too_long/],
  ["no such directory", failure("directory_not_found", "task"), 125, /because of directory_not_found/],
  ["start failed", failure("start_failed"), 125, /because of start_failed/],
  ["no machine in time", failure("queue_timeout"), 125, /because of queue_timeout/],
  ["unknown", { ...failure("machine_lost"), state: "unknown" }, 125, /because of machine_lost/],
  [
    "aborted by another",
    { state: "aborted", abort: { by: "ops", reason: "wrong branch" } },
    125,
    /aborted by ops: wrong branch/,
  ],
];

test.each(table)("run exits as the run ended: %s", async (_name, end, code, stderr) => {
  bench.plane.ends = end;
  const ended = await bench.run(["run", "--", "true"]);
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(stderr);
  expect(ended.stdout.toString()).toBe("");
});

test("what a run says of itself cannot act on the terminal", async () => {
  bench.plane.ends = {
    state: "failed",
    failure: { class: "infrastructure", code: "start_failed", text: "\u001b]0;title\u0007 \u202edone" },
  };
  const ended = await bench.run(["run", "--", "true"]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come through.
  expect(ended.stderr).not.toMatch(/[\u001b\u0007\u202e]/);
  expect(ended.stderr).toContain("\\x1b]0;title\\x07 \\u{202e}done");
});

test("with --json stdout is the final status alone, and the output goes to stderr", async () => {
  bench.plane.ends = { state: "complete", exitCode: 4 };
  bench.plane.logs.stdout = Buffer.from("to stdout\n");
  bench.plane.logs.stderr = Buffer.from("to stderr\n");
  const ended = await bench.run(["run", "--json", "--id", "json-1", "--", "true"]);
  bench.plane.logs.stdout = bench.plane.logs.stderr = Buffer.alloc(0);
  expect(ended.code).toBe(4);
  expect(JSON.parse(ended.stdout.toString())).toMatchObject({ id: "json-1", state: "complete", exitCode: 4 });
  expect(ended.stderr).toContain("to stdout\n");
  expect(ended.stderr).toContain("to stderr\n");
});

test("--detach prints the id, reads nothing more and leaves the run alone", async () => {
  bench.plane.ends = undefined;
  const before = bench.plane.seen.length;
  const ended = await bench.run(["run", "--detach", "--", "sleep", "1000"]);
  const [submission, ...more] = bench.plane.seen.slice(before);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(submission?.body).toMatchObject({ id: ended.stdout.toString().trim() });
  expect(more).toEqual([]);
});
