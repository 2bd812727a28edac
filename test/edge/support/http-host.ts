import { randomUUID } from "node:crypto";
import { makeSalt } from "../../../agent/plane/sign.ts";
import { hostSecret, readCode } from "../../../src/signing/code.ts";
import { type Otherwise, purposeOf, type Signer, signedBy, strangeSecret } from "../../support/signed.ts";
import type { Json } from "./edge.ts";
import type { Server } from "./server.ts";

/** An answer as a host sees it. */
export interface Answer {
  status: number;
  body: Json;
}

/** A pool that only self-hosted machines serve. Its provider is never asked for a machine. */
export const OWN_POOL = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { none: { vcpus: 1, memory: "1GiB" } },
  maxInstances: 0,
  probe: { interval: "1s" },
};

/** A host played by a test, over HTTP: it reports what the test gives it. */
export class HttpHost {
  readonly #salt = makeSalt();
  secret: string;
  readonly #server: Server;
  worker = "";
  incarnation = 0;
  seq = 0;

  constructor(server: Server, secret = strangeSecret()) {
    this.#server = server;
    this.secret = secret;
  }

  async enroll(code: string, bootId = "boot-1"): Promise<Answer> {
    const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
    const agent = { version: "test", os: "linux", arch: "x64" };
    const body = JSON.stringify({ salt: this.#salt, agent, bootId, resources });
    const key = readCode(code)?.key;
    if (key !== undefined) this.secret = hostSecret(key, this.#salt);
    return this.#known(await this.#post("/v1/hosts/enroll", { code }, body));
  }

  async join(bootId = "boot-1"): Promise<Answer> {
    return this.#known(await this.call("join", { start: randomUUID(), bootId }));
  }

  /** The next report. */
  async report(more: object = {}): Promise<Answer> {
    return this.call("reports", this.next(more));
  }

  next(more: object = {}): object {
    this.seq += 1;
    const { incarnation, seq } = this;
    return { incarnation, seq, full: true, ordersSeen: 0, attempts: [], ...more };
  }

  /** A signed call, to this host's worker or to another one. */
  async call(
    what: "join" | "reports",
    content: object,
    to = this.worker,
    more: Otherwise = {},
  ): Promise<Answer> {
    const signer = { worker: to, secret: this.secret };
    return this.#post(`/v1/hosts/${to}/${what}`, signer, JSON.stringify(content), more);
  }

  /** The headers that sign a call of this host to a path. */
  headers(method: string, path: string, body: string | Uint8Array = "", more: Otherwise = {}) {
    return signedBy(this, purposeOf(method, path.split("?")[0] ?? ""), [method, path], body, more);
  }

  #known(answer: Answer): Answer {
    if (answer.status !== 200) return answer;
    this.worker = answer.body.worker;
    this.incarnation = answer.body.incarnation;
    this.seq = 0;
    return answer;
  }

  async #post(path: string, signer: Signer, body: string, more: Otherwise = {}): Promise<Answer> {
    const headers = signedBy(signer, purposeOf("POST", path), ["POST", path], body, more);
    const json = { "content-type": "application/json" };
    const answer = await this.#server.send("POST", path, { ...headers, ...json }, body);
    return { status: answer.status, body: await answer.json() };
  }
}
