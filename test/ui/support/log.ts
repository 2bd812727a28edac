import type { Page } from "playwright-core";

/** The rows that are completely in view, from the top. */
async function visible<T>(page: Page, of: "text" | "number" | "top"): Promise<T[]> {
  return await page.evaluate((what) => {
    const view = document.querySelector(".log-view")?.getBoundingClientRect();
    if (view === undefined) return [];
    const rows = [...document.querySelectorAll(".log-row")].filter((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return top >= view.top - 1 && bottom <= view.bottom + 1;
    });
    return rows.map((row): unknown => {
      const text = row.querySelector(".log-text") ?? row;
      if (what === "text") return text.textContent;
      if (what === "number") return row.querySelector(".log-number")?.getAttribute("data-number");
      return [text.textContent, Math.round(row.getBoundingClientRect().top)];
    });
  }, of) as T[];
}

/** The texts of the rows in view. */
export const rowsOf = (page: Page) => visible<string>(page, "text");
/** Their numbers. */
export const numbersOf = (page: Page) => visible<string>(page, "number");
/** Their texts, and where they stand. */
export const rowTops = (page: Page) => visible<[string, number]>(page, "top");

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
