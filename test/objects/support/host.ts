import { ACTS } from "../../../src/core/means.ts";
import type { CloudWorkerApi, Signature, SignedCall } from "../../../src/objects/rpc.ts";
import type { AttemptReport, HostSetup, Orders, Report } from "../../../src/schema/host.ts";

const SECRET_BYTES = new Uint8Array(32).fill(7);
export const HOST_SECRET = `whsec_${btoa(String.fromCharCode(...SECRET_BYTES))}`;
export const OTHER_SECRET = `whsec_${btoa(String.fromCharCode(...new Uint8Array(32).fill(8)))}`;

/** Signs a call as a host does (Standard Webhooks 1.0). */
export async function sign(body: string, more: Signing = {}): Promise<SignedCall> {
  return { ...(await signBytes(new TextEncoder().encode(body), more)), body };
}

/** What a test may sign otherwise than a host does. */
interface Signing {
  id?: string;
  secret?: string;
  atMs?: number;
}

/** The signature of raw bytes. */
export async function signBytes(body: Uint8Array, more: Signing = {}): Promise<Signature> {
  const id = more.id ?? crypto.randomUUID();
  const timestamp = String(Math.floor((more.atMs ?? Date.now()) / 1_000));
  const bytes = Uint8Array.from(atob((more.secret ?? HOST_SECRET).slice("whsec_".length)), (char) =>
    char.charCodeAt(0),
  );
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const mac = await crypto.subtle.sign("HMAC", key, await new Blob([prefix, body]).arrayBuffer());
  return { id, timestamp, signature: `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}` };
}

/** A host made of a test: it says what the test says. */
export class TestHost {
  readonly #worker: () => CloudWorkerApi;
  #setup: HostSetup | undefined;
  #seq = 0;
  ordersSeen = 0;
  attempts: AttemptReport[] = [];
  /** What its agent acts on. */
  acts: string[] = [...ACTS];

  /** `worker`: a fresh stub for each call, since one that has failed once keeps failing. */
  constructor(worker: () => CloudWorkerApi) {
    this.#worker = worker;
  }

  async enroll(code: string, secret = HOST_SECRET): Promise<HostSetup> {
    const agent = { version: "test", os: "linux", arch: "x64" };
    const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
    this.#setup = await this.#worker().enroll({ code, secret, agent, bootId: "boot-1", resources });
    return this.#setup;
  }

  async join(bootId = "boot-1", id: string = crypto.randomUUID()): Promise<HostSetup> {
    this.#setup = await this.#worker().join(await sign(JSON.stringify({ bootId }), { id }));
    this.#seq = 0;
    return this.#setup;
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
      means: { kill: "cgroup", limits: [], acts: this.acts },
      ...more,
    };
  }

  /** Reports, and remembers the orders that it is answered with. */
  async report(more: Partial<Report> = {}, waitMs = 0): Promise<Orders> {
    const orders = await this.#worker().report(await sign(JSON.stringify(this.next(more))), waitMs);
    this.ordersSeen = Math.max(this.ordersSeen, orders.revision);
    return orders;
  }
}

/**
 * The error that a call is refused with. By `then` alone: an RPC promise that is looked at twice rejects
 * twice.
 */
export function refusal(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  return call.then(
    () => ({ code: "accepted", message: "" }),
    (caught: { code: string; message: string }) => caught,
  );
}
