import { existsSync, readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { LoopbackCloud } from "../../../local/loopback/cloud.ts";
import { serveCloud } from "../../../local/loopback/server.ts";
import { readProc } from "../../../posix/proc.ts";
import { type Instance, InstancePage } from "../../../src/schema/provider.ts";
import { scratchDir, until } from "./scratch.ts";

export const SECRET = "secret-of-the-pool";

export interface Answer {
  status: number;
  body: unknown;
}

/**
 * A loopback cloud of its own for one test, with a client that can also send what no browser or `fetch`
 * would.
 */
export interface TestCloud {
  cloud: LoopbackCloud;
  dir: string;
  port: number;
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string | undefined>,
  ): Promise<Answer>;
  create(token: string, userData: string, tags?: Record<string, string>): Promise<Instance>;
  list(tag?: string): Promise<Instance[]>;
  state(id: string): Promise<string | undefined>;
  /** What the user data wrote to a file in its home, once the file ends with a newline. */
  written(id: string, name: string): Promise<string>;
}

export async function startCloud(dir = scratchDir()): Promise<TestCloud> {
  const problems: string[] = [];
  const cloud = new LoopbackCloud({ dir, onProblem: (text) => problems.push(text) });
  const server = await serveCloud({ cloud, port: 0, secret: SECRET });
  onTestFinished(async () => {
    await cloud.endAll();
    server.close();
    server.closeAllConnections();
    expect(problems).toEqual([]);
  });
  // An address that is not a string is that of a server that listens on a port, as this one does.
  const { port } = server.address() as AddressInfo;
  const call: TestCloud["call"] = (method, path, body, headers) => send(port, method, path, body, headers);
  const list = async (tag?: string) => {
    const { body } = await call("GET", `/instances${tag === undefined ? "" : `?tag=${tag}`}`);
    return InstancePage.parse(body).items;
  };
  return {
    cloud,
    dir,
    port,
    call,
    list,
    create: async (token, userData, tags = {}) => {
      const { status, body } = await call("POST", "/instances", creation(token, userData, tags));
      if (status !== 200) throw new Error(`create: ${status} ${JSON.stringify(body)}`);
      // The status says that it is what the contract says.
      return body as Instance;
    },
    state: async (id) => (await list()).find((instance) => instance.id === id)?.state,
    written: (id, name) => {
      const path = join(dir, "instances", id, name);
      return until(`${name} is written`, () => {
        const text = existsSync(path) ? readFileSync(path, "utf8") : "";
        return text.endsWith("\n") ? text.trim() : undefined;
      });
    },
  };
}

/** A request to create, as the control plane sends it. */
export function creation(token: string, userData: string, tags: Record<string, string> = {}) {
  const resources = { vcpus: 4, memoryBytes: 2 ** 30, diskBytes: 0, gpus: 0 };
  return { token, name: "drover-w1", instanceType: "local", image: "", userData, tags, resources };
}

function send(
  port: number,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const all = { authorization: `Bearer ${SECRET}`, "content-type": "application/json", ...headers };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: Object.fromEntries(given),
    });
    request.on("error", reject);
    request.on("response", async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
    });
    request.end(typeof body === "string" ? body : JSON.stringify(body));
  });
}

/** Whether a process with this pid runs: it exists, and is not a zombie. */
export function runs(pid: number): boolean {
  return readProc(pid)?.ended === false;
}
