// An HTTP server on 127.0.0.1 that speaks for a fake cloud. Answers may be lost, cut, or another server's.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { wholeBody } from "../../support/whole-body.ts";
import { CloudFault, type FakeCloud } from "./fake-cloud.ts";

export interface FakeRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  /** The body as JSON, or as text if it is not JSON. Undefined: none. */
  body: unknown;
}

export interface FakeAnswer {
  status: number;
  /** Undefined: an empty answer. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Served {
  url: string;
  stop(): void;
}

/** What a request is answered with. Throws `CloudFault` for an error answer. */
export type Respond = (request: FakeRequest) => FakeAnswer;

const HTML =
  "<!DOCTYPE html>\n<html><head><title>Gateway &nbsp; login</title><body><p>Hello<br></body></html>";
const HUGE_BYTES = 40 * 1024 * 1024;

/** Serves a fake until `stop`. `headers`: what every answer has, also those of errors. */
export async function serve(
  cloud: FakeCloud,
  respond: Respond,
  headers: (request: FakeRequest) => Record<string, string> = () => ({}),
  atPort = 0,
): Promise<Served> {
  const server = createServer((message, response) => {
    void wholeBody(message).then((body) => {
      if (body === undefined) return;
      const text = body.toString();
      cloud.settle();
      const request = requestOf(message, text);
      const extra = headers(request);
      const answer = answerTo(cloud, respond, request);
      const { method, path, query } = request;
      const asked = query.size === 0 ? path : `${path}?${query}`;
      cloud.calls.push({ method, path: asked, at: cloud.now, status: answer.status, body: text });
      send(cloud, response, { ...answer, headers: { ...extra, ...answer.headers } });
    });
  });
  server.listen(atPort, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** Serves a fake for one test, which stops it. */
export async function serveForTest(...args: Parameters<typeof serve>): Promise<string> {
  const { url, stop } = await serve(...args);
  onTestFinished(stop);
  return url;
}

function requestOf({ method = "", url = "/", headers }: IncomingMessage, text: string): FakeRequest {
  const { pathname, searchParams } = new URL(url, "http://fake");
  return { method, path: pathname, query: searchParams, headers, body: bodyOf(text) };
}

function bodyOf(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function answerTo(cloud: FakeCloud, respond: Respond, request: FakeRequest): FakeAnswer {
  const { errors, errorRate } = cloud.faults;
  try {
    const next = errors.shift();
    if (next !== undefined) throw next;
    if (errorRate !== undefined && cloud.chance() < errorRate.part) throw errorRate.error;
    return respond(request);
  } catch (error) {
    if (!(error instanceof CloudFault)) throw error;
    return error;
  }
}

function send({ faults, now }: FakeCloud, response: ServerResponse, answer: FakeAnswer): void {
  if (faults.lostAnswers > 0) {
    faults.lostAnswers -= 1;
    response.destroy();
    return;
  }
  const { status, body } = answer;
  const headers = {
    "content-type": "application/json",
    date: new Date(now).toUTCString(),
    ...answer.headers,
  };
  const known = body === undefined ? "" : JSON.stringify(body);
  const text =
    faults.unknownFields && known.startsWith("{") ? `{"quantum_state":{"a":[1]},${known.slice(1)}` : known;
  const replaced = faults.bodies.shift();
  if (replaced === undefined) response.writeHead(status, headers).end(text);
  else if (replaced === "cut")
    response.writeHead(status, headers).end(text.slice(0, Math.floor(text.length * 0.7)));
  else if (replaced === "huge") endless(response.writeHead(status, headers), text);
  else {
    const html = { ...headers, "content-type": "text/html" };
    response.writeHead(replaced === "html" ? 200 : 503, html).end(HTML);
  }
}

/** The answer, and after it blanks for as long as somebody reads, up to 40 MB. */
function endless(response: ServerResponse, text: string): void {
  response.write(text);
  const piece = Buffer.alloc(1024 * 1024, 32);
  let left = HUGE_BYTES;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= piece.length;
      if (!response.write(piece)) return;
    }
    response.end();
  };
  response.on("drain", more);
  more();
}
