// How is the generated world served? The page by the Worker's own routes, and answers held to the API's
// document.
import { createReadStream, existsSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import { createApp } from "../../src/routes/app.ts";
import type { EdgeBindings } from "../../src/routes/edge.ts";
import { DocumentCheck } from "../../test/edge/support/document.ts";
import { answerOf } from "./answers.ts";
import { streamChanges } from "./stream.ts";
import { type Size, World } from "./world.ts";

/** How large the world is, how often it changes, and which story it tells. */
export interface FeedOptions extends Size {
  changesPerSecond: number;
  seed: number;
}

/** A running feed. */
export interface Feed {
  url: string;
  world: World;
  /** What it was asked, with the bytes of each answer's body; of a stream, those so far. */
  asked: { path: string; bytes: number }[];
  /** Answers that did not fit the document. A measurement with one means nothing. */
  faults: string[];
  stop(): Promise<void>;
}

const ASSETS = join(import.meta.dirname, "../../dist/assets");
const TYPES: Record<string, string> = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html" };
/** The world changes so often, by as many changes as are due. */
const TICK_MS = 20;

/** Starts a feed on a free port of the loopback. The page must have been built. */
export async function startFeed(options: FeedOptions): Promise<Feed> {
  const world = new World(options, options.seed);
  const app = createApp({ version: "0", sha256: "", installer: "" });
  const ofWorker = (path: string) => app.request(path, {}, BINDINGS as EdgeBindings);
  const check = new DocumentCheck(await (await ofWorker("/openapi.json")).json());
  const asked: Feed["asked"] = [];
  const faults: string[] = [];
  const server = createServer((request, response) => {
    const entry = { path: request.url ?? "", bytes: 0 };
    asked.push(entry);
    count(response, entry);
    answer(request, response).catch((error: unknown) => {
      fail(error);
      response.writeHead(500).end();
    });
  });
  const fail = (error: unknown) => faults.push(String(error));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", url = "" } = request;
    if (!url.startsWith("/v1/")) return await pass(await ofWorker(url), response);
    const { pathname, searchParams: query } = new URL(url, "http://feed.test");
    const operation = check.operationOf(method, url);
    if (operation === undefined) throw new Error(`the API has no ${method} ${pathname}`);
    const { operationId } = operation.declared;
    if (operationId === "listPoolEvents")
      return streamChanges({ world, check, operation, query, fail }, response);
    const names = namesOf(operation.path, pathname);
    const value = answerOf(operationId, world, { names, query });
    const found = value === undefined ? problemOf(pathname) : Response.json(value);
    if (value !== undefined) await check.check(method, url, found);
    await pass(found, response);
  };
  const timer = startChanges(world, options.changesPerSecond);
  const url = await listen(server);
  return {
    ...{ url, world, asked, faults },
    async stop() {
      clearInterval(timer);
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** The Worker's routes for files use these bindings, and no others. */
const BINDINGS: Partial<EdgeBindings> = {
  now: () => Date.now(),
  requestId: "feed",
  assets: {
    async fetch(request) {
      const file = join(ASSETS, new URL(request.url).pathname);
      if (!existsSync(file)) return new Response(null, { status: 404 });
      // Node's stream of bytes is a stream of the web, by another type.
      const body = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
      return new Response(body, { headers: { "content-type": TYPES[extname(file)] ?? "" } });
    },
  },
};

/** Lets the world change. A late tick makes up for what is due. */
function startChanges(world: World, perSecond: number): ReturnType<typeof setInterval> {
  const begin = performance.now();
  let made = 0;
  return setInterval(() => {
    const due = ((performance.now() - begin) / 1_000) * perSecond;
    for (; made < due; made += 1) world.change();
  }, TICK_MS);
}

async function pass(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}

/** The API's word for what is not there. */
function problemOf(path: string): Response {
  const detail = `the generated world has no ${path}`;
  const problem = { title: "Unknown", status: 404, detail, code: "not_found", temporary: false };
  return Response.json(problem, { status: 404, headers: { "content-type": "application/problem+json" } });
}

function namesOf(template: string, path: string): string[] {
  const parts = path.split("/");
  const isName = (part: string, index: number) => (part.startsWith("{") ? [parts[index] ?? ""] : []);
  return template.split("/").flatMap(isName).map(decodeURIComponent);
}

/** Counts the bytes that are written to a response. */
function count(response: ServerResponse, entry: { bytes: number }): void {
  const note = (chunk: unknown) => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) entry.bytes += Buffer.byteLength(chunk);
  };
  const { write, end } = response;
  response.write = (...args: unknown[]) => {
    note(args[0]);
    return Reflect.apply(write, response, args);
  };
  response.end = (...args: unknown[]) => {
    note(args[0]);
    return Reflect.apply(end, response, args);
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // A server that listens on a port has an address.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
