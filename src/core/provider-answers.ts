// What can a provider answer to each call (host-protocol.md#provider-contract)?
import type { Instance, ProviderProblem } from "../schema/provider.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** How a call to a provider failed, by class (host-protocol.md#provider-errors). */
export interface ProviderFailure extends ProviderProblem {
  /** The call was refused or was never sent, so it had no effect. Absent: it may have had an effect. */
  refused?: true;
  /** The call got no complete answer. Absent: it got a complete answer. */
  unreached?: true;
  /** The provider's own code, if no table of Drover knows it: the failure counts as `temporary`. */
  unknownCode?: string;
}

export type CreateAnswer =
  | { kind: "created"; instance: Instance }
  /** The provider works on it: no failure. The same call is to be repeated after this time. */
  | { kind: "pending"; retryAfterMs: Millis; text: string }
  | { kind: "failed"; failure: ProviderFailure };
/** What looking for one machine has shown. `unsure`: nothing, such as while the provider is unreachable. */
export type FindAnswer =
  | { kind: "found"; instance: Instance }
  | { kind: "none" }
  | { kind: "unsure"; text: string };
/** How much of the provider's rate limit, which other tools may share, is left. */
export interface CallBudget {
  limit: number;
  remaining: number;
}
/** Why a listing may be incomplete. */
export interface Gap {
  why: string;
  /** The zones that were not read. Absent: a machine may be missing anywhere. */
  zones?: string[];
}
/** `unknown`: the provider does not know the machine, which may exist all the same (cases.md#case-3). */
export type DestroyAnswer = { kind: "asked"; unknown?: true } | { kind: "failed"; failure: ProviderFailure };
export type ListAnswer =
  /**
   * The machines in it exist, whatever `partial` says. `account`: identifies the account that was read.
   * Absent: the configuration identifies it.
   */
  | {
      kind: "listed";
      beganAt: Instant;
      items: Instance[];
      partial?: Gap;
      account?: string;
      budget?: CallBudget;
    }
  | { kind: "failed"; failure: ProviderFailure };

/** A type by the provider's name, of which the price is wanted. */
export interface PricedType {
  type: string;
  spot: boolean;
}
/** A price per hour that the provider names for machines of a type. */
export interface OfferedPrice {
  /** The provider's name of the type. */
  type: string;
  /** Null: the same in all zones. */
  zone: string | null;
  spot: boolean;
  price: number;
}
export type PricesAnswer =
  | { kind: "prices"; prices: OfferedPrice[] }
  | { kind: "failed"; failure: ProviderFailure };

/** The end of what a machine's console has shown. `none`: why there is none to show. */
export type ConsoleAnswer =
  /** `isCut`: there was more before `text`. `updatedAt`: as of when it is, in RFC 3339; null: unknown. */
  | { kind: "console"; text: string; isCut: boolean; updatedAt: string | null }
  | { kind: "none"; text: string }
  | { kind: "failed"; failure: ProviderFailure };
