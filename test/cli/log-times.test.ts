import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LEAST_STEP_MS } from "../../client/runs/until-done.ts";
import type { LogArrivals } from "../../src/schema/run/arrivals.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, statusOf } from "./support/control-plane.ts";

// `drover logs` in the order of arrival, with times, and since a time (api.md#arrivals).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.runs.set("r1", statusOf("r1", { state: "complete", exitCode: 0 }));
  bench.plane.logs.stdout = Buffer.from("one\nthree\nhalf");
  bench.plane.logs.stderr = Buffer.from("two\nfour\n");
});
afterEach(() => bench.close());

type Item = LogArrivals["items"][number];

const at = (second: number) => `2026-11-21T08:00:0${second}.000Z`;
const item = (
  stream: Item["stream"],
  from: number,
  to: number,
  second: number | null,
  after?: number,
): Item => {
  const [time, since] = [second, after ?? null].map((one) => (one === null ? null : at(one)));
  return { stream, from, to, at: time ?? null, after: since ?? null };
};

const IN_TURNS = [
  item("stdout", 0, 4, 1),
  item("stderr", 0, 4, 2),
  item("stdout", 4, 10, 3),
  item("stderr", 4, 9, 4),
  item("stdout", 10, 14, 5),
];

/** The control plane says this of the order, in one page or in several. */
function arrived(items: Item[], perPage = items.length): void {
  const stored = { stdout: bench.plane.logs.stdout.length, stderr: bench.plane.logs.stderr.length };
  bench.plane.on("GET", /\/logs\/main$/, ({ query }, res) => {
    const from = { stdout: Number(query.get("stdout") ?? 0), stderr: Number(query.get("stderr") ?? 0) };
    const only = query.get("stream");
    const left = items.filter(({ stream, to }) => stream === (only ?? stream) && to > from[stream]);
    const page = left
      .slice(0, perPage)
      .map((one) => ({ ...one, from: Math.max(one.from, from[one.stream]) }));
    const next = { ...from };
    for (const { stream, to } of page) next[stream] = to;
    json(res, 200, { attempt: "1.1", ended: true, stored, next, items: page } satisfies LogArrivals);
  });
}

/** What a terminal shows: both streams of the command in one file. */
async function shown(...args: string[]): Promise<string> {
  const path = join(bench.dir, "terminal");
  const file = openSync(path, "a");
  try {
    expect((await bench.run(["logs", ...args], { stdio: ["ignore", file, file] })).code).toBe(0);
  } finally {
    closeSync(file);
  }
  return readFileSync(path, "utf8");
}

describe.each([9, 2, 1])("in pages of %i", (perPage) => {
  test("both streams come in the order in which they arrived", async () => {
    arrived(IN_TURNS, perPage);
    expect(await shown("r1")).toBe("one\ntwo\nthree\nfour\nhalf");
  });
});

test.each<[string[], string[]]>([
  [[], [`${at(1)} one`, `${at(2)} two`, `${at(3)} three`, `${at(4)} four`, `${at(5)} half`]],
  [["--stderr"], [`${at(2)} two`, `${at(4)} four`]],
  [
    ["--tail", "1"],
    [`${at(4)} four`, `${at(5)} half`],
  ],
  [
    ["--tail", "6B"],
    [`${at(2)} `, `${at(3)} e`, `${at(4)} four`, `${at(5)} half`],
  ],
  [["-f"], [`${at(1)} one`, `${at(2)} two`, `${at(3)} three`, `${at(4)} four`, `${at(5)} half`]],
])("--timestamps %j: whole lines, each after the time at which its end arrived", async (flags, lines) => {
  arrived(IN_TURNS);
  const sorted = (all: string[]) => [...all].sort();
  const text = await shown("--timestamps", ...flags, "r1");
  expect(sorted(text.trimEnd().split("\n"))).toEqual(sorted(lines));
});

test("a line that came in parts has the time of its last part", async () => {
  bench.plane.logs.stdout = Buffer.from("one\n");
  bench.plane.logs.stderr = Buffer.alloc(0);
  arrived([item("stdout", 0, 2, 1), item("stdout", 2, 4, 3)]);
  expect(await shown("-t", "r1")).toBe(`${at(3)} one\n`);
});

test("the lines of several runs have their prefix, and then their time", async () => {
  arrived(IN_TURNS);
  bench.plane.runs.set("other", statusOf("other", { state: "complete", exitCode: 0 }));
  const { stdout } = await bench.run(["logs", "-t", "--stdout", "--tail", "1", "r1", "other"]);
  expect(stdout.toString().split("\n").sort()).toEqual([
    "",
    `other | ${at(5)} half`,
    `r1    | ${at(5)} half`,
  ]);
});

