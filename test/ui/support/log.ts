import type { Page } from "playwright-core";

/** The rows that are completely in view, from the top, each as `what` makes it of its element. */
async function visible<T>(page: Page, what: string): Promise<T[]> {
  await page.locator(".log-view").waitFor();
  return await page.evaluate<T[]>(`(() => {
    const view = document.querySelector(".log-view").getBoundingClientRect();
    const isVisible = ({ top, bottom }) => top >= view.top - 1 && bottom <= view.bottom + 1;
    const rows = [...document.querySelectorAll(".log-row")];
    return rows.filter((row) => isVisible(row.getBoundingClientRect())).map((row) => ${what});
  })()`);
}

const TEXT = '(row.querySelector(".log-text") ?? row).textContent';

/** The texts of the rows in view. */
export const rowsOf = (page: Page) => visible<string>(page, TEXT);
const NUMBER = 'row.querySelector(".log-number")?.dataset.number';

/** Their numbers. */
export const numbersOf = (page: Page) => visible<string>(page, NUMBER);
/** Both, as they are at the same moment. */
export const numberedRowsOf = (page: Page) => visible<[string, string]>(page, `[${NUMBER}, ${TEXT}]`);
/** Their texts, and where they stand below the upper edge of the view. */
export const rowTops = (page: Page) =>
  visible<[string, number]>(page, `[${TEXT}, Math.round(row.getBoundingClientRect().top - view.top)]`);

/** Moves the scroll bar by so many pixels, as somebody with a mouse does. */
export async function scrollBy(page: Page, pixels: number): Promise<void> {
  await page.locator(".log").evaluate((log, by) => log.scrollBy(0, by), pixels);
}

/** Moves the scroll bar to a position. */
export async function scrollTo(page: Page, top: number): Promise<void> {
  await page.locator(".log").evaluate((log, to) => log.scrollTo(0, to), top);
}

/** What the view says of itself. */
export async function statusOf(page: Page): Promise<string> {
  return (await page.locator(".log-status").textContent()) ?? "";
}
