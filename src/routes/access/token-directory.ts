// What does the edge know about a token? It remembers the registry's answers for some seconds
// (access.md#cache).
import type { Objects, TokenGrant } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";
import { BoundedMap } from "./bounded-map.ts";

/** How long the edge trusts that a token is valid. A revocation can take this long to take effect. */
const GRANT_KEPT_MS = 30_000;
/** How long the edge believes that there is no such token. */
const UNKNOWN_KEPT_MS = 5_000;
/** The most valid tokens that an isolate remembers, and the most unknown ids. */
const MAX_REMEMBERED = 1_000;

/** How a look-up reaches the registry. */
interface Registry {
  objects: Objects;
  now: () => Instant;
}

/** The registry's answers about tokens, each at most 30 s old. Each app has its own directory. */
export class TokenDirectory {
  #grants = new BoundedMap<string, { grant: TokenGrant; until: Instant }>(MAX_REMEMBERED);
  #unknown = new BoundedMap<string, Instant>(MAX_REMEMBERED);
  /** Incremented whenever a token is forgotten: a look-up that began earlier stores nothing. */
  #generation = 0;

  /** The remembered grant of a token; null if no such token is valid; undefined if nothing is remembered. */
  remembered(id: string, now: Instant): TokenGrant | null | undefined {
    const known = this.#grants.get(id);
    if (known !== undefined && known.until > now) return known.grant;
    return (this.#unknown.get(id) ?? 0) > now ? null : undefined;
  }

  /** Whether this very secret was valid when its token was last looked up, however long ago. */
  hasKnown(id: string, digest: string): boolean {
    return this.#grants.get(id)?.grant.digests.some((one) => one.digest === digest) === true;
  }

  /** The grant of a token, from memory or from the registry; null if there is no valid one. */
  async grant(id: string, registry: Registry, digest?: string): Promise<TokenGrant | null> {
    const known = this.remembered(id, registry.now());
    return known === undefined ? this.lookUp(id, registry, digest) : known;
  }

  /** Asks the registry, whatever is remembered. `digest`: the digest of the secret that the caller sent. */
  async lookUp(id: string, { objects, now }: Registry, digest?: string): Promise<TokenGrant | null> {
    const generation = this.#generation;
    const grant = await objects.registry().grant(id, digest);
    if (generation !== this.#generation) return grant;
    if (grant === null) {
      this.#grants.delete(id);
      this.#unknown.set(id, now() + UNKNOWN_KEPT_MS);
    } else {
      this.#unknown.delete(id);
      this.#grants.set(id, { grant, until: now() + GRANT_KEPT_MS });
    }
    return grant;
  }

  /** Makes all next look-ups ask the registry. Call this after many tokens have ended at once. */
  forgetAll(): void {
    this.#generation += 1;
    this.#grants = new BoundedMap(MAX_REMEMBERED);
    this.#unknown = new BoundedMap(MAX_REMEMBERED);
  }

  /** Makes the next look-up ask the registry. Call this after changing a token. */
  forget(id: string): void {
    this.#generation += 1;
    this.#grants.delete(id);
    this.#unknown.delete(id);
  }
}
