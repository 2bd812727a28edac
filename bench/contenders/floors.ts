// What does the machine allow at best? Each of these is a part of what every run costs Drover.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { AT_ONCE, type Contender, secondsOf } from "./contender.ts";

/** How many requests wait at a time: as many as keep workerd busy. */
const REQUESTS_AT_ONCE = 16;
/** A Worker that does nothing, or has a new object write one value. */
const BARE = `
import { DurableObject } from "cloudflare:workers";
export class Bare extends DurableObject {
  async write() { await this.ctx.storage.put("value", { a: 1 }); }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/object") await env.BARE.get(env.BARE.newUniqueId()).write();
    return new Response("");
  },
};`;

/** The start of `true` from Node, without a queue. */
export const bareSpawn: Contender = {
  name: "floor: spawn of true from Node",
  run: (count) => secondsOf(count, AT_ONCE, () => once(spawn("true", { stdio: "ignore" }), "exit")),
  stop: async () => {},
};

/** A new object with one write for each run, and a request that does nothing, in the workerd of Drover. */
export async function bareWorker(dir: string): Promise<Contender[]> {
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(dir, "bare"),
      workers: [
        {
          name: "bare",
          modules: [{ type: "ESModule", path: "bare.mjs", contents: BARE }],
          compatibilityDate: "2026-08-04",
          durableObjects: { BARE: { className: "Bare", useSQLite: true } },
        },
      ],
    }),
  );
  const url = (await worker.ready).href;
  const ask = async (path: string) => {
    const answer = await fetch(url + path);
    if (!answer.ok) throw new Error(`the bare worker answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  return [
    {
      name: "floor: a new object with one write",
      run: (count) => secondsOf(count, REQUESTS_AT_ONCE, () => ask("object")),
      stop: () => worker.dispose(),
    },
    {
      name: "floor: an empty request",
      run: (count) => secondsOf(count, REQUESTS_AT_ONCE, () => ask("")),
      stop: async () => {},
    },
  ];
}
