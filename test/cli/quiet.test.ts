import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunPatch } from "../edge/support/samples.ts";
import { type Bench, openBench } from "./support/command.ts";
import { problem, taskOf } from "./support/control-plane.ts";

// `drover run --quiet`: the output of the run, its exit code, and nothing else.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const failure = { class: "infrastructure", code: "machine_lost", text: "its machine is lost" } as const;
const run = (...flags: string[]) => bench.run(["run", ...flags, "--id", "r1", "--", "x"]);

test.each<[string, RunPatch, number]>([
  ["ended by a signal", { state: "complete", exitCode: 137, signal: "SIGKILL" }, 137],
  ["that took too long", { state: "timedout", exitCode: null }, 124],
  [
    "whose command is not there",
    { state: "failed", failure: { ...failure, code: "command_not_found" } },
    127,
  ],
])("nothing is said of a run %s, and its exit code says it (cli.md#quiet)", async (_what, ends, code) => {
  bench.plane.write("stdout", "out\n");
  bench.plane.write("stderr", "err\n");
  bench.plane.ends = ends;
  const loud = await run();
  expect(loud.stderr).toMatch(/^err\ndrover: /);
  const quiet = await run("--quiet");
  expect([quiet.code, quiet.stdout.toString(), quiet.stderr]).toEqual([code, "out\n", "err\n"]);
});

test.each<[string, () => void, RegExp]>([
  [
    "a machine that is lost",
    () => {
      bench.plane.ends = { state: "unknown", failure };
    },
    /^drover: its machine is lost/,
  ],
  [
    "a submission that is refused",
    () => bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 403, "missing_scope")),
    /^drover: it is missing_scope/,
  ],
])("%s is an error, and errors are said (cli.md#quiet)", async (_what, make, words) => {
  make();
  const ended = await run("--quiet");
  expect([ended.code, ended.stdout.toString()]).toEqual([125, ""]);
  expect(ended.stderr).toMatch(words);
});

test.each([
  ["Log Limit", "more than 10 MiB", { stream: "stdout" }],
  ["Log Truncated", "the last bytes did not arrive", { stream: "stderr" }],
])("that output is missing is said: %s (cli.md#quiet)", async (type, message, details) => {
  const event = { seq: 1, at: "2026-11-21T08:30:00.000Z", task: "main", type, message, details };
  const tasks = [taskOf({ phase: "dead", events: [event] })];
  bench.plane.ends = { state: "complete", exitCode: 0, tasks };
  const text = `drover: The output of run r1 is incomplete: ${message}.\n`;
  expect((await run("--quiet")).stderr).toBe(text);
  expect((await bench.run(["logs", "r1"])).stderr).toBe(text);
});
