// What is believed of the attempts in a report (reports.md). A host may say anything, as often as it likes,
// so nothing here grows with what it says: placements that this worker was given are heard, a few others are
// shown to their allocations, and nothing is remembered of the rest. Orders omit it.
import type { AttemptReport, Report } from "../schema/host.ts";
import { parseAttemptId, placementKey } from "../shared/attempt-id.ts";
import {
  MAX_HELD_LOG_CHARS,
  MAX_STRANGERS_ASKED,
  MAX_STRANGERS_LOOKED_UP,
  MAX_UNORDERED_ATTEMPTS,
} from "../shared/limits.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** What the host last said of one placement. `said` tells two reports apart that say something else. */
export interface Reported {
  run: string;
  epoch: number;
  attempts: AttemptReport[];
  said: string;
  /** When that was heard: the ages in it are of that moment. */
  at: Instant;
  /** This worker was never given it. */
  stranger?: true;
  /** A stranger of which its allocation wants nothing: while the host says it, nobody is asked again. */
  over?: true;
}

/** What the reader of a report knows: by key what the host said before, and which placements it was given. */
export interface Known {
  before: Record<string, Reported>;
  live: readonly Given[];
  /** Whether a placement was ever given to this worker. */
  isGiven(key: string): boolean;
}

/** A placement that lives here: what is ordered of it, and since which revision of the orders. */
interface Given {
  run: string;
  epoch: number;
  revision: number;
  order: { attempts: { id: string }[] } | null;
}

/** One placement in a report. Of attempts that are named twice the last word counts. */
interface Said {
  run: string;
  epoch: number;
  attempts: Map<string, AttemptReport>;
}

/**
 * What the host says of each placement. A full report also says what it does not hold; a delta is absolute
 * for the attempts that it names, and of all others what was said before holds. An attempt that waits for its
 * time as it was ordered is there, and no news.
 */
export function reportedBy(known: Known, report: Report, now: Instant): Record<string, Reported> {
  const rows = new Map(known.live.map((row) => [placementKey(row.run, row.epoch), row]));
  const said = byPlacement(report);
  const strangers = strangersIn(known, said, rows, report.full);
  const reported = report.full ? {} : { ...known.before };
  for (const [key, { run, epoch, attempts }] of said) {
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
    const others = report.full ? [] : othersOf(before, new Set(news.map(({ id }) => id)), now);
    const all = believedOf([...others, ...news, ...missing], row);
    if (all.length > 0) reported[key] = heardOf({ run, epoch }, all, row, now);
  }
  return report.full ? withMissing(reported, said, rows, report.ordersSeen, now) : reported;
}

function byPlacement(report: Report): Map<string, Said> {
  const said = new Map<string, Said>();
  for (const attempt of report.attempts) {
    const parts = parseAttemptId(attempt.id);
    if (parts === undefined) continue;
    const { run, epoch } = parts;
    const key = placementKey(run, epoch);
    const known = said.get(key) ?? { run, epoch, attempts: new Map<string, AttemptReport>() };
    // What is named again takes the place of the last.
    known.attempts.delete(attempt.id);
    known.attempts.set(attempt.id, attempt);
    said.set(key, known);
  }
  return said;
}

/**
 * The placements in a report that this worker was never given, and of which their allocations are asked, or
 * were: those that are known already come first. One that has ended here is none.
 */
function strangersIn(
  { before, isGiven }: Known,
  said: Map<string, Said>,
  rows: Map<string, Given>,
  full: boolean,
): Set<string> {
  const known = Object.entries(before).flatMap(([key, { stranger }]) => {
    return stranger === true && !rows.has(key) && (!full || said.has(key)) ? [key] : [];
  });
  const strangers = new Set(known);
  let looks = 0;
  for (const key of said.keys()) {
    if (strangers.size >= MAX_STRANGERS_ASKED || looks >= MAX_STRANGERS_LOOKED_UP) break;
    if (rows.has(key) || strangers.has(key)) continue;
    looks += 1;
    if (!isGiven(key)) strangers.add(key);
  }
  return strangers;
}

