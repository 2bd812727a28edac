import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../src/core/worker/machine.ts";
import { livePlacements } from "../../src/core/worker/state.ts";
import { plainReport, readRunProbe } from "../../src/probes/plain-text.ts";
import { Report } from "../../src/schema/host.ts";
import {
  at,
  attemptOf,
  created,
  holding,
  intent,
  nothing,
  owed,
  report,
  T0,
} from "../core/support/worker.ts";

const HOST: WorkerEvent = { type: "enroll", secret: "whsec_1", bootId: "boot-1" };

const NOTHING = { runs: [] as string[], stale: [] as string[], broken: false, booted: false, ordersSeen: 0 };
const read = (text: string) => {
  const { runs, ...probe } = readRunProbe(text);
  return { runs: [...runs], ...probe };
};

describe("the lines of a run probe, by exact match (workers.md#plain-text-reports)", () => {
  test.each<[string, string, Partial<typeof NOTHING>]>([
    ["workers.md#plain-1: an empty line is ignored", "\n\n", {}],
    ["workers.md#plain-2: it cannot run anything", "broken\n", { broken: true }],
    ["workers.md#plain-3: no run id", "No such file\nUPPER\n", {}],
    ["workers.md#plain-4: a process lives", "build-1\nbuild-2\n", { runs: ["build-1", "build-2"] }],
    ["workers.md#plain-4: the last line without its end", "build-1", { runs: ["build-1"] }],
    ["workers.md#plain-5: something still holds on", "build-1 stale\n", { stale: ["build-1"] }],
    ["workers.md#plain-6: any other word", "build-1 dead\nbuild-2 stale now\n", {}],
    [
      "workers.md#plain-exact: nothing is trimmed",
      "build-1 \n build-2\nbuild-3\r\nbroken \nbuild-4  stale\n",
      {},
    ],
    [
      "ours: the orders that it has applied, the last that it names",
      "orders 4\norders 7\n",
      { ordersSeen: 7 },
    ],
    ["A6 plain-boot: its boot probe succeeded", "boot ok\n", { booted: true }],
    ["A6 plain-boot: no other words", "boot\nboot ok \nboot failed\n", { runs: ["boot"] }],
    ["ours: no revision", "orders\norders x\norders -1\n", { runs: ["orders"] }],
  ])("%s", (_what, text, probe) => {
    expect(read(text)).toEqual({ ...NOTHING, ...probe });
  });
});

describe("the report that it is", () => {
  const worker = holding(["a", "b"]);
  const of = (text: string) => plainReport(text, 1_700_000_000, 3, livePlacements(worker));
  const told = (text: string) =>
    owed(
      at(worker, T0, report(1), { type: "report", report: { ...of(text), incarnation: 1 } }),
      T0,
      "observed",
    );

  test("one like any other, numbered by when it was sent", () => {
    const made = of("a\nbroken\nb stale\n");
    expect(Report.parse(made)).toEqual(made);
    expect(made).toMatchObject({ incarnation: 3, seq: 1_700_000_000, full: true, stale: ["b"] });
    expect(made.broken).toBeTypeOf("string");
  });

  test("A6 plain-boot: a provider's machine is ready once its host says so in plain text", () => {
    const booting = at(nothing(), T0, { type: "create", body: intent() }, created, HOST);
    const says = (text: string): WorkerEvent => {
      return { type: "report", report: plainReport(text, 1, booting.record.incarnation, []) };
    };
    expect(at(booting, T0, says("orders 0\n")).record.phase).toBe("booting");
    expect(at(booting, T0, says("boot ok\n")).record.phase).toBe("ready");
  });

  test("all that was ordered of a listed run lives", () => {
    expect(of("a\nnobody-knows-it\n").attempts).toEqual([
      { id: attemptOf("a"), state: "running", startedAgoMs: 0 },
    ]);
  });

  // workers.md#report-5
  test("that a run is not listed proves its end only after its orders were seen", () => {
    expect(told("a\n").map(({ run }) => run)).toEqual(["a"]);
    const seen = told("a\norders 99\n").map(({ run, attempts }) => [run, attempts[0]?.state]);
    expect(seen).toEqual([
      ["a", "running"],
      ["b", "gone"],
    ]);
  });
});
