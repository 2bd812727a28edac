import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type UpOptions, up } from "../../../local/up.ts";
import { noViolations } from "../../support/violations.ts";
import { documentCheck } from "./document.ts";
import type { Json, Send } from "./edge.ts";

/** The built Worker with its objects, a cloud and machines, as `drover up` runs them, reached over HTTP. */
export interface Server {
  url: string;
  token: string;
  stateDir: string;
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
  /** Ends everything and removes its state. */
  stop(): Promise<void>;
}

/** What a server may do that an ordinary one may not. */
export type Allowed = Pick<UpOptions, "allowLocalIssuers" | "allowLocalWebhooks">;

/** Starts a server with its own state directory inside the checkout. */
export async function startServer(options: Allowed = {}): Promise<Server> {
  const cache = join(import.meta.dirname, "../../../.cache");
  mkdirSync(cache, { recursive: true });
  const stateDir = mkdtempSync(join(cache, "edge-"));
  // The size does not depend on the machine: the examples keep three vCPUs busy at the same time.
  const drover = await up({ ...options, stateDir, vcpus: 4, memory: "8GiB" });
  const { url, token } = drover;
  const check = await documentCheck(url);
  const send: Send = async (method, path, headers, body) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      body,
      redirect: "manual",
      ...(body instanceof ReadableStream ? { duplex: "half" as const } : {}),
    });
    await check.check(method, path, answer);
    return answer;
  };
  const call: Server["call"] = (method, path, body, headers = {}) => {
    const auth = { authorization: `Bearer ${token}` };
    if (body === undefined) return send(method, path, { ...auth, ...headers });
    const type = { "content-type": "application/json" };
    return send(method, path, { ...auth, ...type, ...headers }, JSON.stringify(body));
  };
  return {
    url,
    token,
    stateDir,
    send,
    call,
    async json(status, method, path, body, headers) {
      const answer = await call(method, path, body, headers);
      const text = await answer.text();
      if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
      return JSON.parse(text);
    },
    async stop() {
      await drover.stop();
      noViolations(stateDir);
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
