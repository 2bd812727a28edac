import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AuditEntry } from "../../src/schema/access/audit.ts";
import type { HistoryItem } from "../../src/schema/pool/history.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen } from "./support/control-plane.ts";

// What `drover history` asks for and shows (api.md#history-of-a-pool).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const HISTORY = /^\/v1\/pools\/[a-z]+\/history$/;
const AUDIT = /^\/v1\/audit$/;
const LONG_AGO = "2020-01-01T00:00:00.000Z";
const at = (minute: number) => `2026-11-21T03:0${minute}:00.000Z`;
const SPAN = ["--since", at(0), "--until", at(9)];

const item = (minute: number, what: HistoryItem["what"], more: Partial<HistoryItem>): HistoryItem => ({
  at: at(minute),
  what,
  run: null,
  worker: null,
  project: "default",
  text: "",
  ...more,
});

const entry = (minute: number, action: AuditEntry["action"], more: Partial<AuditEntry> = {}): AuditEntry => ({
  id: `pool/build/${minute}`,
  at: at(minute),
  recordedAt: at(minute),
  actor: { kind: "token", name: "ci" },
  action,
  target: { kind: "pool", id: "build" },
  pool: "build",
  run: null,
  project: "default",
  result: "ok",
  reason: null,
  diff: null,
  via: null,
  ...more,
});

function serve(items: HistoryItem[], entries: AuditEntry[] = [], completeSince = LONG_AGO): void {
  bench.plane.on("GET", HISTORY, (_, res) => json(res, 200, { items, next: null, completeSince }));
  bench.plane.on("GET", AUDIT, (_, res) =>
    json(res, 200, { items: entries, next: null, follow: "", service: [] }),
  );
}

test("what happened and what people did stand in one order of time", async () => {
  const diff = [{ field: "/maxInstances", from: "2", to: "4" }];
  serve(
    [
      item(1, "run_queued", { run: "a", text: "make test" }),
      item(3, "run_placed", { run: "a", worker: "w-1" }),
      item(4, "machine_failed", { worker: "w-2", text: "capacity: sold out" }),
    ],
    [
      entry(5, "run.abort", { target: { kind: "run", id: "a" }, reason: "late" }),
      entry(2, "pool.put", { diff }),
      entry(1, "run.submit"),
    ],
  );
  const { code, stdout, stderr } = await bench.run(["history", "build", ...SPAN]);
  expect([code, stderr]).toEqual([0, ""]);
  const rows = stdout.toString().trimEnd().split("\n").slice(1);
  expect(rows.map((row) => row.split(/ {2,}/).slice(1))).toEqual([
    ["run_queued", "a", "make test"],
    ["pool.put", "build", "by token:ci: /maxInstances: 2 -> 4"],
    ["run_placed", "a", "on w-1"],
    ["machine_failed", "w-2", "capacity: sold out"],
    ["run.abort", "a", "by token:ci: late"],
  ]);
});

test("the rest is read on from where an answer ends", async () => {
  serve([item(5, "run_queued", { run: "b" })]);
  const first = { items: [item(1, "run_queued", { run: "a" })], next: at(4), completeSince: LONG_AGO };
  bench.plane.on("GET", HISTORY, (_, res) => json(res, 200, first), 1);
  const { stdout } = await bench.run(["history", "build", "--json", ...SPAN]);
  const runs = stdout.toString().trimEnd().split("\n");
  expect(runs.map((line) => JSON.parse(line).run)).toEqual(["a", "b"]);
  const asked = bench.plane.seen.filter(({ path }) => HISTORY.test(path));
  expect(asked.map(({ query }) => [query.get("since"), query.get("until")])).toEqual([
    [at(0), at(9)],
    [at(4), at(9)],
  ]);
});

describe("what is left out is said", () => {
  test("what people did, if the token may not read it", async () => {
    serve([]);
    bench.plane.on("GET", AUDIT, (_, res) => problem(res, 403, "missing_scope"));
    const { code, stdout, stderr } = await bench.run(["history", "build", ...SPAN]);
    expect([code, stdout.toString()]).toEqual([0, "Nothing happened that is still known.\n"]);
    expect(stderr).toMatch(/lacks audit:read/);
  });

  test("ends that are older than the retention", async () => {
    serve([], [], at(5));
    expect((await bench.run(["history", "build", ...SPAN])).stderr).toMatch(
      /before 2026-11-21T03:05.* may be gone/,
    );
  });

  test("hold-offs that are in force, if the history goes until now", async () => {
    serve([]);
    const holdOffs = [
      { scope: "all", cause: "quota", until: null, trying: false, tries: 1, reason: "too many" },
    ];
    bench.plane.on("GET", /^\/v1\/pools\/build$/, (_, res) => json(res, 200, { holdOffs }));
    expect((await bench.run(["history", "build"])).stderr).toMatch(
      /\(all\), until the configuration changes: too many/,
    );
  });
});

describe("a time (api.md#history-of-a-pool)", () => {
  const asked = async (...flags: string[]) => {
    serve([]);
    bench.plane.on("GET", /^\/v1\/pools\/default$/, (_, res) => json(res, 200, { holdOffs: [] }));
    bench.plane.seen.length = 0;
    const before = Date.now();
    const { code, stderr } = await bench.run(["history", ...flags]);
    const [{ query } = { query: new URLSearchParams() }]: Pick<Seen, "query">[] = bench.plane.seen.filter(
      ({ path }) => HISTORY.test(path),
    );
    const [since = 0, until = 0] = ["since", "until"].map((name) => Date.parse(query.get(name) ?? ""));
    return { code, stderr, since, until, before, after: Date.now() };
  };

  test("is an hour until now, if none is named", async () => {
    const { since, until, before, after } = await asked();
    expect(until - since).toBe(3_600_000);
    expect(until >= before - 1 && until <= after).toBe(true);
  });

  test("of day is the latest before now, in UTC", async () => {
    const { since, until, after } = await asked("--since", "03:00");
    expect(new Date(since).toISOString()).toMatch(/T03:00:00\.000Z$/);
    expect(since <= after && until - since <= 86_400_000).toBe(true);
  });

  test("of day ends where it next comes after the beginning", async () => {
    const { since, until } = await asked("--since", "03:00", "--until", "02:59");
    expect(until - since).toBe(86_340_000);
    const short = await asked("--since", "23:50", "--until", "00:10");
    expect(short.until - short.since).toBe(1_200_000);
  });

  test.each([["25:00"], ["3"], ["2026-11-21"], ["soon"]])("is refused as %s", async (text) => {
    const { code, stderr } = await asked("--since", text);
    expect(code).toBe(125);
    expect(stderr).toMatch(/--since[\s\S]*time of day in UTC/);
  });

  test("is refused if it ends before it begins", async () => {
    const { code, stderr } = await asked("--since", at(5), "--until", at(5));
    expect(code).toBe(125);
    expect(stderr).toMatch(/not before --until/);
  });
});
