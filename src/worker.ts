import { AGENT } from "./generated/agent-bundle.ts";
import { REFERENCE } from "./generated/reference-bundle.ts";
import { type Env, urlOf } from "./objects/env.ts";
import { objectsOf } from "./objects/stubs.ts";
import { createApp } from "./routes/app.ts";

export { Allocation } from "./objects/allocation.ts";
export { CloudWorker } from "./objects/cloud-worker.ts";
export { Pool } from "./objects/pool.ts";
export { Registry } from "./objects/registry.ts";

const app = createApp(AGENT, REFERENCE);

export default {
  fetch(request, env, ctx) {
    const url = urlOf(env);
    return app.fetch(request, { adminToken: env.DROVER_ADMIN_TOKEN, url, objects: objectsOf(env) }, ctx);
  },
  async scheduled(_controller, env) {
    await objectsOf(env).registry().poke();
  },
} satisfies ExportedHandler<Env>;
