// How is an owner's part of the audit log loaded, read and exported (audit.md#owners)?
import { auditFileName, chained } from "../../core/audit/chain.ts";
import type { AuditRow } from "../../core/audit/entry.ts";
import {
  dayAfter,
  type ExportAnswered,
  type Exported,
  type ExportMessage,
  LATE_MS,
} from "../../core/audit/export.ts";
import { submissionOf } from "../../core/audit/submissions.ts";
import { AuditTable, auditKey, instantOf, numberAt, numberOfKey } from "../../core/audit/table.ts";
import { entryView } from "../../core/audit/view.ts";
import { type RunRow, runKey } from "../../core/pool/record.ts";
import { Rows } from "../../core/rows.ts";
import type { AuditEntry } from "../../schema/access/audit.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { hexDigest } from "../../signing/mac.ts";
import type { AuditFilter, AuditNews, AuditPage, AuditPageRequest } from "../rpc.ts";
import { SqlRowDisk } from "../store.ts";
import { until, type Watchable } from "../waiting.ts";
import { nameless, TOP } from "./nameless.ts";

/** The most rows of each table that are read for one answer. */
const SCAN_ROWS = 5_000;
/** The most entries of one answer to a follower. */
const MAX_NEWS = 1_000;
/** The most lines of an exported file. */
export const MAX_FILE_LINES = 5_000;

/** The submissions of a pool, which are in the rows of its runs. */
interface Submissions {
  disk: SqlRowDisk<RunRow>;
  pool: string;
}

/** An entry with its position: the key of its row, and the table. */
interface Placed {
  from: "entry" | "run";
  key: string;
  number: number;
  entry: AuditEntry;
}

/** An owner's part of the audit log. */
export class AuditLog {
  readonly #disk: SqlRowDisk<AuditRow>;
  readonly #bucket: R2Bucket | undefined;
  readonly #submissions: Submissions | undefined;
  readonly #prefix: string;

  /** Without `submissions` the owner is the registry. */
  constructor(sql: SqlStorage, bucket: R2Bucket | undefined, submissions?: Submissions) {
    this.#disk = new SqlRowDisk(sql, "audit");
    this.#bucket = bucket;
    this.#submissions = submissions;
    this.#prefix = submissions === undefined ? "registry" : `pool/${submissions.pool}`;
  }

