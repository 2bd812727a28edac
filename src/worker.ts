import { viaOf } from "./core/audit/via.ts";
import { AGENT } from "./generated/agent-bundle.ts";
import { confirmClock, droverNow } from "./objects/clock.ts";
import { deployedAs, type Env, issuerNetworkOf, urlOf } from "./objects/env.ts";
import { objectsOf } from "./objects/messages/stubs.ts";
import { createApp } from "./routes/app.ts";
import { CLOCK_WAS_SET, confirmedBy } from "./shared/time/clock.ts";
import { wrappingKeysIn } from "./signing/envelope.ts";

export { Allocation } from "./objects/allocation.ts";
export { CloudWorker } from "./objects/cloud-worker.ts";
export { Job } from "./objects/jobs/job.ts";
export { Pool } from "./objects/pool.ts";
export { Registry } from "./objects/registry.ts";
export { Webhook } from "./objects/webhooks/webhook.ts";

const app = createApp(AGENT);

export default {
  fetch(request, env, ctx) {
    const via = viaOf(crypto.randomUUID(), (name) => request.headers.get(name));
    const objects = objectsOf(env, via);
    const secrets = { adminToken: env.DROVER_ADMIN_TOKEN, signingKey: env.DROVER_SIGNING_KEY ?? "" };
    const wrappingKeys = wrappingKeysIn(env);
    const bindings = {
      ...secrets,
      wrappingKeys,
      url: urlOf(env),
      issuers: issuerNetworkOf(env),
      objects,
      hasBucket: env.LOGS !== undefined,
      deployed: deployedAs(env),
      assets: env.ASSETS,
      now: droverNow,
      requestId: via.requestId,
    };
    return app.fetch(request, bindings, ctx);
  },
  async scheduled({ cron }, env) {
    const confirmed = confirmedBy(cron);
    if (confirmed !== undefined) return confirmClock(confirmed);
    await objectsOf(env)
      .registry()
      .poke(cron === CLOCK_WAS_SET);
  },
} satisfies ExportedHandler<Env>;
