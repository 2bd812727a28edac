import type { Page } from "playwright-core";

/** Holds requests back until the function that is returned is called. */
export async function heldBack(page: Page, url: string | RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    await promise;
    // Whoever asked may have left.
    await route.continue().catch(() => undefined);
  });
  return resolve;
}
