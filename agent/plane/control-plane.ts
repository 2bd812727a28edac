import type { Millis } from "../../src/core/machine.ts";
import { type Answer, type Put, send } from "./http.ts";
import { signedHeaders, signedStreamHeaders } from "./sign.ts";
import { type Line, type LineOptions, NoSocket, openLine } from "./socket.ts";

/** A clock that is wrong by less than this is not why a call was refused. */
const CLOCK_ERROR_MS: Millis = 30_000;

/** Answers of the 4xx class that say "not now" rather than "not like this". */
const TEMPORARY = new Set([408, 425, 429]);
/** There is no bucket: no later try will find one. */
const NO_BUCKET = 501;

/** The control plane has answered, but not with what was asked for. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly retryAfterMs: Millis | undefined;

  constructor(status: number, detail: string, retryAfterMs?: Millis) {
    super(detail);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same call will be refused again, whenever it is made. */
  get isFinal(): boolean {
    return (
      (this.status >= 400 && this.status < 500 && !TEMPORARY.has(this.status)) || this.status === NO_BUCKET
    );
  }
}

/**
 * The calls of one host. It keeps how far this machine's clock is off: hosts are not trusted to know the
 * time.
 */
export class ControlPlane {
  readonly secret: string;
  #offsetMs: Millis = 0;

  constructor(secret: string) {
    this.secret = secret;
  }

  /** Posts without a signature. Rejects with a `Refusal`, or with what kept the answer from coming. */
  async post(url: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    return contentOf(await send({ url, headers: {}, body: JSON.stringify(body), signal }));
  }

  /** Posts signed. Rejects like `post`. */
  postSigned(url: string, id: string, body: string, signal: AbortSignal): Promise<unknown> {
    return this.#content(() => send({ url, headers: this.headersOf(id, body), body, signal }));
  }

  /** Opens a socket, asked for by a signed request without a body. Rejects like `postSigned`. */
  async openLine(id: string, options: Omit<LineOptions, "headers">): Promise<Line> {
    const open = () => openLine({ ...options, headers: this.headersOf(id, "") });
    try {
      return await open().catch((error: unknown) => {
        if (error instanceof NoSocket && error.status === 401 && this.learnOffset(error)) return open();
        throw error;
      });
    } catch (error) {
      throw error instanceof NoSocket ? new Refusal(error.status, error.message) : error;
    }
  }

  /** The same for bytes: read once to sign them, and once more to send them. */
  putSigned(url: string, id: string, body: Put["body"], signal: AbortSignal): Promise<unknown> {
    return this.#content(() => this.#signStream(url, id, body, signal));
  }

  /** The same for bytes that the id names by their digest: only the id is signed, and they are read once. */
  putNamed(url: string, id: string, body: Put["body"], signal: AbortSignal): Promise<unknown> {
    return this.#content(() => send({ url, headers: this.headersOf(id, ""), body, signal }));
  }

  /** A call that was refused while this clock was off is made again, signed with the server's time. */
  async #content(call: () => Promise<Answer>): Promise<unknown> {
    const answer = await call();
    if (answer.status !== 401 || !this.learnOffset(answer)) return contentOf(answer);
    return contentOf(await call());
  }

  async #signStream(url: string, id: string, body: Put["body"], signal: AbortSignal): Promise<Answer> {
    const atMs = Date.now() + this.#offsetMs;
    const headers = await signedStreamHeaders(this.secret, id, atMs, body.open());
    return send({ url, headers, body, signal });
  }

  /** The headers that sign a call. */
  headersOf(id: string, body: string): Record<string, string> {
    return signedHeaders(this.secret, id, Date.now() + this.#offsetMs, body);
  }

  /** Learns from a refusal how far this clock is off; true if that is why, so that another try may help. */
  learnOffset({ headers }: Pick<Answer, "headers">): boolean {
    const offsetMs = Date.parse(headers.date ?? "") - Date.now();
    if (!(Math.abs(offsetMs - this.#offsetMs) > CLOCK_ERROR_MS)) return false;
    this.#offsetMs = offsetMs;
    return true;
  }
}

function contentOf({ status, headers, body }: Answer): unknown {
  const content = parse(body);
  if (status >= 200 && status < 300) {
    if (content !== undefined) return content;
    throw new Error(`The answer with status ${status} is no JSON: is this the control plane?`);
  }
  throw new Refusal(status, detailOf(content) || `status ${status}`, retryAfter(headers));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a problem document says for people; empty if the answer is none. */
function detailOf(problem: unknown): string {
  const detail: unknown =
    typeof problem === "object" && problem !== null ? Reflect.get(problem, "detail") : undefined;
  return typeof detail === "string" ? detail : "";
}

/** `Retry-After` is a number of seconds or a date of the server's clock (RFC 9110, 10.2.3). */
function retryAfter({ "retry-after": text, date = "" }: Answer["headers"]): Millis | undefined {
  if (text === undefined) return undefined;
  const serverNow = Date.parse(date) || Date.now();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - serverNow;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
