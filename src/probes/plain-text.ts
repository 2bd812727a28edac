// What the report of a host without an agent says: one line, one thing (workers.md#plain-text-reports).
import type { Report } from "../schema/host.ts";

/** What a plain-text run probe says (workers.md#plain-text-reports). */
export interface RunProbe {
  /** Runs of which a process lives. */
  runs: ReadonlySet<string>;
  /** Runs that have ended, and to which something still holds on. */
  stale: string[];
  broken: boolean;
  /** Its boot probe has succeeded. */
  booted: boolean;
  /** The revision of the orders that the host has applied; 0 if it does not say. */
  ordersSeen: number;
}

/**
 * Reads a run probe, line by line and by exact match: nothing is trimmed, and a line that is none of those of
 * workers.md#plain-text-reports says nothing. `orders <revision>` is ours: without it, that a run is not
 * listed proves nothing, since the host may not know yet that it is to run it. So is `boot ok`: a provider's
 * machine is ready once its host says so. Its blank keeps it apart from the names of runs.
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
const LIVES = /^([a-z0-9][a-z0-9-]{0,62})$/;
const STALE = /^([a-z0-9][a-z0-9-]{0,62}) stale$/;
const ORDERS = /^orders (\d{1,15})$/;

/**
 * The report that a plain-text run probe is. It names runs, not attempts: all that was ordered of a listed
 * run lives. It is full, because it lists all there is, and numbered by its signed time stamp, since it has
 * no other number: of two within a second the later one says nothing, and neither does one that comes late.
 * Runs of which no order is known are none of ours: orders omit them. A run counts as started when it is
 * first listed.
 *
 * `sentAtS`: that time stamp. `incarnation`: the latest start of the host. `placements`: those that live.
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
