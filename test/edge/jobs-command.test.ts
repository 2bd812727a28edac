import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// `drover jobs` against a real Drover, as a person uses it (jobs.md).

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("jobs-command");
  up = await startDrover(home);
  const printed = {
    name: "printed",
    spec: { argv: ["printf", "%s|%s", "${param.text}", "${job.tick}"], resources: { vcpus: 0 } },
    params: { text: { type: "string", default: "nothing", maxBytes: 1_024 } },
    // Far enough from each second of a test, and with ticks that are past.
    schedule: { cron: "0 0 1 1 *", zone: "Europe/Berlin" },
  };
  const copied = {
    name: "copied",
    spec: { argv: ["cat", "input"] },
    payload: "required",
    payloadFile: "input",
  };
  const other = {
    name: "other",
    spec: { argv: ["true"] },
    params: { x: { type: "string", required: true } },
  };
  writeFileSync(join(home, "jobs.json"), JSON.stringify([printed, other, copied]));
  expect((await jobs("apply", "--yes", "jobs.json")).code).toBe(0);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const jobs = async (...args: string[]) => {
  const { code, stdout, stderr } = await drover(home, ["jobs", ...args]);
  return { code, stdout: stdout.toString(), stderr };
};

test("a file is applied once, and after that it is as it says (jobs.md#put)", async () => {
  const { code, stdout } = await jobs("apply", "jobs.json");
  const lines = ["printed", "other", "copied"].map(
    (name) => `Job ${name} is already as the file says, version 1\n`,
  );
  expect([code, stdout]).toEqual([0, lines.join("")]);
});

test("the next ticks have their offsets and the ids of their runs (jobs.md#tick-3)", async () => {
  const { stdout } = await jobs("next", "printed", "--count", "2");
  expect(stdout.trimEnd().split("\n").slice(1)).toEqual([
    expect.stringMatching(
      /^\d{4}-12-31T23:00:00.000Z +\d{4}-01-01T00:00:00\+01:00 +printed-at-\d{4}1231t2300z$/,
    ),
    expect.stringMatching(
      /^\d{4}-12-31T23:00:00.000Z +\d{4}-01-01T00:00:00\+01:00 +printed-at-\d{4}1231t2300z$/,
    ),
  ]);
});

test("case 25: a value that a shell would execute arrives byte for byte (jobs.md#bytes)", async () => {
  const evil = '"; rm -rf /" $(id) `id` ${DROVER_RUN_ID} \n\\';
  const { code, stdout, stderr } = await jobs("trigger", "printed", "--param", `text=${evil}`);
  expect([code, stdout, stderr]).toEqual([0, `${evil}|`, ""]);
});

test("case 25: a payload of 64 KiB arrives byte for byte (jobs.md#payload)", async () => {
  const bytes = Buffer.from(Array.from({ length: 64 * 1024 }, (_, at) => (at * 7) % 256));
  writeFileSync(join(home, "payload"), bytes);
  const { code, stdout } = await drover(home, ["jobs", "trigger", "copied", "--payload", "payload"]);
  expect(code).toBe(0);
  expect(stdout.equals(bytes)).toBe(true);
});

test("the same key finds the same run, and other values under it are refused (jobs.md#trigger)", async () => {
  const first = await jobs("trigger", "printed", "--key", "k1", "--detach");
  const again = await jobs("trigger", "printed", "--key", "k1", "--detach");
  expect([first.stdout, again.stdout]).toEqual(["printed-by-k1\n", "printed-by-k1\n"]);
  expect(again.stderr).toContain("exists already");
  const refused = await jobs("trigger", "printed", "--key", "k1", "--param", "text=x", "--detach");
  expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining("was given something else")]);
});

test("a backfill triggers each past tick once, however often it is repeated (jobs.md#trigger)", async () => {
  const range = ["--since", "2023-06-01T00:00:00Z", "--until", "2026-06-01T00:00:00Z", "--yes"];
  const first = await jobs("trigger", "printed", ...range, "--max-parallel", "2");
  expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(/^drover: 3 runs made$/m)]);
  const again = await jobs("trigger", "printed", ...range);
  expect(again.stderr).toMatch(/^drover: 0 runs made, 3 found that existed already$/m);
  expect(again.stdout.trimEnd().split("\n").sort()).toEqual(first.stdout.trimEnd().split("\n").sort());
  const { stdout } = await drover(home, ["logs", "printed-at-20241231t2300z"]);
  expect(stdout.toString()).toBe("nothing|2024-12-31T23:00:00.000Z");
});

test("a script that would execute a value is refused, and nothing is stored (jobs.md#script-1)", async () => {
  const bad = {
    name: "bad",
    spec: { argv: ["sh", "-c", "echo ${param.x}"] },
    params: { x: { type: "string" } },
  };
  writeFileSync(join(home, "bad.json"), JSON.stringify(bad));
  const { code, stderr } = await jobs("apply", "--dry-run", "bad.json");
  expect(code).toBe(125);
  expect(stderr).toMatch(/^ {2}\/spec\/argv\/2: .*"\$DROVER_PARAM_X"/m);
  expect((await jobs("show", "bad")).stderr).toContain('there is no job "bad"');
});

test("pause, resume, history and rm (jobs.md#paused)", async () => {
  expect((await jobs("pause", "printed")).stderr).toBe("drover: the job printed is paused\n");
  expect((await jobs("list")).stdout).toMatch(/^printed +1 +default +0 0 1 1 \* Europe\/Berlin +paused$/m);
  expect((await jobs("resume", "printed")).stderr).toMatch(
    /^drover: the job printed is resumed; its next tick/,
  );
  expect((await jobs("trigger", "other", "--detach")).stderr).toContain("--param x");
  expect((await jobs("trigger", "printed", "--key", "last")).code).toBe(0);
  const { stdout } = await jobs("history", "printed", "--limit", "1");
  expect(stdout).toMatch(/^\S+ +triggered +complete +0 +\S+ +printed-by-last$/m);
  expect((await jobs("rm", "other")).stderr).toBe("drover: the job other is removed\n");
  expect((await jobs("list")).stdout).not.toContain("other");
});
