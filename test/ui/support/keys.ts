import type { Page } from "playwright-core";
import { until } from "../../local/support/scratch.ts";

/** Types keys that lead to a path, until they do: the second of two keys must come within a second. */
export async function goByKeys(page: Page, keys: string, path: string): Promise<void> {
  await until(`${keys} leads to ${path}`, async () => {
    await page.keyboard.type(keys);
    return new URL(page.url()).pathname === path;
  });
}
