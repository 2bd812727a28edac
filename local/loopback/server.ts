// How is the loopback cloud served over HTTP?
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { z } from "zod";
import { CONSOLE_READ_BYTES } from "../../src/providers/provider.ts";
import { fieldErrors } from "../../src/schema/field-errors.ts";
import { CreateInstance } from "../../src/schema/provider.ts";
import { type Cloud, Faults, FaultyCloud, LostAnswer } from "./faults.ts";
import { ProviderError } from "./provider-error.ts";

/** The largest request. User data, a script with an enrollment code, takes a few KiB. */
const MAX_BODY_BYTES = 1024 * 1024;

const TagsRequest = z.strictObject({ tags: z.record(z.string(), z.string()) });

export interface ServerOptions {
  cloud: Cloud;
  port: number;
  /** The bearer token of callers. */
  secret: string;
}

/**
 * Serves a loopback cloud on 127.0.0.1 under the provider contract (host-protocol.md#provider-contract).
 * Resolves once it listens. An extra path, `/faults`, lets tests inject faults (`faults.ts`).
 */
export async function serveCloud(options: ServerOptions): Promise<Server> {
  const cloud = new FaultyCloud(options.cloud);
  const server = createServer((request, response) => void answer(options, cloud, request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  // If a connection cannot be accepted for lack of a file descriptor, its caller retries.
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
        : new ProviderError(503, "temporary", `The call failed: ${String(error)}`);
    // The rest of an unread body must not be read as the next request.
    if (!request.complete) response.setHeader("connection", "close");
    const { status, problemClass, message, retryAfterMs } = problem;
    if (retryAfterMs !== undefined) response.setHeader("retry-after", Math.ceil(retryAfterMs / 1_000));
    send(response, status, { class: problemClass, text: message, retryAfterMs });
  }
}

/**
 * Admits only programs that know the secret, and no web page: this service runs any script that it is given.
 * A page whose own name resolves to 127.0.0.1 is recognized by its Host header, any other page by its Origin.
 */
function admit({ secret }: ServerOptions, request: IncomingMessage): void {
  const port = request.socket.localPort;
  const host = request.headers.host;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    throw invalid(403, "The Host header must name 127.0.0.1 and the port of this service.");
  }
  if (request.headers.origin !== undefined) {
    throw invalid(403, "This service is not for web pages: an Origin header is not allowed.");
  }
  const shown = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  if (!timingSafeEqual(digest(shown), digest(secret))) {
    throw invalid(401, "The Authorization header must be Bearer and the pool's provider secret.");
  }
}

function invalid(status: number, text: string): ProviderError {
  return new ProviderError(status, "invalid", text);
}

/** Digests have equal lengths, which the comparison needs, and reveal nothing about a partial match. */
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
      case "GET /{id}/console":
        return shown(cloud.console(id ?? "", CONSOLE_READ_BYTES), id);
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
  throw invalid(404, `There is no ${request.method} ${url.pathname} in the provider contract.`);
}

function shown(console: object | undefined, id: string | undefined): object {
  if (console === undefined) throw invalid(404, `There is no console of an instance ${id}.`);
  return console;
}

function found(is: boolean, id: string | undefined): object {
  if (!is) throw invalid(404, `There is no instance ${id}.`);
  return {};
}

/** `?tag=k:v`: the name ends at the first colon. */
function tagOf(url: URL): { name: string; value: string } | undefined {
  const text = url.searchParams.get("tag");
  if (text === null) return undefined;
  const colon = text.indexOf(":");
  if (colon < 1) throw invalid(400, "The query parameter tag must be <name>:<value>.");
  return { name: text.slice(0, colon), value: text.slice(colon + 1) };
}

async function bodyOf<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(parseJson(await readBody(request)));
  if (parsed.success) return parsed.data;
  const faults = fieldErrors(parsed.error.issues, "json").map(
    ({ pointer, detail }) => `${pointer}: ${detail}`,
  );
  throw invalid(400, `The body is not valid. ${faults.join("; ")}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(400, "The body is not valid JSON.");
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw invalid(413, "The body is larger than 1 MiB.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
