import { describe, expect, test } from "vitest";
import {
  FIRST_CHECK_MS,
  MAX_REPORT_CHECK_CHARS,
  STARTING_CHECK_MS,
} from "../../../agent/core/checks/checks.ts";
import { type CheckLevel, textOf } from "../../../agent/core/checks/results.ts";
import { type AttemptJournal, journalOf } from "../../../agent/core/journal.ts";
import type { CheckRestart, CheckSpec } from "../../../src/schema/run/checks.ts";
import { MAX_CHECK_OUTPUT_CHARS } from "../../../src/shared/health/words.ts";
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { busyHost, Driven, EXIT, ID, LEASE_MS, run, stop } from "./drive.ts";

const EVERY_MS = 10_000;
const TCP: CheckSpec = {
  name: "port",
  probe: { tcp: { port: 80 } },
  intervalMs: EVERY_MS,
  timeoutMs: 5_000,
  passAfter: 1,
  failAfter: 3,
  startPeriodMs: 0,
};

/** A host with one attempt that runs, and that has this check. */
function checked(more: Partial<CheckSpec> = {}, checkRestart?: CheckRestart): Driven {
  return busyHost({ task: { checks: [{ ...TCP, ...more }], ...(checkRestart && { checkRestart }) } });
}

function result(level: CheckLevel, text = "", name = "port") {
  return { type: "checked", id: ID, name, result: { level, text, output: "" } } as const;
}

/** Waits until the check is tried, and gives the result. */
function tried(host: Driven, level: CheckLevel, text = ""): Driven {
  for (let guard = 0; host.message("check") === undefined && guard < 100; guard += 1) host.pass(100);
  for (let guard = 0; host.message("check") === undefined && guard < 100; guard += 1)
    host.pass(EVERY_MS / 10);
  return host.tell(result(level, text));
}

const check = (host: Driven) => host.state.attempts[ID]?.checking?.port;
const statusOf = (host: Driven) => check(host)?.status;
/** `+`, `~` and `-`: good, a warning, and bad. */
const LEVELS: Record<string, CheckLevel> = { "+": "passing", "~": "warning", "-": "critical" };
const all = (host: Driven, results: string) =>
  [...results].reduce((one, sign) => tried(one, LEVELS[sign] ?? "critical"), host);

describe("health.md#tries: a try that could not be made", () => {
  test("says nothing, counts for nothing, and is made again after the interval", () => {
    const host = all(checked({}, { limit: 3, graceMs: 0, ignoreWarnings: false }), "+--");
    const unmade = { type: "checked", id: ID, name: "port", result: null } as const;
    host.pass(EVERY_MS).tell(unmade).pass(EVERY_MS).tell(unmade);
    expect(check(host)).toMatchObject({ status: "passing", bad: 2, unhealthy: 2 });
    expect(statusOf(tried(host, "passing"))).toBe("passing");
  });
});

describe("health.md#statuses: what results in a row say of a check", () => {
  test.each<[string, Partial<CheckSpec>, string, string]>([
    ["nothing yet", {}, "", "pending"],
    ["health.md#status-1: the first good one", {}, "+", "passing"],
    ["health.md#status-1: one of two that are needed", { passAfter: 2 }, "+", "pending"],
    ["health.md#status-1: two of two", { passAfter: 2 }, "++", "passing"],
    ["health.md#status-1: not in a row", { passAfter: 2 }, "+-+", "pending"],
    ["health.md#status-2: two of three bad ones", {}, "--", "pending"],
    ["health.md#status-2: three of three", {}, "---", "critical"],
    ["health.md#status-2: three of three, after it passed", {}, "+---", "critical"],
    ["health.md#status-2: not in a row", {}, "+--+--", "passing"],
    [
      "health.md#status-2: warnings count together with others, and the last one says what",
      {},
      "--~",
      "warning",
    ],
    ["health.md#status-2: so it does with each that follows", {}, "--~-", "critical"],
    [
      "health.md#status-4: a good one that is not enough changes nothing",
      { passAfter: 2 },
      "++---+",
      "critical",
    ],
    ["it may recover", {}, "---+", "passing"],
    ["one failure is enough if the spec says so", { failAfter: 1 }, "-", "critical"],
  ])("%s", (_, more, results, status) => {
    expect(statusOf(all(checked(more), results))).toBe(status);
  });

  test("health.md#status-3: in the start period bad results do not count, until the first good one", () => {
    const slow = { startPeriodMs: 60_000, failAfter: 1 };
    expect(statusOf(all(checked(slow), "-----"))).toBe("pending");
    expect(statusOf(all(checked(slow), "---+-"))).toBe("critical");
    expect(statusOf(tried(checked(slow).pass(61_000), "critical"))).toBe("pending");
    expect(statusOf(all(checked(slow).pass(61_000), "--"))).toBe("critical");
  });
});

