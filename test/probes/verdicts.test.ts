import { describe, expect, test } from "vitest";
import { type BootProbe, readBoot } from "../../src/probes/boot.ts";
import { isSameNotice, noticeIn } from "../../src/probes/notice.ts";
import { judgeReport, type Verdict } from "../../src/probes/report.ts";
import { MAX_STALE_RUNS, staleAfter, troubleIn } from "../../src/probes/trouble.ts";
import type { Report } from "../../src/schema/host.ts";
import { NOTICE_DRIFT_MS } from "../../src/shared/limits.ts";

const NOW = 1_000_000;

function says(more: Partial<Report>): Report {
  return { incarnation: 2, seq: 5, full: true, ordersSeen: 0, attempts: [], ...more };
}

test.each<[incarnation: number, seq: number, verdict: Verdict]>([
  [1, 9, "earlier_start"],
  [3, 1, "later_start"],
  [2, 4, "old"],
  [2, 5, "old"],
  [2, 6, "fresh"],
])("start %d, number %d is %s (host-protocol.md#report)", (incarnation, seq, verdict) => {
  expect(judgeReport({ incarnation, seq }, { incarnation: 2, lastSeq: 5 })).toBe(verdict);
});

describe("a boot probe says something once (workers.md#t1)", () => {
  const failed: BootProbe = { ok: false, output: "degraded", exitCode: 3 };

  test.each<[string, BootProbe | null, Report["boot"], string | undefined]>([
    ["no word of it", null, undefined, undefined],
    ["not run yet", null, null, undefined],
    ["a success", failed, { ok: true, output: "" }, "the boot probe succeeded"],
    ["a failure", null, failed, "its boot probe `true` failed with exit code 3: degraded"],
    ["the same failure again", failed, failed, undefined],
    [
      "a signal",
      failed,
      { ok: false, output: "", exitCode: null },
      "its boot probe `true` failed (it was killed), and wrote nothing",
    ],
  ])("%s", (_what, known, boot, text) => {
    expect(readBoot(known, says({ boot }), "true")?.text).toBe(text);
  });
});

describe("what speaks against another run on a host", () => {
  const stuck = { tries: 5, error: "still there", treeGone: false, by: "cgroup" } as const;
  const attempts = [{ id: "a/main/1.1", state: "stopping" as const, kill: stuck }];
  const stale = { b: { since: NOW - 1_001, holder: "nfsd" } };

  test.each<[string, Partial<Report>, number, ReturnType<typeof troubleIn>]>([
    ["nothing", {}, 1_001, undefined],
    [
      "it says so (workers.md#broken-hosts)",
      { broken: "no disk" },
      1_001,
      { kind: "broken", text: "no disk" },
    ],
    [
      "a run is stale for too long (workers.md#stale-runs)",
      {},
      1_000,
      { kind: "broken", text: "run b has ended there, and nfsd still holds on to it" },
    ],
    [
      "it cannot kill (workers.md#unkillable-runs)",
      { attempts },
      1_001,
      { kind: "unkillable", text: "a/main/1.1: still there" },
    ],
    ["that it is broken comes first", { attempts, broken: "x" }, 1_001, { kind: "broken", text: "x" }],
  ])("%s", (_what, more, timeoutMs, trouble) => {
    expect(troubleIn(says(more), stale, timeoutMs, NOW)).toEqual(trouble);
  });
});

describe("stale runs after a report (workers.md#stale-runs)", () => {
  const known = { a: { since: 1, holder: null } };

  test.each<[string, Partial<Report>, string[]]>([
    ["named again", { stale: ["a"] }, ["a"]],
    ["another one too", { stale: ["a", { run: "b", holder: "nfsd" }] }, ["a", "b"]],
    ["a full report without the word", {}, []],
    ["a delta without the word", { full: false }, ["a"]],
  ])("%s", (_what, more, runs) => {
    const after = staleAfter(known, says(more), NOW);
    expect(Object.keys(after)).toEqual(runs);
    if (runs.includes("a")) expect(after.a?.since).toBe(1);
  });

  test(`of more than ${MAX_STALE_RUNS} the first count`, () => {
    const stale = Array.from({ length: MAX_STALE_RUNS + 1 }, (_, i) => `r${i}`);
    expect(Object.keys(staleAfter({}, says({ stale }), NOW))).toEqual(stale.slice(0, -1));
  });
});

describe("a notice of the machine's end", () => {
  test.each<[string, Partial<Report>, ReturnType<typeof noticeIn>]>([
    ["no word of it", {}, undefined],
    ["none", { draining: null }, null],
    ["without a time", { draining: "spot" }, { text: "spot", goneAt: null }],
    ["with a time", { draining: "spot", goneInMs: 90.4 }, { text: "spot", goneAt: NOW + 90 }],
    ["farther away than any date", { draining: "spot", goneInMs: 1e18 }, { text: "spot", goneAt: null }],
  ])("%s", (_what, more, notice) => {
    expect(noticeIn(says(more), NOW)).toEqual(notice);
  });

  test("the same, said a little later, is the same", () => {
    const known = { text: "spot", goneAt: NOW };
    expect(isSameNotice(known, { text: "spot", goneAt: NOW + NOTICE_DRIFT_MS })).toBe(true);
    expect(isSameNotice(known, { text: "spot", goneAt: NOW + NOTICE_DRIFT_MS + 1 })).toBe(false);
    expect(isSameNotice(known, { text: "spot", goneAt: null })).toBe(false);
  });
});
