// How does a browser carry its session (sessions.md#cookie)?
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { CookieOptions } from "hono/utils/cookie";
import { DroverError } from "../../shared/errors.ts";
import type { EdgeContext } from "../edge.ts";

/** The secret in the cookie of the request; undefined without one. */
export function sessionSecretOf(c: EdgeContext): string | undefined {
  return getCookie(c, cookieOf(c).name);
}

/** Sets the cookie. `maxAgeMs`: after this time the browser forgets it. */
export function setSessionCookie(c: EdgeContext, secret: string, maxAgeMs: number): void {
  const { name, options } = cookieOf(c);
  setCookie(c, name, secret, { ...options, maxAge: Math.floor(maxAgeMs / 1_000) });
}

/** Makes the browser forget the cookie. */
export function clearSessionCookie(c: EdgeContext): void {
  const { name, options } = cookieOf(c);
  deleteCookie(c, name, options);
}

/**
 * The cookie's name and attributes. Browsers bind a `__Host-` cookie to its host, over https only. On plain
 * http, which only a loopback Drover serves, some browsers refuse `Secure`. There the port is in the name,
 * because browsers send a cookie of one port to all ports of its host.
 */
function cookieOf(c: EdgeContext): { name: string; options: CookieOptions } {
  const { protocol, port } = new URL(c.req.url);
  const isSecure = protocol === "https:";
  const name = isSecure ? "__Host-drover" : `drover-${port || "80"}`;
  return { name, options: { path: "/", httpOnly: true, sameSite: "Strict", secure: isSecure } };
}

const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * Refuses a request that a page of another origin may have caused (sessions.md#csrf). Only needed where a
 * browser adds the authorization by itself, that is for cookies. Code: `cross_site`.
 */
export function refuseCrossSite(c: EdgeContext): void {
  const site = c.req.header("sec-fetch-site");
  const origin = c.req.header("origin");
  const isSafe = SAFE_METHODS.includes(c.req.method);
  if (site === "same-origin" || (site === "none" && isSafe)) return;
  if (site === undefined && (origin === undefined ? isSafe : origin === new URL(c.req.url).origin)) return;
  const from = origin ?? site ?? "an unknown origin";
  const text = `this request comes from ${from}; with a session's cookie, only pages of this Drover may ask`;
  throw new DroverError("cross_site", text);
}
