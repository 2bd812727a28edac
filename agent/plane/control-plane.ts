// How does a host make signed calls to the control plane, and accept only proven answers?
import { createHash } from "node:crypto";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { contentDigest, digestField, EMPTY_DIGEST } from "../../src/signing/mac.ts";
import type { Purpose } from "../../src/signing/request.ts";
import { makeClock } from "../clock.ts";
import { type Answer, type Bytes, ConnectionClosed, send } from "./http.ts";
import { type Hello, ProvenAgent } from "./proven-agent.ts";
import { openSealedSocket } from "./sealed-socket.ts";
import { type SignedCall, type Signer, signCall } from "./sign.ts";
import { NoSocket, type OpenSocket, type SocketOptions } from "./socket.ts";

/** A clock error that is smaller than this is not the reason for a refusal. */
const CLOCK_ERROR_MS: Millis = 30_000;

/** How often a call is tried if this machine's clock was wrong, or if the connection was already closed. */
const MAX_TRIES = 3;

/** 4xx statuses that mean "not now" or "wrong clock", so a retry may succeed. */
const TEMPORARY = new Set([401, 408, 425, 429]);
/** The status of a control plane without a bucket: a retry is pointless. */
const NO_BUCKET = 501;

/** An error answer of the control plane. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly retryAfterMs: Millis | undefined;

  constructor(status: number, detail: string, retryAfterMs?: Millis) {
    super(detail);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether every retry of the call would be refused, too. */
  get isFinal(): boolean {
    return (
      (this.status >= 400 && this.status < 500 && !TEMPORARY.has(this.status)) || this.status === NO_BUCKET
    );
  }
}

/**
 * The calls of one host. An answer counts only if its signature belongs to its call; any other answer is
 * treated as no answer. The object remembers the control plane's time, if this machine's clock is off.
 */
export class ControlPlane {
  readonly #signer: Signer;
  /** The agent for all `http:` connections. */
  readonly agent = new ProvenAgent(() => this.#hello());
  readonly #uptime = makeClock();
  /** How far the control plane's time is ahead of the uptime. Undefined: this machine's clock seems right. */
  #aheadMs: Millis | undefined;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  /**
   * How much later the control plane's clock is than that of this machine, as far as refusals have shown.
   * Once the machine's clock is set right, this is 0 again, although nothing is refused.
   */
  get clockErrorMs(): Millis {
    return this.#now() - Date.now();
  }

  /** The control plane's time. */
  #now(): Instant {
    return this.#aheadMs === undefined ? Date.now() : this.#uptime() + this.#aheadMs;
  }

  /** Posts JSON. Rejects with a `Refusal`, or with the reason why there was no valid answer. */
  post(url: string, purpose: Purpose, body: string, signal: AbortSignal): Promise<unknown> {
    return this.#send("POST", url, purpose, body, contentDigest(body), signal);
  }

  /** Puts bytes. They are read once for their digest, unless it is given (base64), and once to send them. */
  async put(
    url: string,
    purpose: Purpose,
    body: Bytes & { sha256?: string },
    signal: AbortSignal,
  ): Promise<unknown> {
    const digest = digestField(body.sha256 ?? (await sha256Of(body)));
    return this.#send("PUT", url, purpose, body, digest, signal);
  }

