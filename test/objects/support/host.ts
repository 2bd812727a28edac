import type { CloudWorkerApi, SignedAnswer, SignedCall } from "../../../src/objects/rpc.ts";
import type { HostSecrets } from "../../../src/schema/access/secret.ts";
import type { AttemptReport, HostSetup, Orders, Report } from "../../../src/schema/host.ts";
import { PROTOCOL } from "../../../src/shared/compat.ts";
import { DroverError } from "../../../src/shared/errors.ts";
import { hostSecret, readClaim, readCode } from "../../../src/signing/code.ts";
import { contentDigest, keyOf, textOfKey } from "../../../src/signing/mac.ts";
import {
  type ClaimedRequest,
  claimedRequest,
  type Purpose,
  signRequest,
} from "../../../src/signing/request.ts";

const SALT = btoa(String.fromCharCode(...new Uint8Array(32).fill(7)));
export const OTHER_SALT = btoa(String.fromCharCode(...new Uint8Array(32).fill(8)));
export const OTHER_SECRET = btoa(String.fromCharCode(...new Uint8Array(32).fill(9)));

/** The identity with which a host signs. */
export interface Identity {
  worker: string;
  secret: string;
}

/** What a test may sign differently from a host. */
export interface Signing {
  nonce?: string;
  /** The start of the agent that joins. */
  start?: string;
  atMs?: number;
  purpose?: Purpose;
  method?: string;
  path?: string;
  query?: string;
}

/** The path of each purpose, after the worker's path. */
const PATHS: Partial<Record<Purpose, string>> = {
  join: "join",
  report: "reports",
  secrets: "secrets",
  socket: "socket",
};

/** Signs a call as a host does. */
export function sign(body: string, who: Identity, more: Signing = {}): SignedCall {
  return { ...claim(contentDigest(body), who, more), body };
}

/** The same for a call whose body goes elsewhere. */
export function claim(digest: string, { worker, secret }: Identity, more: Signing = {}): ClaimedRequest {
  const { purpose = "report", nonce = crypto.randomUUID(), atMs = Date.now(), method = "POST" } = more;
  const { path = `/v1/hosts/${worker}/${PATHS[purpose]}`, query = "" } = more;
  const request = { method, path, query };
  const params = { created: Math.floor(atMs / 1_000), nonce, keyid: worker, purpose };
  const headers = signRequest(keyOf(secret), request, digest, params);
  const claimed = claimedRequest(request, (name) => headers[name]);
  if (claimed === undefined) throw new Error("a host of these tests signs as no host may");
  return claimed;
}

/** The headers of a call that was signed. */
export function headersOf({ digest, created, nonce, keyid, purpose, signature }: ClaimedRequest) {
  const params = `created=${created};nonce="${nonce}";keyid="${keyid}";tag="drover-${purpose}"`;
  return {
    "content-digest": digest,
    "signature-input": `drover=("@method" "@path" "@query" "content-digest");${params}`,
    signature: `drover=:${signature}:`,
  };
}

/** The value in an answer to a host. Throws the refusal if it has one. */
export function settled<T>(answered: SignedAnswer<T>): T {
  if ("value" in answered) return answered.value;
  throw new DroverError(answered.refused.code, answered.refused.message, answered.refused);
}

/** A host played by a test: it reports what the test gives it. */
export class TestHost {
  readonly #worker: () => CloudWorkerApi;
  #setup: HostSetup | undefined;
  #seq = 0;
  identity: Identity = { worker: "nobody", secret: OTHER_SECRET };
  ordersSeen = 0;
  attempts: AttemptReport[] = [];
  /** The key for which secrets are sealed; absent: it enrolls without one. */
  publicKey: string | undefined;
  /** The protocol version that it speaks. */
  protocol = PROTOCOL;

  /** `worker`: a fresh stub for each call, since one that has failed once keeps failing. */
  constructor(worker: () => CloudWorkerApi) {
    this.#worker = worker;
  }

  /** Enrolls as the edge would, which has verified the code. */
  async enroll(code: string, salt = SALT, expires?: number): Promise<HostSetup> {
    const agent = { version: "test", os: "linux", arch: "x64" };
    const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
    const { claim: claimOfCode = "", key = new Uint8Array() } = readCode(code) ?? {};
    const { worker = "", expiresAt = 0 } = readClaim(claimOfCode) ?? {};
    const { publicKey } = this;
    const body = JSON.stringify({ salt, agent, bootId: "boot-1", resources, publicKey });
    this.#setup = await this.#worker().enroll({
      body,
      codeKey: textOfKey(key),
      expiresAt: expires ?? expiresAt,
    });
    this.identity = { worker, secret: hostSecret(key, salt) };
    return this.#setup;
  }

  async join(bootId = "boot-1", more: Signing = {}): Promise<HostSetup> {
    const { start = crypto.randomUUID() } = more;
    const call = sign(JSON.stringify({ start, bootId }), this.identity, { purpose: "join", ...more });
    this.#setup = settled(await this.#worker().join(call));
    this.#seq = 0;
    return this.#setup;
  }

  /** Asks for the secrets of an attempt. */
  async secrets(attempt: string, publicKey = this.publicKey, more: Signing = {}): Promise<HostSecrets> {
    const body = JSON.stringify({ attempt, publicKey });
    return settled(await this.#worker().secrets(sign(body, this.identity, { purpose: "secrets", ...more })));
  }

  /** The next report, as it would be sent. */
  next(more: Partial<Report> = {}): Report {
    this.#seq += 1;
    const { incarnation = 1 } = this.#setup ?? {};
    return {
      incarnation,
      seq: this.#seq,
      full: true,
      ordersSeen: this.ordersSeen,
      attempts: this.attempts,
      means: { kill: "cgroup", limits: [], protocol: this.protocol },
      ...more,
    };
  }

  /** Reports, and remembers the orders in the answer. */
  async report(more: Partial<Report> = {}, waitMs = 0): Promise<Orders> {
    const call = sign(JSON.stringify(this.next(more)), this.identity);
    const orders = settled(await this.#worker().report(call, waitMs));
    this.ordersSeen = Math.max(this.ordersSeen, orders.revision);
    return orders;
  }
}

/**
 * The error with which a call is refused. It uses `then` alone: an RPC promise that is used twice rejects
 * twice.
 */
export function refusal(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  return call.then(
    () => ({ code: "accepted", message: "" }),
    (caught: { code: string; message: string }) => caught,
  );
}
