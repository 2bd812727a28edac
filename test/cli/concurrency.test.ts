import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { concurrencyKey, concurrencyText } from "../../cli/run/start/concurrency.ts";
import { type Bench, openBench } from "./support/command.ts";
import { problem, type Seen } from "./support/control-plane.ts";

// What `drover run` submits of a concurrency key (pool.md#concurrency-keys).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

/** What was submitted: the plane refuses it, so the command ends at once. */
async function submitted(
  ...words: string[]
): Promise<{ code: number | null; stderr: string; sent: unknown }> {
  let sent: unknown;
  bench.plane.on("POST", /^\/v1\/runs$/, ({ body }: Seen, res) => {
    sent = (body as { concurrency?: unknown }).concurrency; // by the command
    problem(res, 409, "concurrency_held", {
      detail: 'the concurrency key "deploy" has no slot: run a is there',
    });
  });
  const { code, stderr } = await bench.run(["run", ...words]);
  return { code, stderr, sent };
}

describe("flags say which key", () => {
  test.each<[string, string[], object]>([
    ["alone", ["--concurrency", "deploy"], { key: "deploy" }],
    ["with its limit", ["--concurrency", "deploy=3"], { key: "deploy", limit: 3 }],
    [
      "with a strategy, and how many may wait",
      ["--concurrency", "deploy", "--concurrency-strategy", "round-robin", "--queue-max", "0"],
      { key: "deploy", strategy: "round-robin", queueMax: 0 },
    ],
  ])("%s", async (_what, flags, field) => {
    expect((await submitted(...flags, "--", "true")).sent).toEqual(field);
  });

  test("and what the file does not say", async () => {
    const file = join(bench.dir, "run.json");
    writeFileSync(file, JSON.stringify({ argv: ["true"], concurrency: { key: "deploy", limit: 2 } }));
    expect((await submitted("-f", file)).sent).toEqual({ key: "deploy", limit: 2 });
    const strategy = ["--concurrency-strategy", "cancel-new"];
    expect((await submitted("-f", file, ...strategy)).sent).toEqual({
      key: "deploy",
      limit: 2,
      strategy: "cancel-new",
    });
    expect((await submitted("-f", file, "--concurrency", "docs=1")).sent).toEqual({ key: "docs", limit: 1 });
  });
});

test("a run that is refused is no run: exit code 125, and the words of the pool", async () => {
  const { code, stderr } = await submitted("--concurrency", "deploy", "--", "true");
  expect(code).toBe(125);
  expect(stderr).toContain('the concurrency key "deploy" has no slot: run a is there');
});

test.each([
  ["deploy", { key: "deploy" }],
  ["a=b", { key: "a=b" }],
  ["a=b=2", { key: "a=b", limit: 2 }],
  ["tenant 7=10000", { key: "tenant 7", limit: 10_000 }],
])("%s is a key with its limit", (text, meaning) => {
  expect(concurrencyKey(text)).toEqual(meaning);
});

test.each([
  [["--concurrency", "=2"], /It must be a key of 1 to 200 characters/],
  [["--concurrency", "k".repeat(201)], /It must be a key of 1 to 200 characters/],
  [["--concurrency", "a=0"], /It must be a whole number from 1 to 10000/],
  [["--concurrency", "a=10001"], /It must be a whole number from 1 to 10000/],
  [["--concurrency", "a", "--queue-max", "-1"], /It must be a whole number from 0/],
  [["--concurrency", "a", "--concurrency-strategy", "any"], /Allowed choices are queue, queue-one/],
  [["--queue-max", "1"], /--queue-max is about the runs with a concurrency key/],
  [["--concurrency-strategy", "queue"], /--concurrency-strategy is about the runs with a concurrency key/],
])("%j is a mistake that is named before anything is sent", async (flags, text) => {
  const { stderr, sent } = await submitted(...flags, "--", "true");
  expect(stderr).toMatch(text);
  expect(sent).toBeUndefined();
});

test.each([
  [undefined, ""],
  [{ key: "site" }, "site (1 at once, queue)"],
  [
    { key: "site", limit: 5, strategy: "round-robin" as const, queueMax: 9 },
    "site (5 at once, round-robin, 9 may wait)",
  ],
])("drover status shows %j as %j", (concurrency, text) => {
  expect(concurrencyText({ concurrency })).toBe(text);
});
