// Stands in for the Worker in tests of what runs it: the same four classes, the one route that `drover up`
// calls, and routes that show what the Worker was given.
import { DurableObject } from "cloudflare:workers";

class Counter extends DurableObject {
  async count(name, by) {
    const now = ((await this.ctx.storage.get(name)) ?? 0) + by;
    await this.ctx.storage.put(name, now);
    return now;
  }
}

export class Allocation extends Counter {}
export class CloudWorker extends Counter {}
export class Pool extends Counter {}

export class Registry extends Counter {
  async putPool(config) {
    await this.ctx.storage.put("pool", config);
  }
  async pool() {
    return (await this.ctx.storage.get("pool")) ?? null;
  }
}

const registry = (env) => env.REGISTRY.get(env.REGISTRY.idFromName("registry"));

async function hmac(secret, text) {
  const bytes = (from) => new TextEncoder().encode(from);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret), algorithm, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(text)));
  return signature.toBase64({ alphabet: "base64url", omitPadding: true });
}

const worker = {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/proof") {
      const text = `drover-proof\n${new URL(env.DROVER_URL).host}\n${searchParams.get("nonce")}`;
      return Response.json({ proof: await hmac(env.DROVER_ADMIN_TOKEN, text) });
    }
    if (request.headers.get("authorization") !== `Bearer ${env.DROVER_ADMIN_TOKEN}`) {
      return Response.json({ detail: "no or a wrong token" }, { status: 401 });
    }
    switch (`${request.method} ${pathname}`) {
      case "PUT /v1/pools/default":
        await registry(env).putPool(await request.json());
        return Response.json({ config: await registry(env).pool() }, { status: 201 });
      case "GET /v1/pools/default": {
        const config = await registry(env).pool();
        return config === null ? new Response(null, { status: 404 }) : Response.json({ config });
      }
      case "POST /count":
        return Response.json(await registry(env).count("calls", 1));
      case "GET /ticks":
        return Response.json(await registry(env).count("ticks", 0));
      case "GET /env":
        return Response.json({ url: env.DROVER_URL, key: env.DROVER_SIGNING_KEY });
      default:
        return new Response(null, { status: 404 });
    }
  },
  async scheduled({ cron }, env) {
    // Drover's time comes by the same handler.
    if (cron.startsWith("*")) await registry(env).count("ticks", 1);
  },
};

// biome-ignore lint/style/noDefaultExport: it is how workerd finds the handlers.
export default worker;
