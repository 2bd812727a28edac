// Which attempts in a report are believed (reports.md)? A host may send anything, but memory must stay
// bounded. So the placements of this worker count, a few other placements are shown to their allocations, and
// all others are dropped.
import type { AttemptReport, LogPiece, Report } from "../schema/host.ts";
import { parseAttemptId, placementKey } from "../shared/attempt-id.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** How many placements that this worker never had are shown to their allocations at a time, at most. */
export const MAX_STRANGERS_ASKED = 8;
/** How many placements of one report are looked up at most, to see whether this worker ever had them. */
export const MAX_STRANGERS_LOOKED_UP = 64;
/** How many attempts that a placement's orders do not name are believed at most. */
export const MAX_UNORDERED_ATTEMPTS = 8;
/** What a number of a stamp counts for, in characters. */
const STAMP_NUMBER_CHARS = 8;

/** How many Base64 characters of logs are held for one placement in addition to the latest report. */
export const MAX_HELD_LOG_CHARS = 1024 * 1024;

/** The host's latest report about one placement. Reports with the same content have equal `fingerprint`s. */
export interface Reported {
  run: string;
  epoch: number;
  attempts: AttemptReport[];
  fingerprint: string;
  /** When it was reported. The ages in the report refer to this time. */
  at: Instant;
  /** A placement that this worker never had. */
  stranger?: true;
  /** Its allocation does not want this placement, and is not asked again while the host reports it. */
  over?: true;
}

/** What the reader of a report knows. `before`: the host's earlier reports, by placement. */
export interface ReportContext {
  before: Record<string, Reported>;
  live: readonly LivePlacement[];
  /** Whether this worker ever had the placement. */
  isGiven(key: string): boolean;
}

/** A live placement of this worker. `revision`: the orders' revision when the placement last changed. */
interface LivePlacement {
  run: string;
  epoch: number;
  revision: number;
  order: { attempts: { id: string }[] } | null;
}

/** One placement in a report. If an attempt is named twice, the last entry counts. */
interface PlacementReport {
  run: string;
  epoch: number;
  attempts: Map<string, AttemptReport>;
}

/**
 * The host's report about each placement. A full report also proves which attempts are missing. A delta
 * replaces the reports of the attempts that it names, and the earlier reports of all other attempts stay
 * valid. An attempt that only waits for its ordered start time is not news.
 */
export function reportedBy(known: ReportContext, report: Report, now: Instant): Record<string, Reported> {
  const rows = new Map(known.live.map((row) => [placementKey(row.run, row.epoch), row]));
  const placements = byPlacement(report);
  for (const [key, { run, epoch }] of report.full ? rows : [])
    if (!placements.has(key)) placements.set(key, { run, epoch, attempts: new Map() });
  const strangers = strangersIn(known, placements, rows, report.full);
  const reported = report.full ? {} : { ...known.before };
  for (const [key, { run, epoch, attempts }] of placements) {
    const row = rows.get(key);
    const before = known.before[key];
    if (row === undefined && !strangers.has(key)) continue;
    if (row === undefined && before?.over === true) {
      reported[key] = before;
      continue;
    }
    const news = [...attempts.values()].filter(({ waits }) => waits !== true || row === undefined);
    if (news.length === 0 && !report.full) continue;
    const missing = report.full ? missingOf(row, attempts, report.ordersSeen) : [];
    const others = report.full ? [] : unnamedAttempts(before, new Set(news.map(({ id }) => id)), now);
    const all = believedOf([...others, ...news, ...missing], row);
    if (all.length > 0) reported[key] = reportedPlacement({ run, epoch }, all, row, now);
  }
  return reported;
}

function byPlacement(report: Report): Map<string, PlacementReport> {
  const placements = new Map<string, PlacementReport>();
  for (const attempt of report.attempts) {
    const parts = parseAttemptId(attempt.id);
    if (parts === undefined) continue;
    const { run, epoch } = parts;
    const key = placementKey(run, epoch);
    const known = placements.get(key) ?? { run, epoch, attempts: new Map<string, AttemptReport>() };
    // An attempt named twice moves to the end.
    known.attempts.delete(attempt.id);
    known.attempts.set(attempt.id, attempt);
    placements.set(key, known);
  }
  return placements;
}

/**
 * Placements that this worker never had, and whose allocations are asked about them. Placements from earlier
 * reports come before placements that this report adds. A placement that ended on this worker does not count.
 */
