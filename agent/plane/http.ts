// How does the agent send one HTTP request and read the answer?
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Agent as PlainAgent,
  request as plainRequest,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { errorCode } from "../../posix/errors.ts";
import { safeUrl } from "./safe-url.ts";

// Uses `node:http`, since `fetch` alone would cost a fifth of the agent's memory budget.

/** The largest answer of a control plane. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const tls = new TlsAgent({ keepAlive: true });

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Bytes that are streamed from their source. */
export interface Bytes {
  bytes: number;
  open(): Readable;
}

export interface Call {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** JSON, or bytes. */
  body: string | Bytes;
  signal: AbortSignal;
  /** Opens the connections for `http:`, where no certificate proves the server. */
  agent: PlainAgent;
}

/** A kept-alive connection turned out to be closed: a retry on a new connection may succeed. */
export class ConnectionClosed extends Error {}

/** Sends JSON or bytes and reads the answer, whatever its status. Rejects if there is no answer. */
export function send({ method, url, headers, body, signal, agent }: Call): Promise<Answer> {
  const target = safeUrl(url);
  const secure = target.protocol === "https:";
  const json = typeof body === "string";
  const type = json ? "application/json" : "application/octet-stream";
  const length = json ? Buffer.byteLength(body) : body.bytes;
  const options = {
    method,
    agent: secure ? tls : agent,
    signal,
    headers: { ...headers, "content-type": type, "content-length": length },
  };
  return new Promise((resolve, reject) => {
    const call = secure ? tlsRequest(target, options) : plainRequest(target, options);
    call.on("response", (response) => readAnswer(response, MAX_ANSWER_BYTES).then(resolve, reject));
    call.on("error", (error) => {
      const closed = errorCode(error) === "ECONNRESET" || errorCode(error) === "EPIPE";
      const mayRetry = closed && call.reusedSocket && !signal.aborted;
      reject(mayRetry ? new ConnectionClosed(error.message) : error);
    });
    if (json) call.end(body);
    else pipeline(body.open(), call, (error) => error && reject(error));
  });
}

/** Reads a whole answer. Rejects if it is too large, or is interrupted. */
export async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    parts.push(part);
    bytes += part.length;
    if (bytes > maxBytes) throw new Error("The answer is too large to be from the control plane.");
  }
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: Buffer.concat(parts).toString("utf8") };
}
