// What does the edge know about a token? It remembers the registry's answers for some seconds
// (access.md#cache).
import type { Objects, TokenGrant } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";
import { BoundedMap } from "./bounded-map.ts";

/** How long the edge believes that a token is valid. A revocation may take effect this late. */
export const GRANT_KEPT_MS = 30_000;
/** How long the edge believes that a token does not exist. */
const UNKNOWN_KEPT_MS = 5_000;
/** The most tokens that one isolate remembers. */
const MAX_REMEMBERED = 1_000;

interface Remembered {
  grant: TokenGrant | null;
  until: Instant;
}

/** The registry's answers about tokens, each at most 30 s old. Each app has its own directory. */
export class TokenDirectory {
  readonly #known = new BoundedMap<string, Remembered>(MAX_REMEMBERED);

  /** The remembered grant of a token; null if no such token is valid; undefined if nothing is remembered. */
  remembered(id: string, now: Instant): TokenGrant | null | undefined {
    const known = this.#known.get(id);
    return known === undefined || known.until <= now ? undefined : known.grant;
  }

  /** The grant of a token, from memory or from the registry; null if the token is not valid. */
  async grant(
    id: string,
    { objects, now }: { objects: Objects; now: () => Instant },
  ): Promise<TokenGrant | null> {
    const known = this.remembered(id, now());
    if (known !== undefined) return known;
    const grant = await objects.registry().grant(id);
    const keptMs = grant === null ? UNKNOWN_KEPT_MS : GRANT_KEPT_MS;
    this.#known.set(id, { grant, until: now() + keptMs });
    return grant;
  }

  /** Makes the next look-up ask the registry. Call this after changing a token. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}
