import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { readBootRecord } from "../../../src/probes/boot-record.ts";
import { at, created, intent, nothing, ready, reloaded, T0 } from "../support/worker.ts";

// What the script of a machine says of its boot (clouds.md#boot-record).

type Step = [agoMs: number, step: "begin" | "node" | "agent" | "failed" | "output", text: string];

function report(id: string, ...steps: Step[]): WorkerEvent {
  return { type: "boot", id, steps: steps.map(([agoMs, step, text]) => ({ agoMs, step, text })) };
}

const booting = at(nothing(), T0, { type: "create", body: intent() }, created);
const begin: Step = [2_000, "begin", "its script has begun"];
const node: Step = [1_000, "node", "fetches Node"];
const shown = (state: ExistingWorker, now = T0) =>
  statusOf(state, now).boot?.map(({ step, at: time }) => [step, Date.parse(time) - T0]);

describe("a worker whose machine reports its boot", () => {
  test("shows each step with its time, also after a restart of its object", () => {
    const state = at(booting, T0 + 5_000, report("a", begin, node));
    const steps = [
      ["begin", 3_000],
      ["node", 4_000],
    ];
    expect([shown(state), shown(reloaded(state))]).toEqual([steps, steps]);
  });

  test("keeps the time that the first report of a step gave it, and takes nothing from a late report", () => {
    const state = at(booting, T0 + 5_000, report("a", begin, node));
    const later = at(
      state,
      T0 + 9_000,
      report("a", [5_500, "begin", ""], [4_500, "node", ""], [0, "agent", ""]),
    );
    expect(shown(later)).toEqual([
      ["begin", 3_000],
      ["node", 4_000],
      ["agent", 9_000],
    ]);
    expect(shown(at(later, T0 + 10_000, report("a", begin)))).toEqual(shown(later));
  });

  test("says in `why` what its machine does, and since when", () => {
    const state = at(booting, T0 + 5_000, report("a", begin, node));
    const { text } = whyOf(state, T0 + 5_000).reason;
    expect(text).toContain(`fetches Node (since ${new Date(T0 + 4_000).toISOString()})`);
  });

  test("costs its pool nothing while all goes well", () => {
    const state = at(booting, T0 + 5_000, report("a", begin, node));
    expect(state.record.version).toBe(booting.record.version);
  });

  test("shows the latest start of the script, and listens to twenty starts at most", () => {
    let state = booting;
    for (let start = 1; start <= 25; start += 1)
      state = at(state, T0 + start, report(`s${start}`, [0, "begin", ""]));
    expect(shown(state)).toEqual([["begin", 20]]);
  });
});

describe("a boot that has failed", () => {
  const failed = report("a", begin, [0, "failed", "its script has ended with 1"], [0, "output", "no Node"]);
  const reason = "its boot has failed: its script has ended with 1: no Node";

  test("ends the machine at once: it would only cost money until its time-out", () => {
    const { record } = at(booting, T0 + 5_000, failed);
    expect(record).toMatchObject({ phase: "shutdown", bootOutcome: "failure", reason });
    expect(record.events.map(({ type }) => type)).toContain("Boot Failed");
  });

  test("of a machine on hold is noted alone", () => {
    const held = at(booting, T0, { type: "behavior", behavior: "hold", by: "ann" });
    const { record } = at(held, T0 + 5_000, failed);
    expect([record.phase, record.events.at(-1)?.message]).toEqual(["booting", reason]);
  });

  test("is none, if the machine was ready before its script ended", () => {
    const { record } = at(ready(), T0 + 5_000, failed);
    expect([record.phase, record.idleBehavior]).toEqual(["ready", "run"]);
    expect(record.events.map(({ type }) => type)).not.toContain("Boot Failed");
  });

  test("changes nothing of a worker that is gone", () => {
    const gone = { ...booting, record: { ...booting.record, phase: "gone" as const } };
    expect(at(gone, T0 + 5_000, failed).record.boot).toBeUndefined();
  });
});

describe("the record as the script sends it", () => {
  test("has an id, steps by seconds, and when it was sent", () => {
    const text = "boot 1f-2\n0.52 begin on x86_64\n3.1 node fetches Node\n4.00 now\n";
    expect(readBootRecord(text)).toEqual({
      id: "1f-2",
      steps: [
        { agoMs: 3_480, step: "begin", text: "on x86_64" },
        { agoMs: 900, step: "node", text: "fetches Node" },
      ],
    });
  });

  test.each<[string, string, unknown]>([
    ["nothing", "", undefined],
    ["another text", "<html>\n", undefined],
    ["no time of sending", "boot a\n1 begin x\n", undefined],
    ["an id that is too long", `boot ${"a".repeat(65)}\n1 now\n`, undefined],
    ["lines that mean nothing", "boot a\nrm -rf\n1 dance x\n-1 begin x\n1e9 begin x\n2 now\n", []],
    ["a clock that went back", "boot a\n9 begin x\n2 now\n", [{ agoMs: 0, step: "begin", text: "x" }]],
    ["a carriage return", "boot a\n1 output x\ry\n1 now\n", [{ agoMs: 0, step: "output", text: "x\ry" }]],
    ["a step without words", "boot a\n1 start\n2 now\n", [{ agoMs: 1_000, step: "start", text: "" }]],
  ])("%s", (_what, text, steps) => {
    expect(readBootRecord(text)?.steps).toEqual(steps);
  });

  test("is cut: 64 steps of 300 characters", () => {
    const lines = Array.from({ length: 100 }, () => `1 output ${"x".repeat(500)}\n`).join("");
    const steps = readBootRecord(`boot a\n${lines}2 now\n`)?.steps ?? [];
    expect([steps.length, steps[0]?.text.length]).toEqual([64, 300]);
  });
});