describe("health.md#tries: when a check is tried", () => {
  test("health.md#try-1: soon after the start, and no sooner", () => {
    const host = checked().pass(FIRST_CHECK_MS - 1);
    expect(host.owed()).toEqual([]);
    expect(host.pass(1).message("check")).toMatchObject({ to: `${ID}#port`, id: ID, check: TCP });
  });

  test("health.md#try-2: an interval after the begin of the last try, and never twice at a time", () => {
    const host = checked().pass(FIRST_CHECK_MS + 4_000);
    host.tell(result("passing"));
    expect(host.owed()).toEqual([]);
    expect(host.pass(EVERY_MS - 4_001).owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["check"]);
    host.pass(EVERY_MS * 3).tell(result("passing"));
    expect(host.pass(0).owed()).toEqual(["check"]);
  });

  test("health.md#try-3: each second in the start period, until it passes", () => {
    const host = checked({ startPeriodMs: 60_000 }).pass(FIRST_CHECK_MS).tell(result("critical"));
    expect(host.pass(STARTING_CHECK_MS).owed()).toEqual(["check"]);
    host.tell(result("passing"));
    expect(host.pass(EVERY_MS - 1).owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["check"]);
  });

  test.each<[string, (host: Driven) => Driven]>([
    ["the attempt is to stop", (host) => host.order([stop()])],
    ["its main process has ended", (host) => host.tell({ type: "exited", id: ID, exit: EXIT })],
    ["the agent is to end", (host) => host.tell({ type: "shutdown" })],
  ])("health.md#try-5: %s: it is tried no longer, and its result changes nothing", (_, ends) => {
    const host = ends(tried(checked(), "passing").pass(EVERY_MS));
    expect(host.owed()).not.toContain("check");
    expect(statusOf(host.tell(result("critical")))).toBe("passing");
  });

  test("a result that was not asked for changes nothing", () => {
    const host = checked();
    const { state } = host;
    host.tell(result("critical")).tell(result("critical", "", "other"));
    expect(host.state.attempts).toEqual(state.attempts);
  });
});

describe("health.md#restart: when a failing check stops its attempt", () => {
  const restart = { limit: 2, graceMs: 0, ignoreWarnings: false };

  test.each<[string, Partial<CheckRestart>, Partial<CheckSpec>, string, boolean]>([
    ["one of two bad results", {}, {}, "-", false],
    ["two of two", {}, {}, "--", true],
    ["not in a row", {}, {}, "-+-", false],
    ["warnings count", {}, {}, "~-", true],
    ["unless they are to be ignored: then one begins again", { ignoreWarnings: true }, {}, "-~-", false],
    ["a limit of one", { limit: 1 }, {}, "-", true],
    ["before the grace is over nothing counts", { graceMs: 60_000 }, {}, "----", false],
    ["nor in the start period", {}, { startPeriodMs: 60_000 }, "----", false],
    ["the status is apart from it", {}, { failAfter: 100 }, "+--", true],
  ])("%s", (_, more, spec, results, stops) => {
    const host = all(checked(spec, { ...restart, ...more }), results);
    expect(host.state.attempts[ID]?.stop?.by).toBe(stops ? "check" : undefined);
    expect(host.owed()).toEqual(stops ? ["signal"] : []);
  });

  test("without it nothing stops the attempt", () => {
    expect(all(checked(), "----------").owed()).toEqual([]);
  });

  test("the report names the check and what it met, at once, and does not say `stopped`", () => {
    const host = checked({}, restart);
    tried(tried(host, "critical", "no"), "critical", "connection refused");
    host.answer([run(ID)]).send();
    host.answer([run(ID)]);
    const [attempt] = host.pass(60_000).report()?.attempts ?? [];
    const unhealthy = { check: "port", failures: 2, output: "connection refused" };
    expect(attempt).toMatchObject({ state: "stopping", unhealthy });
    expect(attempt).not.toHaveProperty("stopped");
  });

  test("the next start of the agent still says so", () => {
    const { [ID]: attempt } = all(checked({}, restart), "--").state.attempts;
    const journal = JSON.parse(JSON.stringify(attempt && journalOf(attempt))) as AttemptJournal;
    const next = new Driven({ attempts: [{ id: ID, main: { kind: "running" }, journal }] });
    expect(next.state.attempts[ID]).toMatchObject({ stop: { by: "check" }, unhealthy: { check: "port" } });
  });
});

