// When is a run refused because of the runs that have its concurrency key (pool.md#concurrency-keys)?
import { MAX_HOLDERS_NAMED } from "../../../shared/limits.ts";
import type { PoolAnswer, RunUpsert } from "../../messages.ts";
import type { RunRow } from "../record.ts";
import { byQueueOrder } from "../rows/run-index.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { areSiblings, competes, holdsSlot } from "./slots.ts";

type Refusal = Pick<Extract<PoolAnswer, { kind: "refused" }>, "code" | "text" | "runs">;

/**
 * Why a new run is refused: as many runs with its key are there as its strategy allows. Null: it is accepted.
 * Codes: `concurrency_held`, `concurrency_full`.
 */
export function refusalByKey({ memo }: ReadonlyConfigured, upsert: RunUpsert): Refusal | null {
  const { concurrency } = upsert;
  if (concurrency === undefined) return null;
  const { key, limit, strategy, queueMax } = concurrency;
  const isExclusive = strategy === "cancel-new";
  if (!isExclusive && queueMax === undefined) return null;
  const most = isExclusive ? limit : limit + (queueMax ?? 0);
  const there = [...memo.index.sharing.of(upsert)].filter(
    (row) => row.run !== upsert.run && competes(row) && !(isExclusive && areSiblings(upsert, row)),
  );
  if (there.length < most) return null;
  const runs = first(there).map(({ run }) => run);
  const who = namesText(runs, there.length);
  if (isExclusive) {
    const text =
      `the concurrency key "${key}" has no slot for another run: at most ${limit} may be there, and ` +
      `${who} ${there.length === 1 ? "is" : "are"}; nothing was stored. Submit it again when ` +
      "that has ended, or choose the strategy `queue`, with which it waits";
    return { code: "concurrency_held", text, runs };
  }
  const text =
    `${there.length} runs with the concurrency key "${key}" have not ended (${who}), and another one may ` +
    `come only while there are fewer than ${most}: \`limit\` ${limit}, \`queueMax\` ${queueMax}; nothing ` +
    "was stored. Submit it again when some have ended, or with a higher `queueMax`";
  return { code: "concurrency_full", text, runs };
}

/** The runs to name: those that hold a slot come first, then those that wait. */
function first(rows: readonly RunRow[]): RunRow[] {
  const ordered = rows.toSorted((a, b) => Number(holdsSlot(b)) - Number(holdsSlot(a)) || byQueueOrder(a, b));
  return ordered.slice(0, MAX_HOLDERS_NAMED);
}

/** The names of some runs, and how many others there are. */
export function namesText(names: readonly string[], count: number): string {
  const others = count - names.length;
  const listed = others > 0 ? [...names, `${others} more`] : [...names];
  const last = listed.pop() ?? "none";
  return `run${count === 1 ? "" : "s"} ${listed.length === 0 ? last : `${listed.join(", ")} and ${last}`}`;
}
