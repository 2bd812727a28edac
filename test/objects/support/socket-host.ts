import type { HostFrame, Orders, Report } from "../../../src/schema/host.ts";
import {
  CHALLENGE,
  challengeIn,
  type Session,
  sealed,
  sessionKey,
  unsealed,
} from "../../../src/signing/frame.ts";
import { EMPTY_DIGEST, type Key, keyOf } from "../../../src/signing/mac.ts";
import type { ClaimedRequest } from "../../../src/signing/request.ts";
import { claim, headersOf, type Signing, type TestHost } from "./host.ts";
import { bindings, eventually } from "./world.ts";

/** The code and reason with which a socket was closed. */
interface Closed {
  code: number;
  reason: string;
}

/** The host's end of a socket, played by a test. */
export class SocketHost {
  readonly frames: HostFrame[] = [];
  readonly pongs: string[] = [];
  closed: Closed | undefined;
  readonly #socket: WebSocket;
  readonly #session: Promise<Session>;
  /** Frames are sent in order, after the challenge. */
  #sent: Promise<void>;

  constructor(socket: WebSocket, key: Key, signature: string) {
    this.#socket = socket;
    let session: Session | undefined;
    this.#session = new Promise((resolve) => {
      socket.addEventListener("message", ({ data }) => {
        if (data === "pong") return void this.pongs.push(data);
        const frame = String(data);
        session ??= {
          key: sessionKey(key, signature, challengeIn(frame) ?? ""),
          next: 0,
          awaited: CHALLENGE,
        };
        const body = unsealed(session.key, "plane", session.awaited, frame);
        if (body === undefined) throw new Error(`no frame of the control plane: ${frame}`);
        if (session.awaited > CHALLENGE) this.frames.push(JSON.parse(body));
        session.awaited += 1;
        resolve(session);
      });
    });
    this.#sent = this.#session.then(() => undefined);
    socket.accept();
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
    });
  }

  send(report: Report | string): void {
    if (report === "ping") {
      this.#socket.send(report);
      return;
    }
    const body = typeof report === "string" ? report : JSON.stringify(report);
    this.#sent = this.#sent.then(async () => {
      const session = await this.#session;
      this.#socket.send(sealed(session.key, "host", session.next, body));
      session.next += 1;
    });
  }

  /** Sends bytes that no host would send. */
  sendRaw(frame: string): void {
    this.#socket.send(frame);
  }

  close(): void {
    this.#socket.close();
  }

  /** The next orders for which this holds, whether remembered or still to come. */
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
export async function askForSocket(host: TestHost, more: Signing = {}): Promise<[Response, ClaimedRequest]> {
  const { worker } = host.identity;
  const call = claim(EMPTY_DIGEST, host.identity, { purpose: "socket", method: "GET", ...more });
  const headers = { upgrade: "websocket", ...headersOf(call) };
  const stub = bindings.CLOUD_WORKER.getByName(worker);
  const request = new Request(`http://drover.test/v1/hosts/${worker}/socket`, { headers });
  return [await stub.fetch(request), call];
}

/** The socket of a host. */
export async function openSocket(host: TestHost): Promise<SocketHost> {
  const [{ webSocket }, { signature }] = await askForSocket(host);
  if (webSocket === null) throw new Error("the worker gave no socket");
  return new SocketHost(webSocket, keyOf(host.identity.secret), signature);
}
