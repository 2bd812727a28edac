import { describe, expect, test } from "vitest";
import { observationsDue } from "../../src/core/worker/host/report.ts";
import type { ExistingWorker } from "../../src/core/worker/state.ts";
import { type HostClock, readClock } from "../../src/probes/host-clock.ts";
import { at, attemptOf, holding, reloaded, report, T0 } from "../core/support/worker.ts";

const SECOND = 1_000;
/** What the clock of a host says at T0. */
const UP = 5_000_000;

/** What two clocks may have drifted apart in those 29 s. */
const DRIFTED = 29;

/** For how long each report waited: they are sent and read so many seconds after T0. */
function waits(reports: [sent: number, read: number][], sleptFrom = Infinity, sleptMs = 0): number[] {
  let known: HostClock | null = null;
  return reports.map(([sent, read]) => {
    const clock = UP + sent * SECOND - (sent >= sleptFrom ? sleptMs : 0);
    const { hostClock, waitedMs } = readClock(known, clock, T0 + read * SECOND);
    known = hostClock;
    return Math.round(waitedMs / SECOND);
  });
}

describe("P14: for how long a report waited before it was read", () => {
  test.each<[string, [number, number][], number[]]>([
    [
      "not at all",
      [
        [0, 0],
        [10, 10],
        [20, 20],
      ],
      [0, 0, 0],
    ],
    [
      "in the socket of a control plane that stood still",
      [
        [0, 0],
        [10, 29],
        [30, 30],
      ],
      [0, 19, 0],
    ],
    [
      "several of them",
      [
        [0, 0],
        [10, 45],
        [20, 45],
        [30, 45],
        [50, 50],
      ],
      [0, 35, 25, 15, 0],
    ],
    [
      "the first that is known is taken at its word",
      [
        [10, 29],
        [20, 29],
        [30, 30],
      ],
      [0, 0, 0],
    ],
    [
      "the next is as late after a while",
      [
        [0, 0],
        [10, 40],
        [3_600, 3_600],
        [3_610, 3_640],
      ],
      [0, 30, 0, 30],
    ],
  ])("P14: %s", (_what, reports, waited) => {
    expect(waits(reports)).toEqual(waited);
  });

  test("P14: a host's clock that stood still is believed again with the second report", () => {
    const reports: [number, number][] = [
      [0, 0],
      [70, 70],
      [80, 80],
      [90, 90],
      [100, 130],
    ];
    expect(waits(reports, 60, 60_000)).toEqual([0, 60, 0, 0, 30]);
  });
});

test.each([false, true])(
  "P14: an end that waited in a socket is told as of then (evicted: %s)",
  (evicted) => {
    const id = attemptOf("a");
    const exit = { code: 0, signal: null, oomKilled: false, message: "" };
    const ended = { id, state: "exited" as const, startedAgoMs: 9_000, endedAgoMs: 1_000, exit };
    const heard = at(holding(["a"]), T0, report(7, { clock: UP, ordersSeen: 99 }));
    // The object of its worker may have been evicted while nobody could reach it.
    const before = evicted ? reloaded(heard) : heard;
    const read = T0 + 29 * SECOND;
    const later = report(8, { clock: UP + 10 * SECOND, attempts: [ended] });
    const after = at(before, read, later) as ExistingWorker;
    expect(observationsDue(after, read)).toMatchObject([
      { run: "a", attempts: [{ startedAgoMs: 28_000 - DRIFTED, endedAgoMs: 20_000 - DRIFTED }] },
    ]);
  },
);
