// What may a browser do with an answer (sessions.md#content)?

/** For answers that are not pages: a browser that shows one runs nothing in it and loads nothing for it. */
const POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/**
 * Adds the headers that make an answer harmless in a browser, whatever a user wrote into it
 * (sessions.md#content). A page that has a policy of its own keeps it.
 */
export function setSafeHeaders(headers: Headers): void {
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", POLICY);
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  headers.set("cross-origin-resource-policy", "same-origin");
}
