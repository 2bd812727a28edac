import { EMPTY_DIGEST } from "./mac.ts";
import { type ClaimedRequest, claimedRequest, type Purpose } from "./request.ts";

/** What the platform knows of a request. */
interface Seen {
  method: string;
  url: string;
  headers: { get(name: string): string | null };
}

/**
 * What a request claims to be signed for; undefined unless that is this purpose, in the one form that there
 * is. `keyid`: whose it must be; absent: it may be anybody's.
 */
export function claimOf(
  { method, url, headers }: Seen,
  purpose: Purpose,
  keyid?: string,
): ClaimedRequest | undefined {
  const { pathname: path, search: query } = new URL(url);
  const claim = claimedRequest({ method, path, query }, (name) => headers.get(name) ?? undefined);
  if (claim?.purpose !== purpose) return undefined;
  if (method === "GET" && claim.digest !== EMPTY_DIGEST) return undefined;
  return keyid === undefined || claim.keyid === keyid ? claim : undefined;
}