/** Of one placement what its orders name, and a few others, the latest: those before may have just ended. */
function believedOf(attempts: AttemptReport[], row: Given | undefined): AttemptReport[] {
  if (attempts.length <= MAX_UNORDERED_ATTEMPTS) return attempts;
  const ordered = new Set(row?.order?.attempts.map(({ id }) => id));
  const others = attempts.filter(({ id }) => !ordered.has(id)).slice(-MAX_UNORDERED_ATTEMPTS);
  const kept = new Set(others);
  return attempts.filter((one) => ordered.has(one.id) || kept.has(one));
}

/** The host has applied these orders and does not hold it: it is gone (host-protocol.md#report). */
function missingOf(
  row: Given | undefined,
  named: Pick<Map<string, unknown>, "has"> | undefined,
  ordersSeen: number,
): AttemptReport[] {
  if (row === undefined || ordersSeen < row.revision) return [];
  const missing = (row.order?.attempts ?? []).filter(({ id }) => named?.has(id) !== true);
  return missing.map(({ id }) => ({ id, state: "gone" }));
}

/** Placements of which a full report says nothing at all. */
function withMissing(
  reported: Record<string, Reported>,
  said: Map<string, Said>,
  rows: Map<string, Given>,
  ordersSeen: number,
  now: Instant,
): Record<string, Reported> {
  for (const [key, row] of rows) {
    const all = said.has(key) ? [] : missingOf(row, undefined, ordersSeen);
    if (all.length > 0) reported[key] = heardOf(row, all, row, now);
  }
  return reported;
}

function heardOf(
  { run, epoch }: Pick<Reported, "run" | "epoch">,
  attempts: AttemptReport[],
  row: Given | undefined,
  now: Instant,
): Reported {
  const said = { run, epoch, attempts, said: whatIsSaid(attempts), at: now };
  return row === undefined ? { ...said, stranger: true } : said;
}

/** What holds of the attempts of a placement that a delta does not name: as the host would say it now. */
function othersOf(before: Reported | undefined, named: Set<string>, now: Instant): AttemptReport[] {
  if (before === undefined) return [];
  const others = before.attempts.filter(({ id }) => !named.has(id));
  const length = others.reduce((sum, { log }) => sum + dataOf(log?.stdout) + dataOf(log?.stderr), 0);
  // The host says again what is not known to be stored.
  const kept = length > MAX_HELD_LOG_CHARS ? others.map(({ log: _, ...said }) => said) : others;
  return aged(kept, now - before.at);
}

function dataOf(piece: { data?: string | undefined } | undefined): number {
  return piece?.data?.length ?? 0;
}

/** What a host said so long ago, as it would say it now: ages grow while nobody hears of them. */
export function aged(attempts: AttemptReport[], ms: Millis): AttemptReport[] {
  if (ms <= 0) return attempts;
  return attempts.map(({ startedAgoMs, endedAgoMs, ...said }) => ({
    ...said,
    ...(startedAgoMs === undefined ? {} : { startedAgoMs: startedAgoMs + ms }),
    ...(endedAgoMs === undefined ? {} : { endedAgoMs: endedAgoMs + ms }),
  }));
}

/**
 * What two reports must differ in for the allocation to be told again. Ages change with each report and do
 * not count.
 */
export function whatIsSaid(attempts: Report["attempts"]): string {
  return attempts
    .map(({ id, state, kill, log, saved }) => {
      const streams = [log?.stdout, log?.stderr].map(
        (one) => `${one?.from}+${one?.data?.length}/${one?.size}`,
      );
      return `${id} ${state} ${kill?.error ?? ""} ${streams.join(" ")} ${saved === undefined ? "" : "saved"}`;
    })
    .join("\n");
}
