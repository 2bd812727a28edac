import { randomUUID } from "node:crypto";
import { makeSecret, signedHeaders } from "../../../agent/plane/sign.ts";
import type { Json } from "./edge.ts";
import type { Server } from "./server.ts";

/** An answer as a host sees it. */
export interface Answer {
  status: number;
  body: Json;
}

/** A pool that only machines of one's own serve. Its provider is never asked for any. */
export const OWN_POOL = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { none: { vcpus: 1, memory: "1GiB" } },
  maxInstances: 0,
  probe: { interval: "1s" },
};

/** A host made of a test, over HTTP: it says what the test says. */
export class HttpHost {
  readonly secret: string;
  readonly #server: Server;
  worker = "";
  incarnation = 0;
  seq = 0;

  constructor(server: Server, secret = makeSecret()) {
    this.#server = server;
    this.secret = secret;
  }

  async enroll(code: string, bootId = "boot-1"): Promise<Answer> {
    const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
    const agent = { version: "test", os: "linux", arch: "x64" };
    const body = JSON.stringify({ code, secret: this.secret, agent, bootId, resources });
    return this.#known(await this.#post("/v1/hosts/enroll", {}, body));
  }

  async join(bootId = "boot-1"): Promise<Answer> {
    return this.#known(await this.call("join", { bootId }));
  }

  /** The next report. */
  async report(more: object = {}): Promise<Answer> {
    return this.call("reports", this.next(more));
  }

  next(more: object = {}): object {
    this.seq += 1;
    const { worker, incarnation, seq } = this;
    return { worker, incarnation, seq, full: true, ordersSeen: 0, attempts: [], ...more };
  }

  /** A signed call, to this host's worker or to another one. */
  async call(
    what: "join" | "reports",
    content: object,
    to = this.worker,
    id: string = randomUUID(),
  ): Promise<Answer> {
    const body = JSON.stringify(content);
    return this.#post(`/v1/hosts/${to}/${what}`, signedHeaders(this.secret, id, Date.now(), body), body);
  }

  #known(answer: Answer): Answer {
    if (answer.status !== 200) return answer;
    this.worker = answer.body.worker;
    this.incarnation = answer.body.incarnation;
    this.seq = 0;
    return answer;
  }

  async #post(path: string, headers: Record<string, string>, body: string): Promise<Answer> {
    const json = { "content-type": "application/json" };
    const answer = await this.#server.send("POST", path, { ...headers, ...json }, body);
    return { status: answer.status, body: await answer.json() };
  }
}
