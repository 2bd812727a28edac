// What does the edge know of a token? The registry's answers, remembered for seconds (access.md#cache).
import type { Objects, TokenGrant } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";
import { BoundedMap } from "./bounded-map.ts";

/** How long the edge believes that a token is valid: so late may a revocation take effect. */
export const GRANT_KEPT_MS = 30_000;
/** How long the edge believes that there is no such token. */
const UNKNOWN_KEPT_MS = 5_000;
/** Tokens that one isolate remembers. */
const MAX_REMEMBERED = 1_000;

interface Remembered {
  grant: TokenGrant | null;
  until: Instant;
}

/** The tokens that this isolate has asked for, each at most 30 s old. One for each app. */
export class TokenDirectory {
  readonly #known = new BoundedMap<string, Remembered>(MAX_REMEMBERED);

  /** What is remembered of a token; undefined: the registry must be asked. */
  remembered(id: string, now: Instant): TokenGrant | null | undefined {
    const known = this.#known.get(id);
    return known === undefined || known.until <= now ? undefined : known.grant;
  }

  /** The grant of a token, from memory or from the registry; null if there is no valid one. */
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
