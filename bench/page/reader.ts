// What does a reader do on the page? One round of it, with real keys and a real mouse.
import type { Page } from "playwright-core";

/** Something that a reader does, and what is measured of it. */
export interface Act {
  kind: string;
  /** Scrolling is no interaction for the browser: of it the longest time between two frames counts. */
  isScroll?: boolean;
  /** Before it, and not measured. */
  begin?: (page: Page) => Promise<unknown>;
  act(page: Page): Promise<unknown>;
}

const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true }).waitFor();
const keys = async (page: Page, first: string, second: string) => {
  await page.keyboard.press(first);
  await page.keyboard.press(second);
};
const link = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name }).click();

/** One round. It begins and ends at the list of runs. */
export const ROUND: readonly Act[] = [
  { kind: "next row (j)", act: (page) => page.keyboard.press("j") },
  { kind: "next row (j)", act: (page) => page.keyboard.press("j") },
  { kind: "row before (k)", act: (page) => page.keyboard.press("k") },
  { kind: "sheet of keys (?)", act: (page) => page.keyboard.press("?") },
  { kind: "close the sheet (Esc)", act: (page) => page.keyboard.press("Escape") },
  { kind: "scroll", isScroll: true, act: (page) => page.mouse.wheel(0, 600) },
  {
    kind: "type a filter",
    begin: (page) => page.locator("input[type=search]").first().focus(),
    act: (page) => page.keyboard.type("make"),
  },
  { kind: "apply a filter (Enter)", act: (page) => page.keyboard.press("Enter") },
  {
    kind: "filter by a label",
    begin: (page) => page.locator("a.chip").first().waitFor(),
    act: (page) => page.locator("a.chip").first().click({ force: true }),
  },
  { kind: "back to Runs (g r)", act: (page) => keys(page, "g", "r") },
  {
    kind: "open a run (Enter)",
    begin: async (page) => {
      await page.locator("tbody a").first().focus();
    },
    act: (page) => page.keyboard.press("Enter"),
  },
  { kind: "go to Workers (g w)", act: (page) => keys(page, "g", "w") },
  {
    kind: "scroll",
    isScroll: true,
    begin: (page) => heading(page, "Workers"),
    act: (page) => page.mouse.wheel(0, 600),
  },
  { kind: "go to Pools (click)", act: (page) => link(page, "Pools") },
  { kind: "go to Now (click)", act: (page) => link(page, "Now") },
  { kind: "go to Runs (click)", act: (page) => link(page, "Runs") },
  {
    kind: "move into the list (j)",
    begin: (page) => heading(page, "Runs"),
    act: (page) => page.keyboard.press("j"),
  },
];
