import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { CreateInstance } from "../../src/schema/provider.ts";
import { type Cloud, Faults, FaultyCloud, LostAnswer } from "./faults.ts";
import { ProviderError } from "./provider-error.ts";

/** User data is a script with an enrollment code in it: a few KiB. More is a mistake. */
const MAX_BODY_BYTES = 1024 * 1024;

const TagsRequest = z.strictObject({ tags: z.record(z.string(), z.string()) });

export interface ServerOptions {
  cloud: Cloud;
  port: number;
  /** What callers must show as a bearer token. */
  secret: string;
}

/**
 * Serves a loopback cloud by the provider contract (host-protocol.md#provider-contract) on 127.0.0.1.
 * Resolves once it listens. Beyond the contract there is `/faults`, by which tests make it lie and fail
 * (`faults.ts`).
 */
export async function serveCloud(options: ServerOptions): Promise<Server> {
  const cloud = new FaultyCloud(options.cloud);
  const server = createServer((request, response) => void answer(options, cloud, request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  // A connection that cannot be accepted, for want of a file handle, is tried again by its caller.
  server.on("error", () => undefined);
  return server;
}

async function answer(
  options: ServerOptions,
  cloud: FaultyCloud,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    admit(options, request);
    send(response, 200, await route(cloud, request));
  } catch (error) {
    if (error instanceof LostAnswer) return void response.destroy();
    const problem =
      error instanceof ProviderError
        ? error
        : new ProviderError(503, "temporary", `It failed: ${String(error)}`);
    // What is left of a body that we did not read must not be taken for the next request.
    if (!request.complete) response.setHeader("connection", "close");
    const { status, problemClass, message, retryAfterMs } = problem;
    if (retryAfterMs !== undefined) response.setHeader("retry-after", Math.ceil(retryAfterMs / 1_000));
    send(response, status, { class: problemClass, text: message, retryAfterMs });
  }
}

/**
 * Lets in only who knows the secret and is no web page: this service runs what it is given. A page that has
 * its own name resolve to 127.0.0.1 shows itself by Host, and any other by Origin.
 */
function admit({ secret }: ServerOptions, request: IncomingMessage): void {
  const port = request.socket.localPort;
  const host = request.headers.host;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    throw new ProviderError(
      403,
      "invalid",
      "The Host header must name 127.0.0.1 and the port of this service.",
    );
  }
  if (request.headers.origin !== undefined) {
    throw new ProviderError(
      403,
      "invalid",
      "This service is not for web pages: an Origin header is not allowed.",
    );
  }
  const shown = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  if (!timingSafeEqual(digest(shown), digest(secret))) {
    throw new ProviderError(
      401,
      "invalid",
      "The Authorization header must be Bearer and the pool's provider secret.",
    );
  }
}

/** Digests have one length, which the comparison needs, and tell nothing of how much was right. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

async function route(cloud: FaultyCloud, request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const [root, id, part, ...more] = url.pathname.split("/").slice(1);
  if (root === "instances" && more.length === 0) {
    cloud.admit();
    const path = (id === undefined ? "" : "/{id}") + (part === undefined ? "" : `/${part}`);
    switch (`${request.method} ${path}`) {
      case "POST ":
        return cloud.create(await bodyOf(request, CreateInstance));
      case "GET ":
        return cloud.list({ tag: tagOf(url), cursor: url.searchParams.get("cursor") ?? undefined });
      case "DELETE /{id}":
        return found(cloud.destroy(id ?? ""), id);
      case "PUT /{id}/tags":
        return found(cloud.retag(id ?? "", (await bodyOf(request, TagsRequest)).tags), id);
    }
  }
  if (url.pathname === "/faults" && (request.method === "GET" || request.method === "PUT")) {
    if (request.method === "PUT") cloud.faults = await bodyOf(request, Faults);
    return cloud.faults;
  }
  throw new ProviderError(
    404,
    "invalid",
    `There is no ${request.method} ${url.pathname} in the provider contract.`,
  );
}

function found(is: boolean, id: string | undefined): object {
  if (!is) throw new ProviderError(404, "invalid", `There is no instance ${id}.`);
  return {};
}

/** `?tag=k:v`: the name ends at the first colon. */
function tagOf(url: URL): { name: string; value: string } | undefined {
  const text = url.searchParams.get("tag");
  if (text === null) return undefined;
  const colon = text.indexOf(":");
  if (colon < 1) throw new ProviderError(400, "invalid", "The query parameter tag must be <name>:<value>.");
  return { name: text.slice(0, colon), value: text.slice(colon + 1) };
}

async function bodyOf<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(parseJson(await readBody(request)));
  if (parsed.success) return parsed.data;
  throw new ProviderError(400, "invalid", `The body is not as it must be. ${z.prettifyError(parsed.error)}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderError(400, "invalid", "The body is not JSON.");
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ProviderError(413, "invalid", "The body is larger than 1 MiB.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
