// How does a pool count events without writing an additional row for each?
import type { Instant, Millis } from "../../../shared/machine.ts";
import { hasFailed, isTerminal } from "../../../shared/run-state.ts";
import { type Counts, callCounts, growthOf, timeCounts } from "../../histogram.ts";
import type { ReadonlyRows } from "../../rows.ts";
import { HOOKS } from "../../run/mishaps.ts";
import { FAILED_EXITS } from "../past/hour-record.ts";
import { isRefused, spentSince } from "../read/money.ts";
import { type RunRow, runKey, type Tally, type WorkerRow } from "../record.ts";

/**
 * How many ended runs may be missing in the stored counters. So a hundred ended runs cost only one additional
 * written row.
 */
export const ENDS_LEFT_TO_ROWS = 100;
/** A submission that reaches its pool later than this costs a row when its run ends. */
const LATE_MS = 3_600_000;

/**
 * Counts events (pool.md#metrics, tasks.md#metrics). Each event is counted once, together with the change of
 * its row: a crash loses both, and the repeated message brings both back. These counters are not counts of
 * rows (invariant 6): the rows may be gone.
 *
 * Events of machines are rare, so their counts are stored at once. Ended runs are numbered in their rows, and
 * their counts are stored once for every hundred runs. After loading, the runs with numbers above the stored
 * number are counted again. These are looked for among the keys of the last hour, so the end of a run with a
 * lower key (its submission came late, or the clock was set back) is stored with its count.
 */
export class Counting {
  readonly #runs: ReadonlyRows<RunRow>;
  #stored: Tally;
  #counts: Counts;
  #ends: number;
  #owed = false;

