// How does the agent send one HTTP request and read the answer?
import { type IncomingHttpHeaders, type Agent as PlainAgent, request as plainRequest } from "node:http";
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
  /** The headers of one try: each try has its own signature. */
  sign(): Record<string, string>;
  /** JSON, or bytes. */
  body: string | Bytes;
  signal: AbortSignal;
  /** Makes the `http:` connections, which have no certificate. */
  agent: PlainAgent;
}

/**
 * Sends JSON or bytes and reads the answer, whatever its status. Rejects if there is none. If a kept-alive
 * connection turns out to be closed, the call is repeated on a new one.
 */
export async function send(call: Call): Promise<Answer> {
  const used = { reused: false };
  try {
    return await sendOnce(call, used);
  } catch (error) {
    const closed = errorCode(error) === "ECONNRESET" || errorCode(error) === "EPIPE";
    if (!used.reused || !closed || call.signal.aborted) throw error;
    return sendOnce(call, used);
  }
}

function sendOnce(
  { method, url, sign, body, signal, agent }: Call,
  used: { reused: boolean },
): Promise<Answer> {
  const target = safeUrl(url);
  const secure = target.protocol === "https:";
  const json = typeof body === "string";
  const type = json ? "application/json" : "application/octet-stream";
  const length = json ? Buffer.byteLength(body) : body.bytes;
  const options = {
    method,
    agent: secure ? tls : agent,
    signal,
    headers: { ...sign(), "content-type": type, "content-length": length },
  };
  return new Promise((resolve, reject) => {
    const call = secure ? tlsRequest(target, options) : plainRequest(target, options);
    call.on("response", (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on("data", (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > MAX_ANSWER_BYTES)
          response.destroy(new Error("The answer is too large to be from the control plane."));
      });
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    call.on("error", (error) => {
      used.reused = call.reusedSocket;
      reject(error);
    });
    if (json) call.end(body);
    else pipeline(body.open(), call, (error) => error && reject(error));
  });
}
