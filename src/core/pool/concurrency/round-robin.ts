// In which order do runs get their places if their concurrency keys take turns (pool.md#round-robin)?
import { type RunRow, runKey } from "../record.ts";
import { byQueueOrder } from "../rows/run-index.ts";
import type { PoolState, ReadonlyConfigured } from "../state.ts";
import { concurrencyName, holdsSlot, takesTurns } from "./slots.ts";

type Queued = Pick<ReadonlyConfigured, "memo">;

/**
 * The queue as a plan walks along it. Runs whose keys take turns share their places in the queue, those of
 * each priority by themselves: first comes the first run of each key, then the second run of each, and so on.
 * The key whose turn is the longest ago comes first. All other runs keep their places.
 */
export function inTurns({ memo }: Queued): readonly RunRow[] {
  const { queue, turning } = memo.index;
  if (turning < 2) return queue;
  const ordered = byTurn(memo, queue.filter(takesTurns));
  let at = 0;
  return queue.map((row) => {
    if (!takesTurns(row)) return row;
    at += 1;
    return ordered[at - 1] ?? row;
  });
}

/** A run among those that take turns: how many of its key come before it, and when its key had its turn. */
interface Turn {
  row: RunRow;
  round: number;
  turn: number;
}

function byTurn(memo: Queued["memo"], rows: readonly RunRow[]): RunRow[] {
  const rounds = new Map<string, { next: number; turn: number }>();
  const turns = rows.map((row): Turn => {
    const name = turnName(row);
    const known = rounds.get(name) ?? { next: 0, turn: turnOfKey(memo, row) };
    rounds.set(name, { ...known, next: known.next + 1 });
    return { row, round: known.next, turn: known.turn };
  });
  turns.sort(
    (a, b) =>
      b.row.priority - a.row.priority || a.round - b.round || a.turn - b.turn || byQueueOrder(a.row, b.row),
  );
  return turns.map(({ row }) => row);
}

/** Keys take turns among the runs of one priority. */
function turnName(row: RunRow): string {
  return `${row.priority} ${concurrencyName(row)}`;
}

/** The latest turn of a key: that of its first run in the queue, or of one that still holds a slot. */
function turnOfKey({ index }: Queued["memo"], first: RunRow): number {
  let latest = first.turn ?? 0;
  for (const row of index.sharing.of(first)) if (holdsSlot(row)) latest = Math.max(latest, row.turn ?? 0);
  return latest;
}

/** The turn of a run that comes into the queue: its key comes after all others. Absent: it takes no turns. */
export function turnField(state: Queued, run: Pick<RunRow, "concurrency">): { turn?: number } {
  return takesTurns(run) ? { turn: state.memo.index.latestTurn + 1 } : {};
}

/**
 * Notes that the keys of these runs, which have just been placed, have had their turn. The runs themselves
 * are written anyway. If a run of another key waits, the next run of the key is marked, too: by then the row
 * of the one that was placed may be gone.
 */
export function noteTurns(state: PoolState, places: readonly { run: RunRow }[], now: number): void {
  const { index } = state.memo;
  const had = new Map<string, number>();
  for (const { run } of places) {
    if (!takesTurns(run)) continue;
    const key = runKey(run.submittedAt, run.run);
    const row = state.runs.get(key);
    if (row === undefined) continue;
    const turn = index.latestTurn + 1;
    state.runs.set(key, { ...row, turn }, now);
    had.set(turnName(run), turn);
  }
  if (had.size === 0 || index.turning === 0) return;
  const waiting = index.queue.filter(takesTurns);
  if (new Set(waiting.map(turnName)).size < 2) return;
  for (const row of waiting) {
    const name = turnName(row);
    const turn = had.get(name);
    if (turn === undefined) continue;
    had.delete(name);
    state.runs.set(runKey(row.submittedAt, row.run), { ...row, turn }, now);
  }
}
