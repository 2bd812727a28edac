// What does the edge know about tokens and sessions? It remembers the registry's answers for some seconds
// (access.md#cache).
import type { Objects, RegistryApi, SessionGrant, TokenGrant } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";
import { BoundedMap } from "./bounded-map.ts";
import { LONGEST_JUDGMENT_MS } from "./open-requests.ts";
import { Turn } from "./turn.ts";

/** How long the edge trusts that a token or a session is valid. A revocation can take this long. */
const GRANT_KEPT_MS = 30_000;
/** How long the edge believes that there is no such token or session. */
const UNKNOWN_KEPT_MS = 5_000;
/** The most valid ids that an isolate remembers for each kind, and the most unknown ids. */
const MAX_REMEMBERED = 1_000;

/** How a look-up reaches the registry. */
interface Registry {
  objects: Objects;
  now: () => Instant;
}

/** How one kind of grant is looked up, and which secrets it accepts. */
interface Kind<Grant> {
  ask(registry: RegistryApi, id: string, digest?: string): Promise<Grant | null>;
  accepts(grant: Grant, digest: string): boolean;
}

/** A grant, how long it is believed, and the generation in which it was looked up. */
interface Remembered<Grant> {
  grant: Grant;
  until: Instant;
  generation: number;
}

/** A look-up that has begun, and what came of it. Requests share its outcome, and not its promise. */
interface LookUp<Grant> {
  begunAt: Instant;
  /** The generation in which it began. */
  generation: number;
  outcome?: { grant: Grant | null } | { error: unknown };
}

/** The registry's answers about one kind of grant, each at most 30 s old. Each app has its own. */
export class GrantDirectory<Grant> {
  readonly #kind: Kind<Grant>;
  readonly #grants = new BoundedMap<string, Remembered<Grant>>(MAX_REMEMBERED);
  #unknown = new BoundedMap<string, Instant>(MAX_REMEMBERED);
  /** The look-ups that have not ended, by the digest of their secret, or by their id. */
  readonly #asked = new BoundedMap<string, LookUp<Grant>>(MAX_REMEMBERED);
  /** Incremented whenever a grant is forgotten: a look-up that began earlier stores nothing. */
  #generation = 0;
  /** The generation since which all grants were not forgotten at once. */
  #oldest = 0;

  constructor(kind: Kind<Grant>) {
    this.#kind = kind;
  }

  /** The remembered grant; null if none is valid; undefined if nothing is remembered. */
  remembered(id: string, now: Instant): Grant | null | undefined {
    const known = this.#grants.get(id);
    if (known !== undefined && known.until > now && known.generation >= this.#oldest) return known.grant;
    return (this.#unknown.get(id) ?? 0) > now ? null : undefined;
  }

  /** Whether this very secret was valid at the latest look-up of its id, however long ago. */
  hasKnown(id: string, digest: string): boolean {
    const known = this.#grants.get(id);
    return known !== undefined && this.#kind.accepts(known.grant, digest);
  }

  /** Whether a secret of this id was valid at the latest look-up, however long ago. */
  hasKnownId(id: string): boolean {
    return this.#grants.get(id) !== undefined;
  }

  /** Whether another request looks up this very secret, or this id without a secret, just now. */
  isAsked(digestOrId: string, now: Instant): boolean {
    const open = this.#asked.get(digestOrId);
    return open !== undefined && this.#isOpen(open, now);
  }

  /**
   * Asks the registry, whatever is remembered, or waits for another request that does: many requests that
   * come at once with one secret cost one look-up. Without `digest` no secret counts as used. Rejects as the
   * look-up does.
   */
  async shared(id: string, registry: Registry, digest?: string): Promise<Grant | null> {
    const open = this.#asked.get(digest ?? id);
    if (open === undefined || !this.#isOpen(open, registry.now())) return this.#lookUp(id, registry, digest);
    const turn = new Turn(LONGEST_JUDGMENT_MS);
    while (open.outcome === undefined && !turn.isOver) await turn.pause();
    if (open.outcome === undefined) {
      // The platform has ended that request. Of those that wait for it, the first to notice looks up.
      const known = this.remembered(id, registry.now());
      return this.#settles(known, digest) ? known : this.shared(id, registry, digest);
    }
    if ("error" in open.outcome) throw open.outcome.error;
    return open.outcome.grant;
  }

  /**
   * Whether what is remembered answers for this secret. A grant that does not accept the secret may be from
   * before a rotation elsewhere (access.md#rotation).
   */
  #settles(known: Grant | null | undefined, digest: string | undefined): known is Grant | null {
    if (known === undefined) return false;
    return known === null || digest === undefined || this.#kind.accepts(known, digest);
  }

  /** Whether the outcome of a look-up will be that of a look-up which begins now. */
  #isOpen({ begunAt, generation }: LookUp<Grant>, now: Instant): boolean {
    return generation === this.#generation && now - begunAt < LONGEST_JUDGMENT_MS;
  }

  async #lookUp(id: string, registry: Registry, digest?: string): Promise<Grant | null> {
    const open: LookUp<Grant> = { begunAt: registry.now(), generation: this.#generation };
    this.#asked.set(digest ?? id, open);
    try {
      const grant = await this.#ask(id, registry, digest);
      open.outcome = { grant };
      return grant;
    } catch (error) {
      open.outcome = { error };
      throw error;
    } finally {
      if (this.#asked.get(digest ?? id) === open) this.#asked.delete(digest ?? id);
    }
  }

  /** Asks the registry. `digest`: the digest of the secret that the caller sent. */
  async #ask(id: string, { objects, now }: Registry, digest?: string): Promise<Grant | null> {
    const generation = this.#generation;
    const grant = await this.#kind.ask(objects.registry(), id, digest);
    if (generation !== this.#generation) return grant;
    if (grant === null) {
      this.#grants.delete(id);
      this.#unknown.set(id, now() + UNKNOWN_KEPT_MS);
    } else {
      this.#unknown.delete(id);
      this.#grants.set(id, { grant, until: now() + GRANT_KEPT_MS, generation });
    }
    return grant;
  }

  /** Forgets that this very secret was valid: a look-up has shown that nobody holds it now. */
  unlearn(id: string, digest: string): void {
    if (this.hasKnown(id, digest)) this.#grants.delete(id);
  }

  /**
   * Makes all next look-ups ask the registry. Call this after many tokens have ended at once. Which secrets
   * were valid stays known, so those of others do not count as wrong.
   */
  forgetAll(): void {
    this.#generation += 1;
    this.#oldest = this.#generation;
    this.#unknown = new BoundedMap(MAX_REMEMBERED);
  }

  /** Makes the next look-up ask the registry. Call this after changing a token or a session. */
  forget(id: string): void {
    this.#generation += 1;
    const known = this.#grants.get(id);
    if (known !== undefined) this.#grants.set(id, { ...known, until: 0 });
    this.#unknown.delete(id);
  }
}

/** A directory of tokens, by their ids. */
export function tokenDirectory(): GrantDirectory<TokenGrant> {
  return new GrantDirectory<TokenGrant>({
    ask: (registry, id, digest) => registry.grant(id, digest),
    accepts: ({ digests }, digest) => digests.some((one) => one.digest === digest),
  });
}

/** A directory of browser sessions, by their ids. */
export function sessionDirectory(): GrantDirectory<SessionGrant> {
  return new GrantDirectory<SessionGrant>({
    ask: (registry, id, digest = "") => registry.sessionGrant(id, digest),
    accepts: (grant, digest) => grant.digest === digest,
  });
}
