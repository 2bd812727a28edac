import { createHash } from "node:crypto";
import { createApp } from "../../../src/routes/app.ts";
import type { Assets, EdgeApp } from "../../../src/routes/edge.ts";
import { DocumentCheck } from "./document.ts";
import { createWorld, type FakeWorld, WRAPPING_KEYS } from "./fake-objects.ts";

/** Sends one request, unchanged, to what is tested: an app in this process, or a server. */
export type Send = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
) => Promise<Response>;

export const TOKEN = "drv_token_of_these_tests";

/** The key that signs the codes of these edges. */
export const SIGNING_KEY = "signing key of these tests";

/** The address that these edges give to hosts. */
export const DROVER_URL = "https://drover.test";

const source = "// the agent\n";
export const AGENT = {
  version: "1.2.3",
  sha256: createHash("sha256").update(source).digest("hex"),
  installer: "url='@DROVER_URL@' sha256='@AGENT_SHA256@'\n",
};

/** Stands for the files beside a Worker; `reference.test.ts` and `worker.test.ts` test the real service. */
const NO_ASSETS: Assets = {
  async fetch(request) {
    if (new URL(request.url).pathname === `/agent/${AGENT.sha256}.mjs`) return new Response(source);
    return new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
  },
};

/** The edge over objects in memory. */
export interface Edge extends FakeWorld {
  /** What this Drover believes to be its address. */
  url: string;
  /** The break-glass secret of this Drover. */
  adminToken: string;
  /** Whether issuers may be on this machine, as those of tests are. */
  allowsLocalIssuers: boolean;
  app: EdgeApp;
  send: Send;
  /** Sends with the token, and JSON if there is a body. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The same, for the JSON of an answer that must have this status. */
  json(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Json>;
}

/** The JSON of an answer. Tests read the fields that they know to exist. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the value itself; types would only repeat it
export type Json = any;

/** All edges have one document. */
let checkOfApp: DocumentCheck | undefined;

/** Makes an edge with these pools, or with `default` if none is named. */
export function createEdge(...pools: string[]): Edge {
  const world = createWorld(...(pools.length === 0 ? ["default"] : pools));
  const app = createApp(AGENT);
  const noFault = world.fault;
  const made = Object.assign(world, { url: DROVER_URL, adminToken: TOKEN, allowsLocalIssuers: true });
  const send: Send = async (method, path, headers, body) => {
    const init = {
      method,
      headers,
      body,
      ...(body instanceof ReadableStream ? { duplex: "half" as const } : {}),
    };
    const bindings = {
      adminToken: made.adminToken,
      signingKey: SIGNING_KEY,
      url: made.url,
      wrappingKeys: WRAPPING_KEYS,
      issuers: { allowsLocal: made.allowsLocalIssuers, ask: fetch },
      objects: world.objects,
      hasBucket: true,
      deployed: { bucketName: null, domains: [] },
      assets: NO_ASSETS,
      now: () => Date.now(),
      requestId: crypto.randomUUID(),
    };
    const answer = await app.request(path, init, bindings);
    checkOfApp ??= new DocumentCheck(await (await app.request("/openapi.json", {}, bindings)).json());
    await checkOfApp.check(method, path, answer, world.fault !== noFault);
    return answer;
  };
  const call: Edge["call"] = (method, path, body, headers = {}) => {
    const auth = { authorization: `Bearer ${TOKEN}` };
    if (body === undefined) return send(method, path, { ...auth, ...headers });
    const type = { "content-type": "application/json" };
    return send(method, path, { ...auth, ...type, ...headers }, JSON.stringify(body));
  };
  const json: Edge["json"] = async (status, method, path, body, headers) => {
    const answer = await call(method, path, body, headers);
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  };
  return Object.assign(made, { app, send, call, json });
}
