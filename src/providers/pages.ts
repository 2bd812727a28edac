import type { ListAnswer, ProviderFailure } from "../core/messages.ts";
import type { Instance, InstancePage } from "../schema/provider.ts";

/** Pages of one listing: 10,000 machines of a cloud that gives 50 at a time. */
export const MAX_LIST_PAGES = 200;
/** How often a listing in several pages is read until two readings in a row agree. */
export const MAX_LIST_WALKS = 3;

/** A page that was read. `gap`: what was left out of it, and why. */
export type ReadPage = InstancePage & { gap?: string };

type Read = (cursor: string | undefined) => Promise<ReadPage | { failure: ProviderFailure }>;

/** What one reading of all pages has found, or of those before a failure. */
interface Walk {
  items: Map<string, Instance>;
  pages: number;
  /** Why something may be missing from it. */
  gap?: string | undefined;
  failure?: ProviderFailure;
}

/**
 * Reads a listing, whatever number of pages it comes in. Resolves with all that any page has shown, and with
 * `partial` if absence from it proves nothing: the service does not call it complete, it has too many pages,
 * they shifted, one of them failed, or something in them cannot be read.
 *
 * It fails if nothing was read, and if the service wants a pause, since only a failure can say so.
 *
 * While machines end, rows of a cloud that counts its pages move up, and one may slip from a page that is
 * still to be read to one that has been (cases.md#case-19). So pages are read again: if everything that one
 * reading has shown is there in the next, nothing has left meanwhile, nothing has moved up, and nothing was
 * passed over. This needs no promise of the service but an order that stays.
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
      return { kind: "listed", beganAt, items, partial: failure.text };
    }
    if (walk.gap !== undefined) return { kind: "listed", beganAt, items, partial: walk.gap };
    if (walk.pages === 1 || (before !== undefined && isWithin(before, walk))) {
      return { kind: "listed", beganAt, items };
    }
    before = walk;
  }
  const partial = `its pages have changed each of the ${MAX_LIST_WALKS} times that they were read`;
  return { kind: "listed", beganAt, items: [...seen.values()], partial };
}

async function walkPages(read: Read): Promise<Walk> {
  const items = new Map<string, Instance>();
  let cursor: string | undefined;
  let gap: string | undefined;
  for (let pages = 1; pages <= MAX_LIST_PAGES; pages += 1) {
    const page = await read(cursor);
    if ("failure" in page) return { items, pages: pages - 1, failure: page.failure };
    for (const instance of page.items) items.set(instance.id, instance);
    gap ??= page.gap;
    cursor = page.next ?? undefined;
    if (cursor !== undefined) continue;
    if (!page.complete) gap ??= "the provider does not call it complete";
    return { items, pages, gap };
  }
  return { items, pages: MAX_LIST_PAGES, gap: gap ?? `it has more than ${MAX_LIST_PAGES} pages` };
}

function isWithin(one: Walk, other: Walk): boolean {
  return [...one.items.keys()].every((id) => other.items.has(id));
}
