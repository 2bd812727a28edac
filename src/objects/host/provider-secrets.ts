// Which secret does a provider get right now (secrets.md#providers)?
import type { ProviderFailure } from "../../core/provider-answers.ts";
import { HeaderSecret, type ProviderConfig, type StoredSecret } from "../../schema/pool/provider-config.ts";
import { howToSet } from "../../shared/access/secret-use.ts";
import { credentialsOf } from "../../shared/cloud/account.ts";
import { DroverError, isDroverError } from "../../shared/errors.ts";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { clause, errorText } from "../../shared/words.ts";
import type { Env } from "../env.ts";
import { registryOf } from "../messages/stubs.ts";

/** How long an object uses a value before it asks again: a rotation takes effect within this time. */
const REMEMBERED_MS = 60_000;

type Found = { secret: string } | { failure: ProviderFailure };

/** Finds the values of named secrets. They are in the memory of one object, and nowhere else. */
export class ProviderSecrets {
  readonly #env: Pick<Env, "REGISTRY">;
  readonly #now: () => Instant;
  /** The latest value, or the question for it: calls at the same time ask once. */
  #latest: { of: string; at: Instant; value: Promise<string> } | undefined;

  constructor(env: Pick<Env, "REGISTRY">, now: () => Instant) {
    this.#env = env;
    this.#now = now;
  }

  /**
   * The text of a provider's credentials, or why nothing can be sent to the provider. For a text nobody is
   * asked; a binding is read anew each time, so that a rotation takes effect at once.
   */
  async find(config: ProviderConfig): Promise<Found> {
    const secret = credentialsOf(config)?.value ?? "";
    if (typeof secret === "string") return { secret };
    if ("binding" in secret) return this.#binding(secret.binding);
    try {
      return { secret: sendable(config, await this.#valueOf(secret)) };
    } catch (error) {
      return { failure: unreadable(secret, error) };
    }
  }

  /** The value of a secret of the Worker, or of an entry of a secrets store. */
  async #binding(name: string): Promise<Found> {
    try {
      const bound = Object.hasOwn(this.#env, name) ? Reflect.get(this.#env, name) : undefined;
      const value: unknown = isStoreEntry(bound) ? await bound.get() : bound;
      if (typeof value === "string" && value !== "") return { secret: value };
      return { failure: unbound(name, "there is no such secret") };
    } catch (error) {
      return { failure: unbound(name, clause(errorText(error))) };
    }
  }

  async #valueOf({ secret: name, project }: StoredSecret): Promise<string> {
    const of = `${project}/${name}`;
    const [latest, now] = [this.#latest, this.#now()];
    // The clock of a laptop can be set back.
    if (latest?.of === of && latest.at <= now && now < latest.at + REMEMBERED_MS) return latest.value;
    const value = registryOf(this.#env).providerSecret({ project, name });
    const asked = { of, at: now, value };
    this.#latest = asked;
    try {
      return await value;
    } catch (error) {
      if (this.#latest === asked) this.#latest = undefined;
      throw error;
    }
  }
}

/** The secret, if it can be sent: a service gets it in a header, and a cloud reads its form itself. */
function sendable({ kind }: ProviderConfig, secret: string): string {
  if (kind !== "http") return secret;
  const { data, error } = HeaderSecret.safeParse(secret);
  if (data === undefined) throw new DroverError("invalid_request", `it ${error.issues[0]?.message}`);
  return data;
}

/** The failure of a call that was not made. It is tried again with the usual pauses. */
function unreadable({ secret, project }: StoredSecret, error: unknown): ProviderFailure {
  const code = isDroverError(error) ? error.code : undefined;
  const isMended = code === "unknown_secret" || code === "invalid_request";
  const advice = isMended ? `set it: ${howToSet(secret, "provider")}` : "it will be tried again";
  const why = code === "unknown_secret" ? "no secret for providers has this name" : clause(errorText(error));
  const what = `the provider's secret "${secret}" of the project ${project} cannot be used`;
  const text = `${what}: ${why}; ${advice}`.slice(0, MAX_TEXT_CHARS);
  return { class: isMended ? "auth" : "temporary", text, refused: true };
}

/** An entry of a secrets store, as the platform binds it. */
interface StoreEntry {
  get(): Promise<string>;
}

function isStoreEntry(bound: unknown): bound is StoreEntry {
  return typeof bound === "object" && bound !== null && "get" in bound && typeof bound.get === "function";
}

/** The failure of a call whose credentials are bound to nothing. It heals once the binding is set. */
function unbound(name: string, why: string): ProviderFailure {
  const how = `set it with \`wrangler secret put ${name}\``;
  const text = `the credentials in the binding ${name} cannot be used: ${why}; ${how}`;
  return { class: "auth", text: text.slice(0, MAX_TEXT_CHARS), refused: true };
}
