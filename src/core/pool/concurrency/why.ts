// How does `why` say who keeps a concurrency key from a run (pool.md#concurrency-keys)?
import type { Why } from "../../../schema/why.ts";
import { MAX_HOLDERS_NAMED } from "../../../shared/limits.ts";
import type { Plan } from "../plan/pass.ts";
import type { RunRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { namesText } from "./refusals.ts";
import { concurrencyName, holdsSlot } from "./slots.ts";

/** What a run that waits for its key says of it: the text, fields for programs, and who is in the way. */
export interface KeyWait {
  text: string;
  fields: { key: string; limit: number; keyPosition: number; holders: string[] };
  chain: Why["chain"];
}

/**
 * Why its concurrency key keeps a run waiting. Undefined: another cause does.
 */
export function keyWait(state: ReadonlyConfigured, row: RunRow, planned: Planned): KeyWait | undefined {
  const { code, held } = planned.waits.get(row.run) ?? {};
  if (code !== "concurrency_key" || held === undefined || row.concurrency === undefined) return undefined;
  const { key } = row.concurrency;
  const seen = seenBy(planned);
  const holders = seen.holders.of(state, row);
  const named = holders.slice(0, MAX_HOLDERS_NAMED).map(({ run }) => run);
  const coming = (held.coming ?? []).slice(0, MAX_HOLDERS_NAMED - named.length);
  const promised = held.used - holders.length;
  const parts: string[] = [];
  if (named.length > 0) parts.push(`held by ${namesText(named, holders.length)}`);
  if (coming.length > 0) parts.push(`promised to ${namesText(coming, promised)}`);
  else if (promised > 0) parts.push(`promised to ${promised} more`);
  const keyPosition = seen.positions.get(row.run) ?? 1;
  const runs = held.most === 1 ? "1 run" : `${held.most} runs`;
  const text =
    `its concurrency key, "${key}", is ${parts.join(" and ")}, and at most ${runs} may hold it at once; ` +
    `it is number ${keyPosition} of the runs that wait for it`;
  return {
    text,
    fields: { key, limit: held.most, keyPosition, holders: named },
    chain: holders.slice(0, MAX_HOLDERS_NAMED).map(chainEntry),
  };
}

type Planned = Pick<Plan, "queue" | "waits">;

/** What all runs that wait for keys say by one plan: a page of the queue asks for each of its runs. */
interface Seen {
  /** By run: its position among those that wait for the same key. 1 is the next. */
  positions: ReadonlyMap<string, number>;
  holders: Holders;
}

const seen = new WeakMap<Planned, Seen>();

function seenBy(planned: Planned): Seen {
  const known = seen.get(planned);
  if (known !== undefined) return known;
  const found = { positions: positionsIn(planned), holders: new Holders() };
  seen.set(planned, found);
  return found;
}

/** The runs that hold a slot of each key, those with the oldest placements first. */
class Holders {
  readonly #byName = new Map<string | undefined, RunRow[]>();

  of({ memo }: ReadonlyConfigured, row: RunRow): readonly RunRow[] {
    const name = concurrencyName(row);
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const found = [...memo.index.sharing.of(row)]
      .filter(holdsSlot)
      .sort((a, b) => (a.openedAt ?? 0) - (b.openedAt ?? 0) || (a.run < b.run ? -1 : 1));
    this.#byName.set(name, found);
    return found;
  }
}

function chainEntry({ run, state, worker, replacedBy }: RunRow): Why["chain"][number] {
  const ends = replacedBy === undefined ? "" : "; it has been asked to end";
  return { what: `run ${run}`, state, text: `placed on worker ${worker}${ends}` };
}

function positionsIn({ queue, waits }: Planned): Map<string, number> {
  const positions = new Map<string, number>();
  const waiting = new Map<string, number>();
  for (const row of queue) {
    const name = concurrencyName(row);
    if (name === undefined) continue;
    const before = waiting.get(name) ?? 0;
    positions.set(row.run, before + 1);
    if (waits.get(row.run)?.code === "concurrency_key") waiting.set(name, before + 1);
  }
  return positions;
}