describe("health.md#report: what is news", () => {
  /** Whether a report is due within the delay that news of a check may have. */
  const hasNews = (host: Driven) => host.state.exchange.newsBy !== undefined;
  const quiet = (host: Driven) => {
    host.pass(START_REPORT_DELAY_MS);
    if (host.message("report") !== undefined) host.send();
    expect(hasNews(host)).toBe(false);
    return host;
  };

  test("a status that changes, and not each try", () => {
    const host = quiet(tried(quiet(checked()), "passing"));
    for (let n = 0; n < 20; n += 1) tried(host, "passing");
    expect(hasNews(host)).toBe(false);
    all(host, "--");
    expect(hasNews(host)).toBe(false);
    all(host, "-");
    expect(hasNews(host)).toBe(true);
  });

  test("the first failure of a pending check, and not the next one", () => {
    const host = quiet(checked());
    tried(host, "critical", "connection refused");
    expect(hasNews(host)).toBe(true);
    quiet(host);
    tried(host, "critical", "something else");
    expect(hasNews(host)).toBe(false);
    const [attempt] = host.pass(60_000).report()?.attempts ?? [];
    expect(attempt?.checks).toMatchObject([
      { name: "port", status: "pending", output: "connection refused" },
    ]);
  });

  test("the age of a status counts from its begin", () => {
    const host = tried(checked(), "passing").pass(45_000);
    host.send();
    host.answer([run(ID)]);
    const [attempt] = host.pass(15_000).report()?.attempts ?? [];
    expect(attempt?.checks).toEqual([{ name: "port", status: "passing", sinceAgoMs: 60_000 }]);
  });

  test("all texts of one report have a bound together", () => {
    const checks = Array.from({ length: 16 }, (_, n) => ({ ...TCP, name: `port-${n}` }));
    const ids = Array.from({ length: 8 }, (_, n) => `run-${n}/main/1.1`);
    const host = busyHost().order(ids.map((id) => run(id, { task: { checks } })));
    for (const id of ids) host.tell({ type: "launched", id, by: "processes" });
    host.pass(FIRST_CHECK_MS);
    for (const id of ids) {
      for (const { name } of checks) host.tell({ ...result("critical", "x".repeat(2_000), name), id });
    }
    const said = (host.pass(60_000).report()?.attempts ?? []).flatMap((one) => one.checks ?? []);
    expect(said).toHaveLength(ids.length * checks.length);
    const chars = said.reduce((sum, { output = "" }) => sum + output.length, 0);
    expect(chars).toBe(MAX_REPORT_CHECK_CHARS);
  });
});

describe("health.md#texts: what is kept of a result", () => {
  const text = (output: string, own = "it failed") => textOf({ level: "critical", text: own, output });

  test("the agent's words, and the end of the task's", () => {
    expect(text("")).toBe("it failed");
    expect(text("  no\n")).toBe("it failed: no");
    const long = text(`${"x".repeat(5_000)}the end`);
    expect(long).toHaveLength(MAX_CHECK_OUTPUT_CHARS);
    expect(long).toMatch(/^it failed: …x+the end$/);
    expect(text("more", "y".repeat(5_000))).toBe("y".repeat(MAX_CHECK_OUTPUT_CHARS));
  });

  test("nothing that a terminal would act on, and no half of a character", () => {
    expect(text("\u001b[31mred\u0000")).toBe("it failed: ?[31mred?");
    expect(text("😀".repeat(2_000)).isWellFormed()).toBe(true);
  });
});

describe("health.md#survives: a restart of the agent", () => {
  test("loses results and no checks: they are tried at once, and pending until then", () => {
    const { [ID]: attempt } = tried(checked({ startPeriodMs: 30_000 }), "passing").state.attempts;
    const journal = JSON.parse(JSON.stringify(attempt && journalOf(attempt))) as AttemptJournal;
    const lease = { until: LEASE_MS, ms: LEASE_MS };
    const next = new Driven({ attempts: [{ id: ID, main: { kind: "running" }, journal }], lease });
    next.now = (attempt?.startedAt ?? 0) + 40_000;
    next.tell({ type: "tick" }).tell({ type: "tick" });
    expect(statusOf(next)).toBe("pending");
    expect(next.owed()).toEqual(["check"]);
    // The start period is over: it counts from the start of the attempt.
    expect(statusOf(all(next, "---"))).toBe("critical");
  });
});
