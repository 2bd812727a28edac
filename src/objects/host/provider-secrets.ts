// Which secret does a provider get right now (secrets.md#providers)?
import type { ProviderFailure } from "../../core/messages.ts";
import type { ProviderConfig, StoredSecret } from "../../schema/pool/provider-config.ts";
import { howToSet } from "../../shared/access/secret-use.ts";
import { isDroverError } from "../../shared/errors.ts";
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

  /** The text of a secret, or why nothing can be sent to the provider. For a text nobody is asked. */
  async find(secret: ProviderConfig["secret"]): Promise<Found> {
    if (typeof secret === "string") return { secret };
    try {
      return { secret: await this.#valueOf(secret) };
    } catch (error) {
      return { failure: unreadable(secret, error) };
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

/** The failure of a call that was not made. It is tried again with the usual pauses. */
function unreadable({ secret, project }: StoredSecret, error: unknown): ProviderFailure {
  const code = isDroverError(error) ? error.code : undefined;
  const isMended = code === "unknown_secret" || code === "invalid_request";
  const advice = isMended ? `set it: ${howToSet(secret, "provider")}` : "it will be tried again";
  const why = code === "unknown_secret" ? "no secret for providers has this name" : clause(errorText(error));
  const what = `the provider's secret "${secret}" of the project ${project} cannot be used`;
  return { class: "temporary", text: `${what}: ${why}; ${advice}`.slice(0, MAX_TEXT_CHARS), refused: true };
}
