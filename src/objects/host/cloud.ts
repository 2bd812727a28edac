// How is a provider asked to create, list and destroy machines?
import type { CreateAnswer, CreateWorker } from "../../core/messages.ts";
import { POOL_TAG, WORKER_TAG } from "../../core/pool/rows/workers.ts";
import { resourcesOfType } from "../../core/spec.ts";
import { AGENT } from "../../generated/agent-bundle.ts";
import { httpProvider } from "../../providers/http.ts";
import type { ProviderConfig } from "../../schema/pool.ts";
import { enrollmentCode } from "../../signing/code.ts";
import { droverNow } from "../clock.ts";
import { type Env, urlOf } from "../env.ts";
import { userDataScript } from "./user-data.ts";

/**
 * Asks the provider for a worker's machine. The worker's id is the token: the same token gets the same
 * instance.
 */
export async function createInstance(env: Env, intent: CreateWorker): Promise<CreateAnswer> {
  const { worker, pool, type, settings } = intent;
  if (urlOf(env) === "") {
    const text = "DROVER_URL is not set, so hosts would not know where to report; set it and deploy again";
    return { kind: "failed", failure: { class: "temporary", text, refused: true } };
  }
  const code = enrollmentCode(worker, intent.notAfter + settings.bootMs, env.DROVER_SIGNING_KEY);
  return providerOf(intent.provider).create({
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
  });
}

/** The provider of a configuration. */
export function providerOf(config: ProviderConfig) {
  return httpProvider(config, droverNow);
}
