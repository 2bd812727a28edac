import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, statusOf, summaryOf } from "./support/control-plane.ts";

// `--keep` of `drover run` and `drover rerun`, and what people are told of a kept run (cli.md#debug).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

type Kept = NonNullable<RunStatus["kept"]>;
const keptOf = (more: Partial<Kept> = {}): Kept => ({
  worker: "w-1",
  until: new Date(Date.now() + 30 * 60_000 + 900).toISOString(),
  task: "main",
  perHour: null,
  cost: null,
  releasing: false,
  ...more,
});

/** What was submitted last. */
function sent(): Record<string, unknown> {
  const last = bench.plane.seen.findLast(({ method, path }) => method === "POST" && path === "/v1/runs");
  return last?.body as Record<string, unknown>; // by the command
}

/** A run that has failed, and that its machine keeps. */
function kept(id: string, more: Partial<Kept> = {}): void {
  const run = statusOf(id, { state: "complete", exitCode: 3 });
  bench.plane.runs.set(id, { ...run, kept: keptOf(more) });
}

describe("--keep", () => {
  test.each<[string[], string | undefined, string[]]>([
    [["--keep", "--", "make"], "30m", ["make"]],
    [["--keep=2h", "make", "--keep=1h"], "2h", ["make", "--keep=1h"]],
    [["--keep", "make", "test"], "30m", ["make", "test"]],
    [["--id", "--keep", "make"], undefined, ["make"]],
    [["make", "--keep"], undefined, ["make", "--keep"]],
    [["--", "make", "--keep"], undefined, ["make", "--keep"]],
  ])("drover run %j", async (words, keep, argv) => {
    await bench.run(["run", "--quiet", ...words]);
    expect([sent().keep, sent().argv]).toEqual([keep, argv]);
  });

  test("drover rerun: the word behind it is a run, and stderr says what changes", async () => {
    bench.plane.runs.set("r1", statusOf("r1", { state: "complete", exitCode: 3 }));
    const { stderr } = await bench.run(["rerun", "--detach", "--keep", "r1"]);
    expect(sent()).toMatchObject({ rerunOf: "r1", keep: "30m" });
    expect(stderr).toContain("with --keep 30m instead of none");
  });

  test.each([
    ["9h", "It must be at most 8h."],
    ["0s", "It must be longer than zero"],
    ["30", "It needs a unit"],
    ["", "It must be a duration"],
  ])("refuses %j", async (value, text) => {
    const { code, stderr } = await bench.run(["run", `--keep=${value}`, "--", "true"]);
    expect([code, stderr]).toEqual([125, expect.stringContaining(text)]);
    expect(bench.plane.seen.some(({ method }) => method === "POST")).toBe(false);
  });
});

describe("what is said of a kept run", () => {
  test.each<[string, Partial<Kept>, RegExp]>([
    [
      "its price",
      { perHour: 0.5, cost: 0.25 },
      /kept on its machine for (30m|29m\d+s), for 0\.50 an hour, 0\.25 until then\.$/m,
    ],
    ["nothing of a price that is zero", { perHour: 0, cost: 0 }, /kept on its machine for (30m|29m\d+s)\.$/m],
    ["nothing of a price that is unknown", {}, /kept on its machine for (30m|29m\d+s)\.$/m],
  ])("drover run: %s", async (_, more, line) => {
    bench.plane.ends = { state: "complete", exitCode: 3, kept: keptOf(more) };
    const { code, stderr } = await bench.run(["run", "--keep", "--id", "k", "--", "false"]);
    expect([code, stderr]).toEqual([3, expect.stringMatching(line)]);
    expect(stderr).toContain("drover release k");
  });

  test("drover run --quiet says nothing of it", async () => {
    bench.plane.ends = { state: "complete", exitCode: 3, kept: keptOf() };
    expect((await bench.run(["run", "--quiet", "--keep", "--", "false"])).stderr).toBe("");
  });

  test("drover status and drover ps show it", async () => {
    kept("k", { perHour: 2, cost: 1 });
    const { stdout } = await bench.run(["status", "k"]);
    expect(stdout.toString()).toMatch(
      /^Kept +on worker w-1 until \S+ \(\S+\), for 2\.00 an hour, 1\.00 until then; drover release k ends/m,
    );
    kept("k", { releasing: true });
    expect((await bench.run(["status", "k"])).stdout.toString()).toMatch(
      /^Kept +on worker w-1, which is letting it go$/m,
    );
    const items = [summaryOf("k", { state: "failed", keptUntil: keptOf().until })];
    bench.plane.on("GET", /^\/v1\/runs$/, (_, res) => json(res, 200, { items, next: null, service: [] }));
    expect((await bench.run(["ps"])).stdout.toString()).toMatch(/^k +failed \(kept\) /m);
  });
});

describe("drover release", () => {
  test.each<[string, Kept | undefined, Kept | undefined, number, RegExp]>([
    ["a kept run", keptOf(), undefined, 0, /^k is released$/m],
    ["one that is not kept", undefined, undefined, 0, /^k was not kept$/m],
    [
      "one whose host is silent",
      keptOf(),
      keptOf({ releasing: true }),
      125,
      /^k is not released yet: worker w-1/m,
    ],
  ])("%s", async (_, before, after, exitCode, line) => {
    const run = statusOf("k", { state: "complete", exitCode: 3 });
    bench.plane.runs.set("k", { ...run, kept: before });
    bench.plane.on("POST", /^\/v1\/runs\/k\/release$/, (_seen, res) =>
      json(res, 200, { ...run, kept: after }),
    );
    const { code, stdout } = await bench.run(["release", "k"]);
    expect([code, stdout.toString()]).toEqual([exitCode, expect.stringMatching(line)]);
  });
});
