import { type IncomingHttpHeaders, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
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
  body: string;
  signal: AbortSignal;
}

/**
 * Posts JSON and reads the answer, whatever its status. Rejects if there is none. A kept connection that
 * turns out to be closed says nothing about the control plane, so the call is made again on a new one.
 */
export async function post(call: Post): Promise<Answer> {
  const used = { reused: false };
  try {
    return await postOnce(call, used);
  } catch (error) {
    const closed = errorCode(error) === "ECONNRESET" || errorCode(error) === "EPIPE";
    if (!used.reused || !closed || call.signal.aborted) throw error;
    return postOnce(call, used);
  }
}

function postOnce({ url, headers, body, signal }: Post, used: { reused: boolean }): Promise<Answer> {
  const target = new URL(url);
  const secure = target.protocol === "https:";
  const options = {
    method: "POST",
    agent: secure ? tls : plain,
    signal,
    headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
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
    call.end(body);
  });
}
