// How does a verb read more items than one answer of the API has?

/** The most items that one request asks for. */
const PAGE_ITEMS = 1_000;

/** Reads pages until they have `count` items or no page is left. Returns at least one page. */
export async function readPages<Page extends { items: readonly unknown[]; next: string | null }>(
  count: number,
  read: (page: { limit: number; cursor: string | undefined }) => Promise<Page>,
): Promise<Page[]> {
  const pages: Page[] = [];
  let left = count;
  let cursor: string | undefined;
  do {
    const page = await read({ limit: Math.min(left, PAGE_ITEMS), cursor });
    pages.push(page);
    left -= page.items.length;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && left > 0);
  return pages;
}
