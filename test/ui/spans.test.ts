import { describe, expect, test } from "vitest";
import { isBootOver, withBoot } from "../../ui/pages/run/boot.ts";
import { type Phase, phasesOf } from "../../ui/pages/run/spans.ts";

const at = (second: number) => new Date(second * 1_000).toISOString();
const attempt = (id: string, from: number | null, to: number | null) => ({
  id: `r/main/${id}`,
  state: "exited" as const,
  startedAt: from === null ? null : at(from),
  finishedAt: to === null ? null : at(to),
  exit: null,
});
const placement = (epoch: number, from: number, worker = "w") => ({
  epoch,
  worker,
  from: at(from),
  to: null,
  outcome: "open" as const,
});
type Run = Parameters<typeof phasesOf>[0];
const run = (
  placements: Run["placements"],
  attempts: ReturnType<typeof attempt>[],
  end: number | null,
): Run => ({
  submittedAt: at(10),
  finishedAt: end === null ? null : at(end),
  placements,
  tasks: [
    {
      name: "main",
      state: "running",
      phase: "running",
      failed: false,
      restarts: 0,
      startedAt: null,
      finishedAt: null,
      attempts,
      events: [],
    },
  ],
});
const MACHINE = { state: "idle" as const, instanceType: "small", price: null, steps: [] };
const booted = (asked: number, created: number | null, joined: number | null, ready: number | null) => {
  const orNull = (second: number | null) => (second === null ? null : at(second));
  return {
    ...MACHINE,
    worker: "w",
    askedAt: at(asked),
    createdAt: orNull(created),
    joinedAt: orNull(joined),
    readyAt: orNull(ready),
  };
};
const shown = (phases: Phase[]) =>
  phases.map(({ kind, of, fromMs, toMs }) => [kind, of, fromMs / 1_000, toMs === null ? null : toMs / 1_000]);

describe("the phases of a run (ui.md#d18)", () => {
  test.each([
    ["it waits, and nothing else is known", run([], [], null), undefined, [["queued", "", 10, null]]],
    ["it has never been placed", run([], [], 20), undefined, [["queued", "", 10, 20]]],
    [
      "a machine was ready: no boot is shown",
      run([placement(1, 12)], [attempt("1.1", 13, 20)], 20),
      booted(1, 2, 3, 4),
      [
        ["queued", "", 10, 12],
        ["preparing", "main/1.1", 12, 13],
        ["running", "main/1.1", 13, 20],
      ],
    ],
    [
      "a machine was made for it",
      run([placement(1, 40)], [attempt("1.1", 42, null)], null),
      booted(11, 15, 35, 39),
      [
        ["queued", "", 10, 11],
        ["requested", "w", 11, 15],
        ["booting", "w", 15, 35],
        ["probed", "w", 35, 39],
        ["preparing", "main/1.1", 40, 42],
        ["running", "main/1.1", 42, null],
      ],
    ],
    [
      "the machine still boots",
      run([placement(1, 12)], [], null),
      booted(11, 15, null, null),
      [
        ["queued", "", 10, 11],
        ["requested", "w", 11, 15],
        ["booting", "w", 15, null],
      ],
    ],
    [
      "a restart is prepared after the attempt before it",
      run([placement(1, 12)], [attempt("1.1", 13, 20), attempt("1.2", 25, 30)], 30),
      undefined,
      [
        ["queued", "", 10, 12],
        ["preparing", "main/1.1", 12, 13],
        ["running", "main/1.1", 13, 20],
        ["preparing", "main/1.2", 20, 25],
        ["running", "main/1.2", 25, 30],
      ],
    ],
    [
      "another placement begins anew",
      run([placement(1, 12), placement(2, 50)], [attempt("1.1", 13, 20), attempt("2.1", null, null)], null),
      undefined,
      [
        ["queued", "", 10, 12],
        ["preparing", "main/1.1", 12, 13],
        ["running", "main/1.1", 13, 20],
        ["preparing", "main/2.1", 50, null],
      ],
    ],
    [
      "it was moved to a machine that was made for it: its first wait ended with its first place",
      run(
        [placement(1, 12, "old"), placement(2, 50)],
        [attempt("1.1", 13, 20), attempt("2.1", 51, null)],
        null,
      ),
      booted(22, 30, 40, 49),
      [
        ["queued", "", 10, 12],
        ["requested", "w", 22, 30],
        ["booting", "w", 30, 40],
        ["probed", "w", 40, 49],
        ["preparing", "main/1.1", 12, 13],
        ["running", "main/1.1", 13, 20],
        ["preparing", "main/2.1", 50, 51],
        ["running", "main/2.1", 51, null],
      ],
    ],
  ])("%s", (_, of, boot, phases) => {
    expect(shown(phasesOf({ ...of, boot }))).toEqual(phases);
  });
});

describe("the boot of a run's machine is asked for until it is over (ui.md#d13)", () => {
  const of = (worker: string, boot?: ReturnType<typeof booted> | null) => ({
    id: "r",
    placements: [placement(1, 12, worker)],
    ...(boot === undefined ? {} : { boot }),
  });
  const over = booted(11, 15, 35, 39);

  test.each([
    ["ready", over, true],
    ["not ready", booted(11, 15, 35, null), false],
    ["no machine", null, false],
    ["not asked for", undefined, false],
  ])("%s: over %o", (_, boot, isOver) => {
    expect(isBootOver(of("w", boot))).toBe(isOver);
  });

  test("an answer without it has it from the answer before, if both are of one run and one machine", () => {
    expect(withBoot(of("w"), of("w", over)).boot).toEqual(over);
    expect(withBoot(of("w2"), of("w", over)).boot).toBeUndefined();
    expect(withBoot({ ...of("w"), id: "other" }, of("w", over)).boot).toBeUndefined();
    expect(withBoot(of("w", null), of("w", over)).boot).toBeNull();
    expect(withBoot(of("w"), undefined).boot).toBeUndefined();
  });
});
