import type { HostFrame, Orders, Report } from "../../../src/schema/host.ts";
import { sign, type TestHost } from "./host.ts";
import { bindings, eventually } from "./world.ts";

/** The code and reason that a socket was closed with. */
interface Closed {
  code: number;
  reason: string;
}

/** The host's end of a socket, made of a test. */
export class SocketHost {
  readonly frames: HostFrame[] = [];
  readonly pongs: string[] = [];
  closed: Closed | undefined;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.accept();
    socket.addEventListener("message", ({ data }) => {
      if (data === "pong") this.pongs.push(data);
      else this.frames.push(JSON.parse(String(data)));
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
    });
  }

  send(report: Report | string): void {
    this.#socket.send(typeof report === "string" ? report : JSON.stringify(report));
  }

  close(): void {
    this.#socket.close();
  }

  /** The next orders for which this holds, remembered or to come. */
  orders(which: (orders: Orders) => boolean): Promise<Orders> {
    const isOrders = (frame: HostFrame): frame is Orders => "revision" in frame;
    return eventually(() => this.frames.filter(isOrders).find(which));
  }

  asked(): Promise<true> {
    return eventually(() => this.frames.some((frame) => "ask" in frame) || undefined);
  }

  /** Reports, and waits for the answer. */
  async report(host: TestHost, more: Partial<Report> = {}): Promise<Orders> {
    const report = host.next(more);
    this.send(report);
    return this.orders(({ answers }) => answers >= report.seq);
  }
}

/** Asks a worker's object for a socket, as the edge does. */
export async function askForSocket(worker: string, secret?: string): Promise<Response> {
  const { id, timestamp, signature } = await sign("", secret === undefined ? {} : { secret });
  const headers = {
    upgrade: "websocket",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signature,
  };
  const stub = bindings.CLOUD_WORKER.getByName(worker);
  return stub.fetch(new Request(`http://drover.test/v1/hosts/${worker}/socket`, { headers }));
}

export async function openSocket(worker: string): Promise<SocketHost> {
  const { webSocket } = await askForSocket(worker);
  if (webSocket === null) throw new Error("the worker gave no socket");
  return new SocketHost(webSocket);
}
