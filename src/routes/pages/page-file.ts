// How does the Worker serve a static file of one of its pages, with the policy of this page?
import { DroverError } from "../../shared/errors.ts";
import type { EdgeContext } from "../edge.ts";

/** A static file of a page, and what a browser must know of it. */
interface PageFile {
  /** Where it is among the assets, from the root. */
  path: string;
  /** What an error calls the page, such as `/docs`. */
  page: string;
  /** More headers than the type and the ETag: the page's policy. */
  headers: Record<string, string>;
}

/**
 * Serves a file of a page. A browser asks each time, and gets a 304 for what it has. Throws `not_found`.
 */
export async function servePageFile(c: EdgeContext, { path, page, headers }: PageFile): Promise<Response> {
  const url = new URL(path, c.req.url);
  const asked = pick(c.req.raw.headers, "if-none-match");
  const { status, body, headers: served } = await c.env.assets.fetch(new Request(url, { headers: asked }));
  if (status === 404) throw new DroverError("not_found", `the page at ${page} has no file "${nameOf(path)}"`);
  const kept = { ...pick(served, "content-type", "etag"), "cache-control": "no-cache" };
  return new Response(body, { status, headers: { ...kept, ...headers } });
}

function nameOf(path: string): string {
  return decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
}

function pick(headers: Headers, ...names: string[]): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => names.includes(name)));
}