  /** The table, as the owner's machine changes it. `exported`: how far it is exported, if that is known. */
  load(exported?: Exported): AuditTable {
    const rows = new Rows(this.#disk, () => false);
    const table = new AuditTable(
      rows,
      numberOfKey(this.#disk.lastKey() ?? "0"),
      this.#submissions?.pool ?? null,
    );
    table.noteExported(exported);
    return table;
  }

  /** One page, newest first. It may have fewer than `limit` entries even if more pages follow. */
  page(
    table: Pick<AuditTable, "latestAt">,
    now: Instant,
    filter: AuditFilter,
    { limit, cursor }: AuditPageRequest,
  ): AuditPage {
    const { until: end } = filter;
    const top = end === undefined ? TOP : "";
    const start = { entry: top || auditKey(numberAt(end ?? 0)), run: top || runKey(end ?? 0, "") };
    const [entry = start.entry, run = start.run] = cursor?.split("|") ?? [];
    const entries = this.#disk.readMatching(entry, SCAN_ROWS, limit, sqlFilterOf(filter, "entry"));
    const runs = this.#readRuns(filter, run, limit);
    // Below the last row that was read of one table, rows of the other are left for the next page.
    const all = [
      ...this.#above(
        runs.next,
        instantOfRun,
        entries.rows.map(([key, row]) => this.#entry(key, row)),
      ),
      ...this.#above(
        entries.next,
        instantOfEntry,
        runs.rows.map(([key, row]) => this.#submission(key, row)),
      ),
    ].sort(newestFirst);
    const shown = all.slice(0, limit);
    const positionOf = (
      from: Placed["from"],
      source: { rows: unknown[]; next: string | null },
      at: string,
    ) => {
      const mine = shown.filter((one) => one.from === from);
      const last = mine.at(-1)?.key;
      if (mine.length === source.rows.length) {
        const isOwn = from === "entry" || source.next === last;
        return (isOwn ? source.next : nameless(source.next, at)) ?? "";
      }
      return last ?? at;
    };
    const next = [positionOf("entry", entries, entry), positionOf("run", runs, run)];
    const { since = 0 } = filter;
    const items = shown.map((one) => one.entry).filter(({ recordedAt }) => Date.parse(recordedAt) >= since);
    const isOver = items.length < shown.length || next.every((key) => key === "");
    return { items, next: isOver ? null : next.join("|"), latest: table.latestAt(now) };
  }

  /** What came after a number, oldest first. Waits for the first entry that matches. */
  async after(
    owner: Watchable & { state: { audit: Pick<AuditTable, "latest"> } },
    filter: AuditFilter,
    from: number,
    waitMs: Millis,
  ): Promise<AuditNews> {
    const endsAt = performance.now() + waitMs;
    const latest = () => owner.state.audit.latest;
    let after = from;
    for (;;) {
      const { items, next } = this.#news(filter, after, latest());
      const leftMs = endsAt - performance.now();
      if (items.length > 0 || leftMs <= 0) return { items, next };
      after = next;
      await until(owner, () => latest() > after, leftMs);
    }
  }

  #news(filter: AuditFilter, after: number, latest: number): AuditNews {
    const entries = this.#disk.readBetween(auditKey(after), TOP, MAX_NEWS);
    const oldest = Math.max(0, instantOf(after) - LATE_MS);
    const runs = this.#submissions?.disk.readAbove("arrival", after, runKey(oldest, ""), MAX_NEWS) ?? [];
    const all = [
      ...entries.map(([key, row]) => this.#entry(key, row)),
      ...runs.filter(({ late }) => late !== true).map((row) => this.#submission("", row)),
    ].sort((a, b) => a.number - b.number);
    const shown = all.slice(0, MAX_NEWS);
    const isAll = entries.length < MAX_NEWS && runs.length < MAX_NEWS && all.length <= MAX_NEWS;
    const next = Math.max(after, shown.at(-1)?.number ?? 0, isAll ? latest : 0);
    return { items: shown.map(({ entry }) => entry).filter((one) => isSelected(one, filter)), next };
  }

  /**
   * Writes the next file of the export, if there is anything to write, and answers how far the export is. The
   * same step writes the same file (audit.md#export).
   */
  async export({ from, before }: ExportMessage): Promise<ExportAnswered> {
    let at: Exported = from;
    while (at.day < before) {
      const { read, rest } = this.#linesOf(at);
      const entries = read.flatMap(({ entry, isLate }) => (isLate ? [] : entry));
      if (entries.length > 0 && this.#bucket !== undefined) {
        const { text, digest } = chained(entries, at.digest, hexDigest);
        const day = iso(at.day).slice(0, "YYYY-MM-DD".length);
        await this.#bucket.put(auditFileName(day, this.#prefix.replace("/", "-"), at.parts), text);
        at = { ...at, digest };
      }
      const last = (kind: Placed["from"]) => read.findLast((one) => one.from === kind)?.key;
      at = { ...at, entry: last("entry") ?? at.entry, run: last("run") ?? at.run };
      at = rest ? { ...at, parts: at.parts + 1 } : { ...at, parts: 0, day: dayAfter(at.day) };
      if (entries.length > 0) break;
    }
    return { type: "audit_exported", from, exported: at };
  }

  /** What the next file of a day is made of, in order. `rest`: there is more. */
  #linesOf({ day, entry, run }: Exported): { read: (Placed & { isLate: boolean })[]; rest: boolean } {
    const end = dayAfter(day);
    const most = MAX_FILE_LINES + 1;
    const entries = this.#disk.readBetween(entry, auditKey(numberAt(end)), most);
    const runs = this.#submissions?.disk.readBetween(run, runKey(end, ""), most) ?? [];
    const all = [
      ...entries.map(([key, row]) => ({ ...this.#entry(key, row), isLate: false })),
      ...runs.map(([key, row]) => ({ ...this.#submission(key, row), isLate: row.late === true })),
    ].sort((a, b) => newestFirst(b, a));
    return { read: all.slice(0, MAX_FILE_LINES), rest: all.length > MAX_FILE_LINES };
  }

  #readRuns(filter: AuditFilter, before: string, limit: number) {
    const { actions, pools } = filter;
    const nothing = { rows: [], next: null };
    if (this.#submissions === undefined || before === "") return nothing;
    const { disk, pool } = this.#submissions;
    if (actions?.includes("run.submit") === false || pools?.includes(pool) === false) return nothing;
    const { rows, next } = disk.readMatching(before, SCAN_ROWS, limit, sqlFilterOf(filter, "run"));
    return { rows: rows.filter(([, { late }]) => late !== true), next };
  }

  /** Those of a table's entries that do not come after the last row that was read of the other table. */
  #above(key: string | null, instantOfKey: (key: string) => Instant, found: Placed[]): Placed[] {
    if (key === null) return found;
    const floor = { recordedAt: iso(instantOfKey(key)), id: `${this.#prefix}/${key}` };
    return found.filter(({ entry }) => newestFirst({ entry }, { entry: floor }) <= 0);
  }

  #entry(key: string, row: AuditRow): Placed {
    const entry = entryView(row, `${this.#prefix}/${key}`, instantOf(row.number));
    return { from: "entry", key, number: row.number, entry };
  }

  #submission(key: string, row: RunRow): Placed {
    const id = `${this.#prefix}/${runKey(row.submittedAt, row.run)}`;
    const entry = entryView(submissionOf(row, this.#submissions?.pool ?? ""), id, row.submittedAt);
    return { from: "run", key, number: row.arrival ?? 0, entry };
  }
}

/** The part of a filter that SQL checks. Of a run's row, only what its submission shows. */
function sqlFilterOf({ by, actions, target, run, pools, projects }: AuditFilter, table: Placed["from"]) {
  const filter = (field: string, values: readonly (string | null)[] | undefined) =>
    values === undefined ? [] : [{ field, values }];
  const one = (value: string | undefined) => (value === undefined ? undefined : [value]);
  if (table === "run") {
    return [
      ...filter("$.by", one(by)),
      ...filter("$.run", one(run)),
      ...filter("$.run", one(target)),
      ...filter("$.project", projects),
    ];
  }
  return [
    ...filter("$.by", one(by)),
    ...filter("$.action", actions),
    ...filter("$.target.id", one(target)),
    ...filter("$.run", one(run)),
    ...filter("$.pool", pools),
    ...filter("$.project", projects),
  ];
}

function isSelected(entry: AuditEntry, { by, actions, target, run, pools, projects }: AuditFilter): boolean {
  const { kind, name } = entry.actor;
  const isBy = by === undefined || by === `${kind}:${name}` || (kind === name && by === kind);
  const isAbout = target === undefined || entry.target.id === target;
  const isWithin = run === undefined || entry.run === run;
  const isOfPool = pools === undefined || (entry.pool !== null && pools.includes(entry.pool));
  const isOfProject = projects === undefined || projects.includes(entry.project);
  return (
    isBy &&
    isAbout &&
    isWithin &&
    isOfPool &&
    isOfProject &&
    (actions === undefined || actions.includes(entry.action))
  );
}

function instantOfEntry(key: string): Instant {
  return instantOf(numberOfKey(key));
}

function instantOfRun(key: string): Instant {
  return Number(key.slice(0, key.indexOf("/")));
}

type Place = { entry: Pick<AuditEntry, "recordedAt" | "id"> };

function newestFirst({ entry: a }: Place, { entry: b }: Place): number {
  if (a.recordedAt !== b.recordedAt) return a.recordedAt < b.recordedAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}
