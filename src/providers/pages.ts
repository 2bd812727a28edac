// How is a listing of several pages read without missing a machine? It is read until two readings agree.
import type { Gap, ListAnswer, ProviderFailure } from "../core/provider-answers.ts";
import type { Instance, InstancePage } from "../schema/provider.ts";

/** The most pages of a listing: 10,000 machines at 50 a page. */
export const MAX_LIST_PAGES = 200;
/** How often a listing is read at most until two readings in a row agree. */
export const MAX_LIST_WALKS = 3;

/** A page. `gap`: why it may be incomplete; `gapZones`: in these zones alone. Absent: anywhere. */
export type ReadPage = InstancePage & { gap?: string; gapZones?: string[] };

/** Why a page is incomplete: the machines that were left out of it. Undefined: there are none. */
export function gapOf(faults: readonly string[]): string | undefined {
  const [first, ...others] = faults;
  return first === undefined || others.length === 0
    ? first
    : `${first}, and ${others.length} more are invalid`;
}

type Read = (cursor: string | undefined) => Promise<ReadPage | { failure: ProviderFailure }>;

/** One reading of all pages, or of the pages before a failure. */
interface Walk {
  items: Map<string, Instance>;
  pages: number;
  /** Why the reading may be incomplete. */
  gap?: Gap | undefined;
  failure?: ProviderFailure;
}

/**
 * Reads a listing with any number of pages. Resolves with every machine that any page showed. Sets `partial`
 * if a machine that no page showed may still exist: the service does not call the listing complete, there are
 * too many pages, pages shifted, a page failed, or an item is invalid.
 *
 * The listing fails if nothing was read. It also fails if the service asks for a pause, since only a failure
 * can contain the pause.
 *
 * Some clouds number their pages. When a machine ends, later machines move up, and a machine may slip to a
 * page that was already read (cases.md#case-19). So the pages are read again. If a reading has every machine
 * of the previous reading, no machine has left the list in between. Then no machine has moved up, and none
 * was missed. This requires a stable order of the list.
 */
export async function listPages(read: Read, beganAt: number): Promise<ListAnswer> {
  const seen = new Map<string, Instance>();
  let before: Walk | undefined;
  for (let walks = 0; walks < MAX_LIST_WALKS; walks += 1) {
    const walk = await walkPages(read);
    for (const [id, instance] of walk.items) seen.set(id, instance);
    const items = [...seen.values()];
    const { failure } = walk;
    if (failure !== undefined) {
      const hasRead = before !== undefined || walk.pages > 0;
      if (!hasRead || failure.retryAfterMs !== undefined) return { kind: "failed", failure };
      return { kind: "listed", beganAt, items, partial: { why: failure.text } };
    }
    if (walk.gap !== undefined) return { kind: "listed", beganAt, items, partial: walk.gap };
    if (walk.pages === 1 || (before !== undefined && isWithin(before, walk))) {
      return { kind: "listed", beganAt, items };
    }
    before = walk;
  }
  const partial = { why: `its pages changed in each of ${MAX_LIST_WALKS} readings` };
  return { kind: "listed", beganAt, items: [...seen.values()], partial };
}

async function walkPages(read: Read): Promise<Walk> {
  const items = new Map<string, Instance>();
  let cursor: string | undefined;
  let gap: Gap | undefined;
  for (let pages = 1; pages <= MAX_LIST_PAGES; pages += 1) {
    const page = await read(cursor);
    if ("failure" in page) return { items, pages: pages - 1, failure: page.failure };
    for (const instance of page.items) items.set(instance.id, instance);
    gap = withGap(gap, page);
    cursor = page.next ?? undefined;
    if (cursor !== undefined) continue;
    if (!page.complete) gap = withGap(gap, { gap: "the provider does not call it complete" });
    return { items, pages, gap };
  }
  const tooMany = withGap(gap, { gap: `it has more than ${MAX_LIST_PAGES} pages` });
  return { items, pages: MAX_LIST_PAGES, gap: tooMany };
}

/** The gaps of a reading together: in some zones alone, if each of them is. The first one says why. */
function withGap(before: Gap | undefined, page: Pick<ReadPage, "gap" | "gapZones">): Gap | undefined {
  if (page.gap === undefined) return before;
  const { gap, gapZones } = page;
  if (before === undefined) return { why: gap, ...(gapZones === undefined ? {} : { zones: gapZones }) };
  if (before.zones === undefined || gapZones === undefined) return { why: before.why };
  return { why: before.why, zones: [...new Set([...before.zones, ...gapZones])] };
}

function isWithin(one: Walk, other: Walk): boolean {
  return [...one.items.keys()].every((id) => other.items.has(id));
}
