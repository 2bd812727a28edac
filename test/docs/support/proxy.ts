import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What becomes of a request on its way: it is lost before it arrives, its answer ends half-way, or comes in
 * small pieces, or it never arrives and this is the answer.
 */
export type Trouble = "lost" | "cut" | "dripping" | { status: number; body: string };

/** A way to a real Drover that a test can disturb, and on which it sees what passes. */
export interface Way {
  url: string;
  /** The method and path of each request, in order. */
  requests: string[];
  /** Asked for each request. By default there is none. */
  trouble: (request: string) => Trouble | undefined;
  close(): Promise<void>;
}

/** Opens a way to what `target` says at that moment. */
export async function openProxy(target: () => string): Promise<Way> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "" } = request;
    const name = `${method} ${url}`;
    proxy.requests.push(name);
    const trouble = proxy.trouble(name);
    if (typeof trouble === "object") {
      response.writeHead(trouble.status, { "content-type": "application/json" });
      return void response.end(trouble.body);
    }
    const answer =
      trouble === "lost" ? undefined : await passOn(name, request.headers, Buffer.concat(chunks));
    if (answer === undefined) return void response.destroy();
    const { status, type, body } = answer;
    response.writeHead(status, { "content-type": type, "content-length": body.length });
    if (trouble === undefined) return void response.end(body);
    response.write(body.subarray(0, body.length / 2));
    if (trouble === "cut") return void setImmediate(() => response.destroy());
    for (const byte of body.subarray(body.length / 2)) {
      await sleep(300);
      response.write(Buffer.of(byte));
    }
    response.end();
  });

  /** Undefined: there is nobody to answer. */
  async function passOn(name: string, headers: object, body: Buffer) {
    const [method = "", path = ""] = name.split(" ");
    const passed = Object.entries(headers).filter(([key]) => !/^(host|connection|content-length)$/.test(key));
    const content = body.length === 0 ? {} : { body };
    const answer = await fetch(`${target()}${path}`, { method, headers: passed, ...content }).catch(
      () => null,
    );
    if (answer === null) return undefined;
    const type = answer.headers.get("content-type") ?? "";
    return { status: answer.status, type, body: Buffer.from(await answer.arrayBuffer()) };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: Way = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    trouble: () => undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
