// Is the program at a local Drover's address really Drover? It must prove that it knows the token.
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { connect, type Socket } from "node:net";
import { parseToken } from "../../src/shared/access/token-text.ts";
import { endpointOf, proofText } from "../../src/shared/proof.ts";
import { StrangerError } from "../errors.ts";

/**
 * How long to wait for the proof: long, because a busy local Drover answers late. After this time, Drover
 * counts as unreachable.
 */
const ANSWER_WITHIN_MS = 30_000;
const MOST_BYTES = 4_096;
const NONCE_BYTES = 24;
/** An answer that says "not now". Who answers is not known, so nothing is sent, and it is asked again. */
const BUSY = /^HTTP\/1\.1 (?:429|503) /;

/**
 * Connects to a local Drover and makes it prove that it knows the token. The proof holds for this connection,
 * even if another program takes the port later. Rejects with a `StrangerError` if the proof is wrong.
 */
export async function connectProven(address: string, token: string): Promise<Socket> {
  const nonce = randomBytes(NONCE_BYTES).toString("base64url");
  const socket = connect(endpointOf(address));
  try {
    const { query, key } = proofRequest(token);
    const path = `/proof?nonce=${nonce}${query}`;
    const answer = await exchange(socket, `GET ${path} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
    const due = createHmac("sha256", key).update(proofText(address, nonce)).digest();
    const isDue = (given: Buffer) => given.length === due.length && timingSafeEqual(given, due);
    if (!proofsIn(answer ?? "").some(isDue)) throw new StrangerError(address);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * The query that asks for the proof, and the key that the proof must use. For a token that has an id, the key
 * is the token's digest, since Drover stores only the digest (access.md#token-format).
 */
function proofRequest(token: string): { query: string; key: string } {
  const parsed = parseToken(token);
  if (parsed.kind !== "token") return { query: "", key: token };
  return { query: `&token=${parsed.id}`, key: createHash("sha256").update(token).digest("base64") };
}

/** Sends a request and returns the body of the answer; undefined if the answer does not come from Drover. */
function exchange(socket: Socket, request: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const onData = (bytes: Buffer) => {
      answer += bytes.toString("latin1");
      if (BUSY.test(answer)) return onError(failure("it answers that it is busy", "ECONNREFUSED"));
      const body = bodyOf(answer);
      if (body !== "more") finish(() => resolve(body));
    };
    const onError = (error: Error) => finish(() => reject(error));
    // `ECONNREFUSED` tells the caller that it may retry: no part of its own request has been sent yet.
    const onClose = () => onError(failure("the connection was closed", "ECONNREFUSED"));
    const onTimeout = () => onError(failure("timed out", "UND_ERR_CONNECT_TIMEOUT"));
    const finish = (settle: () => void) => {
      socket
        .pause()
        .off("data", onData)
        .off("error", onError)
        .off("close", onClose)
        .off("timeout", onTimeout);
      socket.setTimeout(0);
      settle();
    };
    socket.on("data", onData).on("error", onError).on("close", onClose).on("timeout", onTimeout);
    socket.setNoDelay(true).setTimeout(ANSWER_WITHIN_MS);
    socket.write(request);
  });
}

function failure(text: string, code: string): Error {
  return Object.assign(new Error(text), { code });
}

/**
 * The body of a complete answer; "more" if the answer is incomplete; undefined if it does not come from
 * Drover.
 */
function bodyOf(answer: string): string | undefined {
  if (answer.length > MOST_BYTES) return undefined;
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return "more";
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(answer.slice(0, end + 2))?.[1];
  if (!answer.startsWith("HTTP/1.1 200 ") || length === undefined) return undefined;
  const body = answer.slice(end + 4);
  if (body.length < Number(length)) return "more";
  return body.length === Number(length) ? body : undefined;
}

function proofsIn(body: string): Buffer[] {
  return [...body.matchAll(/"(?:proof|older)":"([\w-]+)"/g)].map(([, proof = ""]) =>
    Buffer.from(proof, "base64url"),
  );
}
