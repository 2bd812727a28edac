// What does the report of a host without an agent say? Each line makes one statement
// (workers.md#plain-text-reports).
import type { Report } from "../schema/host.ts";
import { RUN_ID } from "../shared/attempt-id.ts";

export interface RunProbe {
  /** Runs with a living process. */
  runs: ReadonlySet<string>;
  /** Ended runs whose files or locks something on the host still holds. */
  stale: string[];
  broken: boolean;
  /** The boot probe succeeded. */
  booted: boolean;
  /** The revision of the orders that the host applied. 0: the report does not say. */
  ordersSeen: number;
}

/**
 * Parses a run probe by exact match: nothing is trimmed, and unknown lines are ignored
 * (workers.md#plain-text-reports). Without a line `orders <revision>`, it proves nothing that a run is not
 * listed, since the host may not have read its orders yet. The space in `boot ok` distinguishes this line
 * from the id of a run.
 */
export function readRunProbe(text: string): RunProbe {
  const lines = text.split("\n");
  const named = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  return {
    runs: new Set(named(LIVES).filter((run) => run !== BROKEN)),
    stale: named(STALE),
    broken: lines.includes(BROKEN),
    booted: lines.includes(BOOTED),
    ordersSeen: Number(named(ORDERS).at(-1) ?? 0),
  };
}

const BROKEN = "broken";
const BOOTED = "boot ok";
const LIVES = new RegExp(`^(${RUN_ID})$`);
const STALE = new RegExp(`^(${RUN_ID}) stale$`);
const ORDERS = /^orders (\d{1,15})$/;

/**
 * Turns a plain-text run probe into a report. The probe names runs, not attempts: every ordered attempt of a
 * listed run counts as running, and its age counts from when the run was first listed. The report is full.
 * Its number is its signed time stamp in seconds, so a second report within the same second, or a late
 * report, is dropped. Listed runs without an order are ignored.
 *
 * `sentAtS`: the time stamp. `incarnation`: the host's latest start. `placements`: the live placements.
 */
export function plainReport(
  text: string,
  sentAtS: number,
  incarnation: number,
  placements: readonly { run: string; order: { attempts: { id: string }[] } | null }[],
): Report {
  const { runs, stale, broken, booted, ordersSeen } = readRunProbe(text);
  const listed = placements.filter(({ run }) => runs.has(run));
  const ids = listed.flatMap(({ order }) => order?.attempts.map(({ id }) => id) ?? []);
  return {
    incarnation,
    seq: sentAtS,
    full: true,
    ordersSeen,
    ...(booted ? { boot: { ok: true, output: "" } } : {}),
    broken: broken ? "its host says that it cannot run anything any more" : null,
    stale,
    attempts: ids.map((id) => ({ id, state: "running" as const, startedAgoMs: 0 })),
  };
}
