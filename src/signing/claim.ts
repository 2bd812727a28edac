// What does a request on the platform claim to be signed for? The edge and the objects read it here.
import { EMPTY_DIGEST } from "./mac.ts";
import { type ClaimedRequest, claimedRequest, type Purpose } from "./request.ts";

/** The parts of a platform request that are signed. */
interface PlatformRequest {
  method: string;
  url: string;
  headers: { get(name: string): string | null };
}

/**
 * Reads the claim of a request; undefined unless it is well formed and for this purpose. `keyid`: the key
 * that the claim must name, if given.
 */
export function claimOf(
  { method, url, headers }: PlatformRequest,
  purpose: Purpose,
  keyid?: string,
): ClaimedRequest | undefined {
  const { pathname: path, search: query } = new URL(url);
  const claim = claimedRequest({ method, path, query }, (name) => headers.get(name) ?? undefined);
  if (claim?.purpose !== purpose) return undefined;
  if (method === "GET" && claim.digest !== EMPTY_DIGEST) return undefined;
  return keyid === undefined || claim.keyid === keyid ? claim : undefined;
}
