// Where is the reader: which address does the page show, and how does it change (ui.md#d15)?
import { computed, signal } from "@preact/signals";

/** The parts of the address that choose what is shown. */
export interface Place {
  path: string;
  query: URLSearchParams;
}

const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

/** The address in the browser's bar: where the reader wants to be. */
export const address = signal<Place>(here());

/** The address that is shown: the one in the bar, once its page has been loaded (ui.md#d12). */
export const place = signal<Place>(address.peek());

/** A value of the address's query; empty: not there. */
export function queryOf(name: string): string {
  return place.value.query.get(name) ?? "";
}

/** The address of the same page with changes of its query. What is empty is left out. */
export function withQuery(changes: Record<string, string | readonly string[] | undefined>): string {
  return hrefOf(place.value.path, place.value.query, changes);
}

/** The address of a page with a query that has these changes. */
export function hrefOf(
  path: string,
  query: URLSearchParams,
  changes: Record<string, string | readonly string[] | undefined>,
): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const one of typeof value === "string" ? [value] : (value ?? [])) {
      if (one !== "") next.append(name, one);
    }
  }
  return next.size === 0 ? path : `${path}?${next}`;
}

/** Goes to an address of this page. `replace`: Back skips the address that is left. */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  address.value = here();
}

/** Follows Back and Forward, and links to pages of the dashboard, without loading the document again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    address.value = here();
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!/^\/ui(?:\/(?!files\/)|$)/.test(link.pathname) || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
    scrollTo(0, 0);
  });
}

/** The page and the item that are shown. */
export const route = computed(() => routeOf(place.value.path));

/** The page and the item that a path names: `/ui/runs/build-17` is the item `build-17` of `runs`. */
export function routeOf(path: string): { page: string; item: string | undefined } {
  const [, , page = "", item] = path.split("/");
  return { page: page === "" ? "now" : page, item: item === undefined ? undefined : decodedOf(item) };
}

function decodedOf(item: string): string | undefined {
  try {
    return item === "" ? undefined : decodeURIComponent(item);
  } catch {
    return item;
  }
}

/** The address of a page about an item. */
export function itemHref(page: "runs" | "jobs" | "workers" | "pools", item: string): string {
  return `/ui/${page}/${encodeURIComponent(item)}`;
}
