// How are the lists of several objects merged into one, newest first?
import { encodePosition, isAfter, newestFirst, type Place, type Position } from "./cursor.ts";
import { askPools, type PoolAnswers } from "./fan-out.ts";

/** A page of one object's list. */
export interface SourcePage<Item> {
  items: Item[];
  next: string | null;
}

/** The list of one object, which is merged with those of others. */
interface Source<Item> {
  name: string;
  /** The fetched items that are not in the answer yet. */
  window: Item[];
  /** The object's cursor with which `window` was fetched. Absent: `window` begins with the newest item. */
  cursor: string | undefined;
  next: string | null;
}

/** What is merged: who has lists, how a page of one is fetched, and where an item stands. */
export interface Merged<Item> {
  names: readonly string[];
  fetch(name: string, cursor: string | undefined): Promise<SourcePage<Item>>;
  placeOf(item: Item): Place;
  limit: number;
  position?: Position | undefined;
  /** The cursor has no positions in the objects: the next page looks again. */
  hidesItems?: boolean | undefined;
}

/**
 * One page of the items of several objects, newest first. A cursor holds the position of the page's last
 * item, and a cursor for each object. So pages neither repeat nor skip items while new ones arrive.
 */
export async function mergeNewest<Item>(
  question: Merged<Item>,
): Promise<SourcePage<Item> & Pick<PoolAnswers<unknown>, "service">> {
  const { names, placeOf, limit, position, hidesItems } = question;
  const fetch = async (name: string, cursor: string | undefined): Promise<Source<Item>> => {
    const { items, next } = await question.fetch(name, cursor);
    return { name, cursor, next, window: items.filter((item) => isAfter(placeOf(item), position)) };
  };
  const { answers, service } = await askPools(names, (name) => fetch(name, position?.pools?.[name]));
  const sources = [...answers.values()];
  const items: Item[] = [];
  while (items.length < limit) {
    for (const source of sources) {
      while (source.window.length === 0 && source.next !== null) {
        Object.assign(source, await fetch(source.name, source.next));
      }
    }
    const newest = takeNewest(sources, placeOf);
    if (newest === undefined) break;
    items.push(newest);
  }
  const last = items.at(-1);
  return { items, next: nextOf(last && placeOf(last), sources, hidesItems), service };
}

/** Removes the newest item from the windows of all sources, and returns it. */
function takeNewest<Item>(
  sources: readonly Source<Item>[],
  placeOf: (item: Item) => Place,
): Item | undefined {
  let best: { source: Source<Item>; head: Item } | undefined;
  for (const source of sources) {
    const [head] = source.window;
    if (head === undefined) continue;
    if (best === undefined || newestFirst(placeOf(head), placeOf(best.head)) < 0) best = { source, head };
  }
  return best?.source.window.shift();
}

/** The cursor behind this place. Null: nothing follows. */
function nextOf<Item>(
  last: Place | undefined,
  sources: readonly Source<Item>[],
  hidesItems = false,
): string | null {
  const more = sources.some((source) => source.window.length > 0 || source.next !== null);
  if (last === undefined || !more) return null;
  if (hidesItems) return encodePosition(last);
  const pools: Record<string, string> = {};
  for (const { name, window, cursor, next } of sources) {
    const resume = window.length === 0 && next !== null ? next : cursor;
    if (resume !== undefined) pools[name] = resume;
  }
  return encodePosition({ ...last, pools });
}
