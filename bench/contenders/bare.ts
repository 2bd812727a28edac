// A Worker that does next to nothing, in the workerd of Drover: what the platform allows at best.
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

/** It answers, has a new object write one value, or stores the body of the request in a bucket. */
const BARE = `
import { DurableObject } from "cloudflare:workers";
export class Bare extends DurableObject {
  async write() { await this.ctx.storage.put("value", { a: 1 }); }
}
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/object") await env.BARE.get(env.BARE.newUniqueId()).write();
    if (pathname.startsWith("/bucket/")) await env.BUCKET.put(pathname, await request.arrayBuffer());
    return new Response("");
  },
};`;

/** The Worker, as it runs. */
export interface BareWorker {
  /** Sends a request, and a body if there is one. `path` does not begin with a slash. Rejects if it fails. */
  ask(path: string, body?: Uint8Array<ArrayBuffer>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the Worker with its state below `dir`. */
export async function startBareWorker(dir: string): Promise<BareWorker> {
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(dir, "bare"),
      workers: [
        {
          name: "bare",
          modules: [{ type: "ESModule", path: "bare.mjs", contents: BARE }],
          compatibilityDate: "2026-08-04",
          durableObjects: { BARE: { className: "Bare", useSQLite: true } },
          r2Buckets: ["BUCKET"],
        },
      ],
    }),
  );
  const url = (await worker.ready).href;
  return {
    async ask(path, body) {
      const answer = await fetch(url + path, body === undefined ? {} : { method: "PUT", body });
      if (!answer.ok) throw new Error(`the bare worker answered ${answer.status}: ${await answer.text()}`);
      await answer.arrayBuffer();
    },
    stop: () => worker.dispose(),
  };
}