  constructor(stored: Tally, runs: ReadonlyRows<RunRow>) {
    this.#runs = runs;
    this.#stored = stored;
    this.#counts = { ...this.#stored.counts };
    this.#ends = this.#stored.upTo;
    for (const row of runs.above("endNumber", this.#stored.upTo, this.#stored.from)) {
      this.#countEnd(row);
      this.#ends = Math.max(this.#ends, row.endNumber ?? 0);
    }
  }

  get counts(): Readonly<Counts> {
    return this.#counts;
  }

  /** The ordinal of the last run that ended. */
  get ends(): number {
    return this.#ends;
  }

  /** The row to store: with an ordinal and the time, if the change ends the run. */
  run(after: RunRow, before: RunRow | undefined, now: Instant): RunRow {
    // A run that the pool first hears of when it has ended is numbered, too.
    const ends = isTerminal(after.state) && (before === undefined || !isTerminal(before.state));
    if (!ends || after.endNumber !== undefined) return after;
    this.#ends += 1;
    const ended = { ...after, endNumber: this.#ends, endHeardAt: now };
    this.#countEnd(ended);
    // The next load would not look at this row, and would give its ordinal to another run.
    if (runKey(after.submittedAt, after.run) < this.#stored.from) this.#owed = true;
    return ended;
  }

  /**
   * Notes that a run's row is deleted. If the stored counters do not include the run yet, new counters must
   * be stored.
   */
  forget({ endNumber = 0 }: RunRow): void {
    if (endNumber > this.#stored.upTo) this.#owed = true;
  }

  /**
   * Counts the events of a machine that a changed row shows, and returns the row to store. The row of a
   * machine that is gone records until when its cost has been counted, since the machine may come back.
   */
  worker(after: WorkerRow, before: WorkerRow | undefined, now: Instant): WorkerRow {
    if (before === undefined) return after;
    for (const [name, value] of factsOf(before, after, now)) {
      this.#add(name, value);
      this.#owed = true;
    }
    if (after.kind === "self-hosted") return after;
    if (after.phase !== "gone" || before.phase === "gone") return after;
    const { uncounted: _, ...gone } = after;
    return {
      ...gone,
      spentUntil: paidUntil(after, now),
      ...(costsNothing(after) ? { uncounted: true } : {}),
    };
  }

  /**
   * Counts broken invariants of a state machine (shell.md#assertions). The count is stored with the pool's
   * next step.
   */
  violated(machine: string, count: number): void {
    this.#add(`violated ${machine}`, count);
    this.#owed = true;
  }

  /** The counters to store with this event; undefined: none. */
  owed(now: Instant): Tally | undefined {
    if (!this.#owed && this.#ends - this.#stored.upTo < ENDS_LEFT_TO_ROWS) return undefined;
    this.#owed = false;
    let from = runKey(now - LATE_MS, "");
    for (const { submittedAt, run } of this.#runs.live()) {
      const key = runKey(submittedAt, run);
      if (key < from) from = key;
    }
    this.#stored = { counts: { ...this.#counts }, upTo: this.#ends, from };
    return this.#stored;
  }

  #codes(): number {
    return Object.keys(this.#counts).filter((name) => name.startsWith(UNKNOWN_CODE)).length;
  }

  #countEnd(row: RunRow): void {
    const { state, submittedAt, startedAt, finishedAt, restarts, oomKills } = row;
    this.#add(`ended ${state}`, 1);
    if (state === "complete" && hasFailed(row)) this.#add(FAILED_EXITS, 1);
    this.#add("restarts", restarts);
    this.#add("oomKills", oomKills);
    this.#add("startFailures", row.startFailures);
    for (const hook of HOOKS) this.#add(`failed ${hook}`, row.taskFailures[hook] ?? 0);
    if (startedAt === null) return;
    this.#addAll(timeCounts("start", startedAt - submittedAt));
    this.#addAll(timeCounts("run", (finishedAt ?? startedAt) - startedAt));
    if (finishedAt !== null && row.endHeardAt !== undefined)
      this.#addAll(timeCounts("report", row.endHeardAt - finishedAt));
  }

  #addAll(counts: Counts): void {
    for (const [name, value] of Object.entries(counts)) this.#add(name, value);
  }

  /** Counts a listing of the provider's machines. It is one written row (budgets.md#a-listing). */
  listed(answer: { kind: string }, tookMs: Millis | undefined): void {
    if (tookMs === undefined) return;
    this.#addAll(callCounts("list", answer, tookMs));
    this.#owed = true;
  }

  /** Counts a listing that failed with a code that Drover does not know. */
  unknownCode(code: string): void {
    this.#add(unknownCode(code), 1);
    this.#owed = true;
  }

  #add(name: string, value: number): void {
    if (name.startsWith(UNKNOWN_CODE) && !(name in this.#counts) && this.#codes() >= MAX_CODES) return;
    if (value > 0) this.#counts[name] = (this.#counts[name] ?? 0) + value;
  }
}

/** The beginning of the names of counters of codes that Drover does not know (clouds.md). */
export const UNKNOWN_CODE = "unknown code ";
const MAX_CODE_CHARS = 64;
/** A provider must not fill the record with codes that it makes up. */
const MAX_CODES = 50;

function unknownCode(code: string): string {
  return UNKNOWN_CODE + code.slice(0, MAX_CODE_CHARS);
}

type Count = [name: string, value: number];

/** The counts of one duration (pool.md#histograms). */
function timesOf(histogram: "ready" | "shutdown", ms: Millis): Count[] {
  return Object.entries(timeCounts(histogram, ms));
}

/** Whether nothing is counted of a machine that is gone now: there was none, as far as is known. */
function costsNothing(row: WorkerRow): boolean {
  return isRefused(row) || !mayHaveBeen(row);
}

/**
 * Whether a worker that is gone may have had a machine: the machine's id is known, its host has called, or
 * the worker's end was forced before anything proved that no machine existed (pool.md#prices).
 */
function mayHaveBeen({ instance, bootOutcome, forced }: WorkerRow): boolean {
  return instance !== null || bootOutcome !== null || forced;
}

/** Until when a machine that is gone is paid for. */
function paidUntil({ paid }: WorkerRow, now: Instant): Instant {
  return paid?.until ?? now;
}

/**
 * Whether the host of a ready worker is silent. An adopted machine is `unknown`, too, but its host was never
 * heard.
 */
export function isSilentHost({ phase, adopt }: WorkerRow): boolean {
  return phase === "unknown" && adopt === undefined;
}

/** The events of any host or machine between two versions of its worker's row. */
function factsOf(before: WorkerRow, after: WorkerRow, now: Instant): Count[] {
  const silent: Count[] = isSilentHost(after) && !isSilentHost(before) ? [["silences", 1]] : [];
  return after.kind === "self-hosted" ? silent : [...silent, ...factsOfMachine(before, after, now)];
}

/** The events of a provider's machine between two versions of its worker's row. */
function factsOfMachine(before: WorkerRow, after: WorkerRow, now: Instant): Count[] {
  const counts: Count[] = Object.entries(growthOf(before.calls, after.calls));
  const { failure } = after;
  if (before.instance === null && after.instance !== null) counts.push(["created success", 1]);
  if (failure !== null && failure.class !== "boot" && failure.at !== before.failure?.at) {
    counts.push(["created failure", 1]);
    if (failure.unknownCode !== undefined) counts.push([unknownCode(failure.unknownCode), 1]);
  }
  const { listedPrice } = after;
  if (listedPrice !== null && listedPrice.since !== before.listedPrice?.since)
    counts.push(["spent", spentSince(before, listedPrice.since)]);
  const isFirst = before.bootOutcome === null && after.adopt === undefined;
  const outcome = isFirst ? after.bootOutcome : null;
  if (outcome !== null) counts.push([`boot ${outcome}`, 1]);
  if (outcome === "success") counts.push(...timesOf("ready", (after.readyAt ?? now) - after.askedAt));
  if (before.phase === after.phase) return counts;
  if (after.phase === "gone" && mayHaveBeen(after))
    counts.push(["spent", spentSince(after, paidUntil(after, now))]);
  if (after.instance === null) return counts;
  if (after.phase === "shutdown") counts.push(["destroys", 1]);
  if (after.phase !== "gone") return counts;
  counts.push([`disappeared ${before.phase === "asked" ? "booting" : before.phase}`, 1]);
  if (before.phase === "shutdown") counts.push(...timesOf("shutdown", now - (before.endingAt ?? now)));
  return counts;
}
