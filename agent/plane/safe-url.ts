const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The same URL, if a host may speak to it: by TLS to anybody, in the clear only to this very machine. Throws
 * with what to do.
 */
export function safeUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "https:") return parsed;
  if (parsed?.protocol === "http:" && LOOPBACK.test(parsed.hostname)) return parsed;
  const shown = parsed === undefined ? JSON.stringify(url) : parsed.origin;
  throw new UnsafeUrl(
    `${shown} is no address for a host: reports and orders carry output and environments, so it must be ` +
      "https, or http of this very machine (127.0.0.1). Set DROVER_URL to it.",
  );
}

/** An address that a host does not speak to, however often it is asked to. */
export class UnsafeUrl extends Error {
  override readonly name = "UnsafeUrl";
}
