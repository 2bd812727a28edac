import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers one request. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server on loopback whose paths the test sets. */
export interface FileServer {
  url: string;
  /** The requests: path, and range if there was one. */
  requests: string[];
  on(path: string, handler: Handler | Buffer): void;
  close(): Promise<void>;
}

/** Opens a server. A path with a buffer serves a file, also in ranges. */
export async function openFileServer(): Promise<FileServer> {
  const handlers = new Map<string, Handler>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(`${path}${request.headers.range === undefined ? "" : ` ${request.headers.range}`}`);
    const handler = handlers.get(path);
    if (handler === undefined) response.writeHead(404).end();
    else handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    on: (path, handler) => handlers.set(path, Buffer.isBuffer(handler) ? fileOf(handler) : handler),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function fileOf(content: Buffer): Handler {
  return (request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    if (from === 0) response.writeHead(200, { "content-length": content.length }).end(content);
    else if (from >= content.length)
      response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
    else {
      const range = `bytes ${from}-${content.length - 1}/${content.length}`;
      response.writeHead(206, { "content-range": range }).end(content.subarray(from));
    }
  };
}

/** The digest of a file, as a spec names it. */
export function sha256Of(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
