// How is a provider asked to create, list and destroy machines?
import type {
  CreateAnswer,
  CreateWorker,
  DestroyAnswer,
  ListAnswer,
  ProviderFailure,
} from "../../core/messages.ts";
import { POOL_TAG, WORKER_TAG } from "../../core/pool/rows/workers.ts";
import { resourcesOfType } from "../../core/spec.ts";
import { AGENT } from "../../generated/agent-bundle.ts";
import { httpProvider, LIST_CONSISTENCY_MS } from "../../providers/http.ts";
import type { Provider } from "../../providers/provider.ts";
import type { ProviderConfig } from "../../schema/pool/provider-config.ts";
import { enrollmentCode } from "../../signing/code.ts";
import { droverNow } from "../clock.ts";
import { type Env, urlOf } from "../env.ts";
import { ProviderSecrets } from "./provider-secrets.ts";
import { userDataScript } from "./user-data.ts";

/** The provider's machines, as one object asks for them. */
export class Cloud {
  readonly #env: Env;
  readonly #secrets: ProviderSecrets;

  constructor(env: Env) {
    this.#env = env;
    this.#secrets = new ProviderSecrets(env, droverNow);
  }

  /**
   * Asks the provider for a worker's machine. The worker's id is the token: the same token gets the same
   * instance.
   */
  async create(intent: CreateWorker): Promise<CreateAnswer> {
    const { worker, pool, type, settings } = intent;
    const env = this.#env;
    if (urlOf(env) === "") {
      const text = "DROVER_URL is not set, so hosts would not know where to report; set it and deploy again";
      return { kind: "failed", failure: { class: "temporary", text, refused: true } };
    }
    const code = enrollmentCode(worker, intent.notAfter + settings.bootMs, env.DROVER_SIGNING_KEY);
    return this.#ask(intent.provider, (provider) =>
      provider.create({
        token: worker,
        name: worker,
        instanceType: type.providerType ?? intent.instanceType,
        image: intent.image,
        userData: userDataScript({
          url: urlOf(env),
          code,
          agentSha256: AGENT.sha256,
          powerOff: intent.provider.powerOff,
          notice: intent.provider.notice,
        }),
        tags: { ...intent.tags, [WORKER_TAG]: worker, [POOL_TAG]: pool },
        resources: resourcesOfType(type),
      }),
    );
  }

  /** All machines with this tag. `consistencyMs`: as in `Sighting`. */
  async list(config: ProviderConfig, tag: string): Promise<{ answer: ListAnswer; consistencyMs: number }> {
    const answer = await this.#ask(config, (provider) => provider.list(tag));
    return { answer, consistencyMs: LIST_CONSISTENCY_MS };
  }

  /** Asks the provider to destroy a machine. */
  async destroy(config: ProviderConfig, instance: string): Promise<DestroyAnswer> {
    return this.#ask(config, (provider) => provider.destroy(instance));
  }

  /** Makes a call with the provider's secret. Without the secret nothing is sent. */
  async #ask<Answer>(
    config: ProviderConfig,
    call: (provider: Provider) => Promise<Answer>,
  ): Promise<Answer | { kind: "failed"; failure: ProviderFailure }> {
    const found = await this.#secrets.find(config.secret);
    if ("failure" in found) return { kind: "failed", failure: found.failure };
    return call(httpProvider({ ...config, secret: found.secret }, droverNow));
  }
}
