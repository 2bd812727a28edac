import { type IncomingHttpHeaders, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { errorCode } from "../files.ts";

// `node:http` and not `fetch`: the latter alone would cost a fifth of the agent's memory budget.

/** An answer above this is no answer of a control plane. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const plain = new PlainAgent({ keepAlive: true });
const tls = new TlsAgent({ keepAlive: true });

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Post {
  url: string;
  headers: Record<string, string>;
  /** JSON. */
  body: string;
  signal: AbortSignal;
}

/** Bytes that are read as they are sent. */
export interface Put extends Omit<Post, "body"> {
  body: { bytes: number; open(): Readable };
}

/**
 * Posts JSON, or puts bytes, and reads the answer, whatever its status. Rejects if there is none. A kept
 * connection that turns out to be closed says nothing about the control plane, so the call is made again on
 * a new one.
 */
export async function send(call: Post | Put): Promise<Answer> {
  const used = { reused: false };
  try {
    return await sendOnce(call, used);
  } catch (error) {
    const closed = errorCode(error) === "ECONNRESET" || errorCode(error) === "EPIPE";
    if (!used.reused || !closed || call.signal.aborted) throw error;
    return sendOnce(call, used);
  }
}

function sendOnce({ url, headers, body, signal }: Post | Put, used: { reused: boolean }): Promise<Answer> {
  const target = new URL(url);
  const secure = target.protocol === "https:";
  const json = typeof body === "string";
  const type = json ? "application/json" : "application/octet-stream";
  const length = json ? Buffer.byteLength(body) : body.bytes;
  const options = {
    method: json ? "POST" : "PUT",
    agent: secure ? tls : plain,
    signal,
    headers: { ...headers, "content-type": type, "content-length": length },
  };
  return new Promise((resolve, reject) => {
    const call = secure ? tlsRequest(target, options) : plainRequest(target, options);
    call.on("response", (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on("data", (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error("The answer is too large to be one."));
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
