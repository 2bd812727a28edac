// What does the registry answer to calls about tokens (access.md#tokens)? `core/registry` decides.
import { childrenOf, childrenView } from "../../core/registry/children.ts";
import { tableOf } from "../../core/registry/exchanged.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import {
  grantOf,
  type NewTokenRow,
  refusalOfNewToken,
  refusalOfRotation,
  type TokenGrant,
  type TokenRow,
  tokenView,
  tokenViews,
} from "../../core/registry/tokens.ts";
import type { RevokedToken, Token } from "../../schema/access/token.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "tokens" | "exchanged" | "trust">;
  now(): Instant;
}

/** The calls of `RegistryApi` about tokens. */
export class TokenCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  create(token: NewTokenRow): Token {
    const refusal = refusalOfNewToken(this.#registry.enter().tokens, token);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "token_created", token });
    return this.read(token.id);
  }

  rotate(id: string, digest: string, overlapMs: number, by: string): Token {
    const refusal = refusalOfRotation(this.#row(id), this.#registry.now());
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "token_rotated", id, digest, overlapMs, by });
    return this.read(id);
  }

  revoke(id: string, by: string, withChildren: boolean): RevokedToken {
    this.#row(id);
    const children = childrenView(childrenOf(this.#registry.enter(), id, this.#registry.now()));
    this.#registry.enter({ type: "token_revoked", id, by, withChildren });
    return { ...this.read(id), children, childrenEnded: withChildren };
  }

  list(project: string | null): Token[] {
    return tokenViews(this.#registry.enter(), project, this.#registry.now());
  }

  read(id: string): Token {
    return tokenView(this.#row(id), this.#registry.now());
  }

  grant(id: string, digest?: string): TokenGrant | null {
    const used = digest === undefined ? undefined : ({ type: "token_used", id, digest } as const);
    return grantOf(tableOf(this.#registry.enter(used), id), id, this.#registry.now());
  }

  #row(id: string): TokenRow {
    const row = tableOf(this.#registry.enter(), id).get(id);
    if (row !== undefined) return row;
    throw new DroverError("unknown_token", `there is no token "${id}"; \`drover tokens list\` shows all`);
  }
}
