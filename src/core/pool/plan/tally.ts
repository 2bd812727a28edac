import type { BootOutcome } from "../../../probes/boot.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import type { ReadonlyRows } from "../../rows.ts";
import { spentSince } from "../read/money.ts";
import { type Counts, endingSince, type RunRow, runKey, type Tally, type WorkerRow } from "../record.ts";

/** So many ends of runs are counted from their rows: one row more for a hundred runs, and not for each. */
export const ENDS_LEFT_TO_ROWS = 100;
/** A submission may reach its pool so late. */
const LATE_MS = 3_600_000;

/**
 * Counts what happens (pool.md#metrics, tasks.md#metrics), each fact once, with the change of the row that
 * it is: so a crash loses the count with the fact, and the message that brought both comes again. It is no
 * count of rows (invariant 6): those that it has counted may be gone.
 *
 * What happens to machines is rare, and is stored at once. Ends of runs are numbered in their rows, and
 * stored by the hundred: whoever loads the pool counts those after the stored number again.
 */
export class Counting {
  readonly #runs: ReadonlyRows<RunRow>;
  #stored: Tally;
  #counts: Counts;
  #ends: number;
  #owed = false;

  constructor(stored: Tally | undefined, runs: ReadonlyRows<RunRow>) {
    this.#runs = runs;
    this.#stored = stored ?? { counts: {}, upTo: 0, from: "" };
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

  /** The row as it is to be stored: with its number, if this change is the end of its run. */
  run(after: RunRow, before: RunRow | undefined): RunRow {
    const ends = before !== undefined && !isTerminal(before.state) && isTerminal(after.state);
    if (!ends || after.endNumber !== undefined) return after;
    this.#ends += 1;
    this.#countEnd(after);
    return { ...after, endNumber: this.#ends };
  }

  /** A run's row goes: what was left to be counted from it is to be stored first. */
  forget({ endNumber = 0 }: RunRow): void {
    if (endNumber > this.#stored.upTo) this.#owed = true;
  }

  /**
   * Counts what a change of a machine's row says has happened to it. The row as it is to be stored: it says
   * until when its cost is counted, since a machine that was taken for gone may come back.
   */
  worker(after: WorkerRow, before: WorkerRow | undefined, now: Instant): WorkerRow {
    if (before === undefined || after.kind === "self-hosted") return after;
    for (const [name, value] of happened(before, after, now)) {
      this.#add(name, value);
      this.#owed = true;
    }
    return after.phase === "gone" && before.phase !== "gone" ? { ...after, spentUntil: now } : after;
  }

  /** What is to be stored with this event; undefined: nothing. */
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

  #countEnd({ state, submittedAt, startedAt, finishedAt, restarts = 0, oomKills = 0 }: RunRow): void {
    this.#add(`ended ${state}`, 1);
    this.#add("restarts", restarts);
    this.#add("oomKills", oomKills);
    if (startedAt === null) return;
    this.#time("start", startedAt - submittedAt);
    this.#time("run", (finishedAt ?? startedAt) - startedAt);
  }

  #time(name: string, ms: number): void {
    for (const [part, value] of timed(name, ms)) this.#add(part, value);
  }

  #add(name: string, value: number): void {
    if (value > 0) this.#counts[name] = (this.#counts[name] ?? 0) + value;
  }
}

type Count = [name: string, value: number];

function timed(name: string, ms: number): Count[] {
  return [
    [`${name} times`, 1],
    [`${name} seconds`, Math.max(0, ms) / 1_000],
  ];
}

/** What has happened to a machine between two states of its row. */
function happened(before: WorkerRow, after: WorkerRow, now: Instant): Count[] {
  const counts: Count[] = [];
  const { failure } = after;
  if (before.instance === null && after.instance !== null) counts.push(["created success", 1]);
  if (failure !== undefined && failure.class !== "boot" && failure.at !== before.failure?.at)
    counts.push(["created failure", 1]);
  const { toldPrice } = after;
  if (toldPrice !== undefined && toldPrice.since !== before.toldPrice?.since)
    counts.push(["spent", spentSince(before, toldPrice.since)]);
  const outcome = bootOutcome(before, after);
  if (outcome !== undefined) counts.push([`boot ${outcome}`, 1]);
  if (outcome === "success") counts.push(...timed("ready", (after.readyAt ?? now) - after.askedAt));
  if (after.instance === null || before.phase === after.phase) return counts;
  if (after.phase === "shutdown") counts.push(["destroys", 1]);
  if (after.phase !== "gone") return counts;
  counts.push([`disappeared ${before.phase === "asked" ? "booting" : before.phase}`, 1]);
  counts.push(["spent", spentSince(after, now)]);
  if (before.phase === "shutdown") counts.push(...timed("shutdown", now - endingSince(before)));
  return counts;
}

/** How the boot of a machine has ended, if this change is the first to say so (workers.md#boot-outcomes). */
function bootOutcome(before: WorkerRow, after: WorkerRow): BootOutcome | undefined {
  // An earlier version said only of a success that it was one.
  const known = before.booted || before.bootOutcome !== undefined || after.adopt !== undefined;
  return known ? undefined : (after.bootOutcome ?? (after.booted ? "success" : undefined));
}
