import type { Page } from "playwright-core";

/** Everything in which a page could leave a secret: document, address, requests, history, storage. */
export async function keptIn(page: Page, asked: readonly string[]): Promise<string> {
  const fields = "[...document.querySelectorAll('input, textarea')].map(({ value }) => value)";
  const kept = await page.evaluate<string>(
    `JSON.stringify([${fields}, { ...localStorage }, { ...sessionStorage }, document.cookie, history.state])`,
  );
  return [await page.content(), page.url(), ...asked, kept].join("\n");
}
