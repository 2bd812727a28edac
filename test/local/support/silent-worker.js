// A Worker that takes a minute for any answer, so that a caller is sure to be found waiting.
import { DurableObject } from "cloudflare:workers";

export class Allocation extends DurableObject {}
export class CloudWorker extends DurableObject {}
export class Pool extends DurableObject {}
export class Registry extends DurableObject {}

const worker = {
  async fetch() {
    await scheduler.wait(60_000);
    return new Response(null, { status: 503 });
  },
  async scheduled() {},
};
// biome-ignore lint/style/noDefaultExport: it is how workerd finds the handlers.
export default worker;
