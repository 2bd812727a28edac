// What does the registry answer to calls about tokens (access.md#tokens)?
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import {
  grantOf,
  MAX_TOKENS,
  type NewTokenRow,
  type TokenGrant,
  tokenView,
  tokenViews,
} from "../../core/registry/tokens.ts";
import type { Token } from "../../schema/access/token.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "tokens">;
  now(): Instant;
}

/** The calls of `RegistryApi` about tokens. */
export class TokenCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  create(token: NewTokenRow): Token {
    const live = [...this.#registry.enter().tokens.live()];
    if (live.length >= MAX_TOKENS) {
      const text = `there are ${MAX_TOKENS} tokens already; revoke those that are not used any more`;
      throw new DroverError("busy", text);
    }
    if (live.some(({ name }) => name === token.name)) {
      const text = `there is a token "${token.name}" already; rotate or revoke it, or choose another name`;
      throw new DroverError("token_exists", text);
    }
    this.#registry.enter({ type: "token_created", token });
    return this.read(token.id);
  }

  rotate(id: string, digest: string, overlapMs: number): Token {
    const { state } = this.read(id);
    if (state !== "active") {
      throw new DroverError("token_ended", `the token "${id}" is ${state}; create another one`);
    }
    this.#registry.enter({ type: "token_rotated", id, digest, overlapMs });
    return this.read(id);
  }

  revoke(id: string, by: string): Token {
    this.read(id);
    this.#registry.enter({ type: "token_revoked", id, by });
    return this.read(id);
  }

  list(): Token[] {
    return tokenViews(this.#registry.enter().tokens, this.#registry.now());
  }

  read(id: string): Token {
    const row = this.#registry.enter().tokens.get(id);
    if (row !== undefined) return tokenView(row, this.#registry.now());
    throw new DroverError("unknown_token", `there is no token "${id}"; \`drover tokens list\` shows all`);
  }

  grant(id: string): TokenGrant | null {
    const { tokens } = this.#registry.enter({ type: "token_used", id });
    return grantOf(tokens, id, this.#registry.now());
  }
}
