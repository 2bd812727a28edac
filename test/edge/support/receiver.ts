import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { wholeBody } from "../../support/whole-body.ts";

/** An event as it arrived. */
export interface Got {
  path: string;
  id: string;
  timestamp: number;
  signatures: string[];
  body: string;
  event: { type: string; data: Record<string, unknown> };
}

type Answer = (res: ServerResponse, got: Got) => void;

export const accept: Answer = (res) => void res.writeHead(204).end();
export const refuse =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (res) =>
    void res.writeHead(status, headers).end(`status ${status}`);

/** A receiver of webhooks at a port of this machine. */
export class Receiver {
  readonly got: Got[] = [];
  answer: Answer = accept;
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  async up(): Promise<void> {
    this.#server = createServer((req, res) => void this.#serve(req, res));
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on("error", () => undefined);
    const body = (await wholeBody(req))?.toString();
    if (body === undefined) return;
    const header = (name: string) => String(req.headers[name] ?? "");
    const got = {
      path: req.url ?? "",
      id: header("webhook-id"),
      timestamp: Number(header("webhook-timestamp")),
      signatures: header("webhook-signature").split(" "),
      body,
      event: JSON.parse(body),
    };
    this.got.push(got);
    this.answer(res, got);
  }

  /** The ids of the runs of which this type arrived, in order. */
  runs(type = "run.completed"): unknown[] {
    return this.got.filter(({ event }) => event.type === type).map(({ event }) => event.data.run);
  }
}

/** Whether one of the signatures of an event is by this secret, as Standard Webhooks 1.0 has it. */
export function isSignedBy(secret: string, { id, timestamp, signatures, body }: Got): boolean {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return signatures.includes(`v1,${mac}`);
}
