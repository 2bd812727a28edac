import { describe, expect, test } from "vitest";
import { type Bar, barOf, timeIn } from "../../../ui/fleet/past/bars.ts";
import { type Look, lookNow, reachesOf, stretchesOf } from "../../../ui/fleet/past/looks.ts";
import type { Machine } from "../../../ui/fleet/past/machine.ts";
import { fittingLooks, useOf } from "../../../ui/fleet/past/use.ts";

const MINUTE = 60_000;
const SPAN = { fromMs: 0, toMs: 60 * MINUTE };

/** A machine by minutes. */
function machine(
  more: Partial<Record<"asked" | "ready" | "ending" | "gone", number | null>>,
  rest = {},
): Machine {
  const { asked = 0, ready = 2, ending = null, gone = null } = more;
  const ms = (minute: number | null) => (minute === null ? null : minute * MINUTE);
  return {
    id: "m",
    type: "t",
    state: gone === null ? "idle" : "gone",
    askedMs: (asked ?? 0) * MINUTE,
    readyMs: ms(ready),
    endingMs: ms(ending),
    goneMs: ms(gone),
    price: 1,
    cost: null,
    runs: [],
    ...rest,
  };
}

/** Looks at these minutes, with so many running machines that are half full. */
const looks = (...counts: [minute: number, running: number][]): Look[] =>
  counts.map(([minute, running]) => ({ atMs: minute * MINUTE, running, share: running === 0 ? null : 0.5 }));
/** Looks every minute at an idle pool. */
const all = looks(...Array.from({ length: 61 }, (_, minute): [number, number] => [minute, 0]));
const placed = (run: string, minute: number) => item("run_placed", run, minute);
const ended = (run: string, minute: number) => item("run_ended", run, minute);
function item(what: "run_placed" | "run_ended", run: string, minute: number) {
  return { at: new Date(minute * MINUTE).toISOString(), what, run, worker: "m", project: "p", text: "" };
}

/** The parts as `[kind, from, to]` in minutes. */
function drawn(of: Machine, looked: readonly Look[], items: ReturnType<typeof item>[] = [], since = 0) {
  const use = useOf({ sinceMs: since * MINUTE, readMs: 60 * MINUTE, items }, [of]);
  const reaches = reachesOf(looked);
  const stretches = stretchesOf(reaches, fittingLooks(looked, use), since * MINUTE);
  const known = { stretches, use, nowFromMs: reaches.at(-1)?.fromMs ?? 0 };
  const bar = barOf(of, known, SPAN);
  return bar.parts.map(({ kind, fromMs, toMs }) => [kind, fromMs / MINUTE, toMs / MINUTE]);
}

describe("what the bar of a machine shows (ui.md#fleet)", () => {
  test.each<[string, Parameters<typeof drawn>, unknown[]]>([
    [
      "it boots, and is idle",
      [machine({ asked: 10, ready: 12 }), all],
      [
        ["booting", 10, 12],
        ["idle", 12, 60],
      ],
    ],
    ["it boots still", [machine({ asked: 50, ready: null }), all], [["booting", 50, 60]]],
    [
      "its boot failed",
      [machine({ asked: 10, ready: null, ending: 15, gone: 17 }), all],
      [
        ["booting", 10, 15],
        ["ending", 15, 17],
      ],
    ],
    [
      "its boot failed, and nobody said when it ended",
      [machine({ ready: null, gone: 17 }), all],
      [["booting", 0, 17]],
    ],
    [
      "it ran twice, and ended",
      [
        machine({ ending: 40, gone: 42 }),
        all,
        [placed("a", 5), ended("a", 10), placed("b", 8), ended("b", 20), placed("c", 30), ended("c", 35)],
      ],
      [
        ["booting", 0, 2],
        ["idle", 2, 5],
        ["running", 5, 20],
        ["idle", 20, 30],
        ["running", 30, 35],
        ["idle", 35, 40],
        ["ending", 40, 42],
      ],
    ],
    [
      "it was there before the time, and is still",
      [machine({ asked: -100, ready: -90 }), all],
      [["idle", 0, 60]],
    ],
    [
      "a run began before the time",
      [machine({ asked: -100, ready: -90 }), all, [ended("a", 10)]],
      [
        ["running", 0, 10],
        ["idle", 10, 60],
      ],
    ],
    [
      "it has a run now that was placed before the time",
      [machine({ asked: -100, ready: -90 }, { runs: ["a"], state: "running" }), all],
      [["running", 0, 60]],
    ],
    [
      "nobody looked for half an hour: that is unknown, also while it had a run",
      [
        machine({ asked: -9, ready: -8 }),
        looks([0, 0], [5, 0], [35, 0], [40, 0], [45, 0], [50, 0], [55, 0], [60, 0]),
        [placed("a", 20), ended("a", 33)],
      ],
      [
        ["idle", 0, 10],
        ["unknown", 10, 30],
        ["running", 30, 33],
        ["idle", 33, 60],
      ],
    ],
    ["nobody ever looked", [machine({ asked: -9, ready: -8 }), []], [["unknown", 0, 60]]],
    [
      "a look counted a machine whose runs are not known: it may be this one",
      [
        machine({ asked: -9, ready: -8 }),
        looks([0, 0], [10, 0], [20, 1], [30, 0], [40, 0], [50, 0], [60, 0]),
        [placed("a", 52), ended("a", 54)],
      ],
      [
        ["idle", 0, 15],
        ["unknown", 15, 25],
        ["idle", 25, 52],
        ["running", 52, 54],
        ["idle", 54, 60],
      ],
    ],
    [
      "the history is known for the second half alone",
      [machine({ asked: -9, ready: -8 }), all, [], 29.5],
      [
        ["unknown", 0, 29.5],
        ["idle", 29.5, 60],
      ],
    ],
    [
      "it is lost now: the look of now does not say since when",
      [machine({ asked: -9, ready: -8 }, { state: "unknown" }), all],
      [
        ["idle", 0, 59.5],
        ["unknown", 59.5, 60],
      ],
    ],
  ])("%s", (_, given, parts) => {
    expect(drawn(...given)).toEqual(parts);
  });

  test("the look of now does not tell how full machines are: a sample shortly before does", () => {
    const [sample] = looks([10, 2]);
    expect([14, 15, 16].map((minute) => lookNow(1, minute * MINUTE, sample).share)).toEqual([0.5, 0.5, null]);
    expect(lookNow(1, 0, undefined).share).toBeNull();
  });

  test("the times of the parts add up to the machine's life within the time", () => {
    const use = useOf({ sinceMs: 0, readMs: 60 * MINUTE, items: [placed("a", 5), ended("a", 9)] }, []);
    const known = { stretches: stretchesOf(reachesOf(all), new Set(all), 0), use, nowFromMs: 0 };
    const bar: Bar = barOf(machine({ asked: 1, ready: 3, ending: 20, gone: 21 }), known, SPAN);
    const times = (["booting", "running", "idle", "ending", "unknown"] as const).map((kind) =>
      timeIn(bar, kind),
    );
    expect(times.map((ms) => ms / MINUTE)).toEqual([2, 4, 13, 1, 0]);
  });
});