test.each([
  ["10m", /T/],
  ["2026-11-21T08:00:03Z", /^2026-11-21T08:00:03\.000Z$/],
  ["03:00", /T03:00:00\.000Z$/],
])("--since %s asks for what arrived since then", async (since, instant) => {
  expect((await bench.run(["logs", "--since", since, "r1"])).code).toBe(0);
  const asked = await bench.plane.requests("GET", /\/logs\/main$/);
  expect(asked.every(({ query }) => instant.test(query.get("since") ?? ""))).toBe(true);
});

test.each(["yesterday", "-5m", "25:00", "2026-13-01T00:00:00Z", "2026-11-21", "", "5"])(
  "--since %j is an error that says what to write",
  async (since) => {
    const { code, stderr } = await bench.run(["logs", "--since", since, "r1"]);
    expect(code).toBe(125);
    expect(stderr).toMatch(/--since cannot be .*It must be a duration such as 2h, a time of day in UTC/);
  },
);

describe("what is not known is said on stderr, once (host-protocol.md#stamps)", () => {
  const UNSTAMPED = [item("stdout", 0, 14, null), item("stderr", 0, 9, null)];
  const GAP = [item("stdout", 0, 4, 1), item("stdout", 4, 14, 9, 2), item("stderr", 0, 9, 9, 2)];

  test.each<[string, Item[], string[], RegExp]>([
    [
      "an agent that does not stamp",
      UNSTAMPED,
      ["-t"],
      /^drover: When the output of run r1 arrived is not known/,
    ],
    ["the same with --since", UNSTAMPED, ["--since", "1h"], /It is shown whole, without times/],
    [
      "a time without an agent",
      GAP,
      ["-t"],
      /^drover: Some times of run r1 are too late: .* from 2026-11-21T08:00:02/,
    ],
    ["nothing, if no times are asked for", UNSTAMPED, [], /^$/],
    ["nothing, if all is known", IN_TURNS, ["-t"], /^$/],
  ])("%s", async (_what, items, flags, said) => {
    arrived(items);
    const { code, stderr } = await bench.run(["logs", ...flags, "r1"]);
    const own = stderr.split("\n").filter((line) => line.startsWith("drover: "));
    expect([code, own.length]).toEqual([0, said.source === "^$" ? 0 : 1]);
    expect(own.join("\n")).toMatch(said);
  });

  test("lines without a time have a dash", async () => {
    arrived(UNSTAMPED);
    const { stdout } = await bench.run(["logs", "-t", "r1"]);
    expect(stdout.toString()).toBe("- one\n- three\n- half\n");
  });
});

test("followed output comes as it arrives, with its times", async () => {
  const { plane } = bench;
  plane.runs.set("r1", statusOf("r1", { state: "running" }));
  plane.logs.stdout = Buffer.alloc(0);
  plane.logs.stderr = Buffer.alloc(0);
  plane.logsEnded = false;
  const running = bench.start(["logs", "-t", "-f", "r1"]);
  await plane.requests("GET", /\/logs\/main$/);
  for (const word of ["first", "second"]) {
    plane.write("stderr", `${word}\n`);
    await running.says(new RegExp(`Z ${word}\n`));
    plane.write("stdout", `${word}\n`);
    await running.says(new RegExp(`Z ${word}\n`), "stdout");
  }
  plane.end({ state: "complete", exitCode: 0 });
  plane.endLogs();
  expect((await running.ended).code).toBe(0);
});

test("output that grows without a pause is followed in steps (api.md#arrivals)", async () => {
  const { plane } = bench;
  plane.runs.set("r1", statusOf("r1", { state: "running" }));
  plane.logsEnded = false;
  const begunAt = performance.now();
  const running = bench.start(["logs", "-f", "r1"]);
  await plane.requests("GET", /\/logs\/main$/);
  for (let line = 0; line < 300; line += 1) {
    plane.write(line % 2 === 0 ? "stdout" : "stderr", `${line}\n`);
    await setTimeout(5);
  }
  plane.end({ state: "complete", exitCode: 0 });
  plane.endLogs();
  expect((await running.ended).code).toBe(0);
  const steps = (performance.now() - begunAt) / LEAST_STEP_MS;
  const asked = plane.seen.filter(({ path }) => /\/logs\/main$/.test(path));
  // One page before all, one for what the last step has left, and one for the end.
  expect(asked.length).toBeLessThanOrEqual(steps + 3);
});

test("a broken connection in the middle of the bytes loses none, and repeats none", async () => {
  arrived(IN_TURNS);
  const whole = bench.plane.logs.stdout;
  bench.plane.on(
    "GET",
    /\/logs\/main\/stdout$/,
    (_, res) => {
      res.writeHead(206, { "content-range": `bytes 0-13/*`, "content-length": 14 });
      res.write(whole.subarray(0, 6), () => res.destroy());
    },
    1,
  );
  expect(await shown("r1")).toBe("one\ntwo\nthree\nfour\nhalf");
});
