// Which trust rules name an issuer? The edge remembers the registry's answers for some seconds
// (oidc.md#exchange).
import type { Objects, TrustRow } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";
import { BoundedMap } from "../access/bounded-map.ts";

/** How long the edge trusts what it knows of an issuer that some rule names, and of one that none names. */
const KNOWN_KEPT_MS = 30_000;
const UNKNOWN_KEPT_MS = 5_000;
/** The most issuers that an isolate remembers, known and unknown ones apart: anybody can make up names. */
const MAX_REMEMBERED = 1_000;

/**
 * The rules of each issuer, as the registry told them. The registry compares the version of a rule again
 * before a token is given, so an old answer gives nothing.
 */
export class TrustedIssuers {
  #known = new BoundedMap<string, { rules: TrustRow[]; at: Instant }>(MAX_REMEMBERED);
  readonly #unknown = new BoundedMap<string, Instant>(MAX_REMEMBERED);

  /** The rules that name an issuer. `newerThanMs`: an answer that is older is asked again. */
  async rulesOf(
    issuer: string,
    { objects, now }: { objects: Objects; now: () => Instant },
    newerThanMs = KNOWN_KEPT_MS,
  ): Promise<TrustRow[]> {
    const known = this.#known.get(issuer);
    if (known !== undefined && known.at + newerThanMs > now()) return known.rules;
    if (known === undefined && (this.#unknown.get(issuer) ?? 0) > now()) return [];
    const rules = await objects.registry().trustRulesOf(issuer);
    this.forget(issuer);
    if (rules.length === 0) this.#unknown.set(issuer, now() + UNKNOWN_KEPT_MS);
    else this.#known.set(issuer, { rules, at: now() });
    return rules;
  }

  /** Makes all next questions ask the registry. Call this after rules of unknown issuers have ended. */
  forgetAll(): void {
    this.#known = new BoundedMap(MAX_REMEMBERED);
  }

  /** Makes the next question ask the registry. Call this after changing a rule. */
  forget(issuer: string): void {
    this.#known.delete(issuer);
    this.#unknown.delete(issuer);
  }
}