function strangersIn(
  { before, isGiven }: ReportContext,
  placements: Map<string, PlacementReport>,
  rows: Map<string, LivePlacement>,
  full: boolean,
): Set<string> {
  const known = Object.entries(before).flatMap(([key, { stranger }]) => {
    return stranger === true && !rows.has(key) && (!full || placements.has(key)) ? [key] : [];
  });
  const strangers = new Set(known);
  let looks = 0;
  for (const key of placements.keys()) {
    if (strangers.size >= MAX_STRANGERS_ASKED || looks >= MAX_STRANGERS_LOOKED_UP) break;
    if (rows.has(key) || strangers.has(key)) continue;
    looks += 1;
    if (!isGiven(key)) strangers.add(key);
  }
  return strangers;
}

/** All ordered attempts, and the latest other attempts: orders may omit an attempt that has just ended. */
function believedOf(attempts: AttemptReport[], row: LivePlacement | undefined): AttemptReport[] {
  if (attempts.length <= MAX_UNORDERED_ATTEMPTS) return attempts;
  const ordered = new Set(row?.order?.attempts.map(({ id }) => id));
  const others = attempts.filter(({ id }) => !ordered.has(id)).slice(-MAX_UNORDERED_ATTEMPTS);
  const kept = new Set(others);
  return attempts.filter((one) => ordered.has(one.id) || kept.has(one));
}

/**
 * Ordered attempts that the host does not hold although it has applied the orders. They count as gone
 * (host-protocol.md#report).
 */
function missingOf(
  row: LivePlacement | undefined,
  named: ReadonlyMap<string, unknown>,
  ordersSeen: number,
): AttemptReport[] {
  if (row === undefined || ordersSeen < row.revision) return [];
  const missing = (row.order?.attempts ?? []).filter(({ id }) => !named.has(id));
  return missing.map(({ id }) => ({ id, state: "gone" }));
}

function reportedPlacement(
  { run, epoch }: Pick<Reported, "run" | "epoch">,
  attempts: AttemptReport[],
  row: LivePlacement | undefined,
  now: Instant,
): Reported {
  const reported = { run, epoch, attempts, fingerprint: fingerprintOf(attempts), at: now };
  return row === undefined ? { ...reported, stranger: true } : reported;
}

/** Attempts of a placement that a delta does not name. Their ages are computed for `now`. */
function unnamedAttempts(before: Reported | undefined, named: Set<string>, now: Instant): AttemptReport[] {
  if (before === undefined) return [];
  const others = before.attempts.filter(({ id }) => !named.has(id));
  const length = others.reduce((sum, { log }) => sum + dataLength(log?.stdout) + dataLength(log?.stderr), 0);
  // The host repeats log bytes until it knows that they are stored.
  const kept = length > MAX_HELD_LOG_CHARS ? others.map(({ log: _, ...rest }) => rest) : others;
  return aged(kept, now - before.at);
}

function dataLength(piece: LogPiece | undefined): number {
  return (piece?.data?.length ?? 0) + (piece?.stamps?.length ?? 0) * STAMP_NUMBER_CHARS;
}

/** An earlier report of attempts, with ages that are greater by `ms`. */
export function aged(attempts: AttemptReport[], ms: Millis): AttemptReport[] {
  if (ms <= 0) return attempts;
  return attempts.map(({ startedAgoMs, endedAgoMs, checks, unhealthy, ...rest }) => ({
    ...rest,
    ...(startedAgoMs === undefined ? {} : { startedAgoMs: startedAgoMs + ms }),
    ...(endedAgoMs === undefined ? {} : { endedAgoMs: endedAgoMs + ms }),
    ...(checks === undefined
      ? {}
      : { checks: checks.map((one) => ({ ...one, sinceAgoMs: one.sinceAgoMs + ms })) }),
    ...(unhealthy === undefined ? {} : { unhealthy: { ...unhealthy, agoMs: unhealthy.agoMs + ms } }),
  }));
}

/** How much of what a host says that it does is kept and shown. */
const MAX_DOING_CHARS = 200;

/** The part of `doing` that counts. */
export function shownDoing(doing: string): string {
  return doing.slice(0, MAX_DOING_CHARS);
}

/** A text that is equal for two reports with the same content. It omits ages, which always change. */
export function fingerprintOf(attempts: Report["attempts"]): string {
  return attempts
    .map(({ id, state, kill, log, saved, hold, checks, doing = "", image = "" }) => {
      const streams = [log?.stdout, log?.stderr].map(
        (one) => `${one?.from}+${one?.data?.length}/${one?.size}`,
      );
      const words = [
        id,
        state,
        kill?.error ?? "",
        ...streams,
        saved === undefined ? "" : "saved",
        hold ?? "",
        ...(checks ?? []).map(
          ({ name, status, output = "" }) => `${name}=${status}${output === "" ? "" : "!"}`,
        ),
        image,
        shownDoing(doing),
      ];
      return words.join(" ");
    })
    .join("\n");
}