  /** Opens a socket. Rejects like `post`. */
  async openSocket(options: Omit<SocketOptions, "agent" | "headers">): Promise<OpenSocket> {
    return this.#again(async () => {
      const call = this.signed("GET", options.url, "socket");
      const signed = { ...options, agent: this.agent, headers: { ...call.headers } };
      try {
        return await openSealedSocket(this.#signer.key, call.signature, signed);
      } catch (error) {
        throw error instanceof NoSocket ? (this.refusalIn(call, error.answer) ?? error) : error;
      }
    });
  }

  /** Signs a call without a body. */
  signed(method: string, url: string, purpose: Purpose, digest = EMPTY_DIGEST): SignedCall {
    return signCall(this.#signer, method, url, purpose, digest, this.#now());
  }

  /**
   * The refusal in an answer; undefined for a success. It is a `WrongClock` if the call may succeed once it
   * is signed with the control plane's time. Throws `Unproven` if the answer is not signed by the control
   * plane.
   */
  refusalIn(call: SignedCall, answer: Answer): Refusal | undefined {
    const created = provenAt(call, answer);
    if (answer.status >= 200 && answer.status < 300) return undefined;
    const { detail, retryAfterMs } = problemIn(answer.body);
    const text = detail ?? `status ${answer.status}`;
    const clockErred = answer.status === 401 && this.#learnOffset(created, call.created);
    return new (clockErred ? WrongClock : Refusal)(answer.status, text, retryAfterMs);
  }

  #send(
    method: string,
    url: string,
    purpose: Purpose,
    body: string | Bytes,
    digest: string,
    signal: AbortSignal,
  ): Promise<unknown> {
    return this.#again(async () => {
      const call = this.signed(method, url, purpose, digest);
      const headers = { ...call.headers };
      const answer = await send({ method, url, headers, body, signal, agent: this.agent });
      const refusal = this.refusalIn(call, answer);
      if (refusal !== undefined) throw refusal;
      const content = parse(answer.body);
      if (content !== undefined) return content;
      throw new Error(
        `The answer with status ${answer.status} is not valid JSON: is this the control plane?`,
      );
    });
  }

  /** Calls again, with a new signature, if the clock was corrected, or a connection was already closed. */
  async #again<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        const mayRetry = error instanceof WrongClock || error instanceof ConnectionClosed;
        if (!mayRetry || tries === MAX_TRIES) throw error;
      }
    }
  }

  /**
   * The hello names the worker. The keyid is the worker's name, or begins with the worker's name if it comes
   * from a code: a code belongs to one worker.
   */
  #hello(): Hello {
    const path = `/v1/hosts/${this.#signer.keyid.split(".")[0]}/hello`;
    const call = this.signed("GET", `http://localhost${path}`, "hello");
    const verify = (answer: Answer, address: string) => {
      provenAt(call, answer);
      // Another program may relay to a control plane at another address.
      if (answer.status === 200 && membersOf(parse(answer.body)).address === address) return;
      throw new Unproven(`the control plane is not at ${address}: another program relays to it`);
    };
    return { path, headers: { ...call.headers }, verify };
  }

  /**
   * Learns from a proven refusal how far this machine's clock is off. Returns whether the clock was the
   * reason for the refusal. The time in the call decides this, since the clock may have been set after the
   * call.
   */
  #learnOffset(created: number, signedAt: number): boolean {
    this.#aheadMs = created * 1_000 - this.#uptime();
    return Math.abs(created - signedAt) * 1_000 > CLOCK_ERROR_MS;
  }
}

/** An answer that is not signed by the control plane. */
export class Unproven extends Error {}

/** A refusal because of this machine's clock, whose error is now known. */
export class WrongClock extends Refusal {}

/**
 * When the control plane signed an answer, in seconds since 1970. Throws `Unproven` if it did not sign the
 * answer.
 */
function provenAt(call: SignedCall, answer: Answer): number {
  const created = call.proofOf(answer);
  if (created !== undefined) return created;
  const { detail } = problemIn(answer.body);
  const quote = detail === undefined ? "" : ` ("${detail.slice(0, 200)}")`;
  throw new Unproven(
    `the answer with status ${answer.status}${quote} is not signed by this host's control plane, so it is ` +
      "ignored. Is another program at this address, or does Drover no longer know this host?",
  );
}

async function sha256Of(body: Bytes): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of body.open()) hash.update(part);
  return hash.digest("base64");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The members of a parsed JSON object; none if it is something else. */
export function membersOf(content: unknown): Partial<Record<string, unknown>> {
  return Object(content);
}

/** The members of a problem document; none if it is not one. */
function problemIn(body: string): { detail: string | undefined; retryAfterMs: Millis | undefined } {
  const { detail, retryAfterMs: ms } = membersOf(parse(body));
  return {
    detail: typeof detail === "string" ? detail : undefined,
    retryAfterMs: typeof ms === "number" && ms >= 0 ? ms : undefined,
  };
}
