// How does the client open the WebSocket of a tunnel?
import { Agent as PlainAgent } from "node:http";
import { Socket as TcpSocket } from "node:net";
import type { RawData, WebSocket } from "ws";
import { loopbackAddress } from "../../src/shared/proof.ts";
import { errorOf, StrangerError, UnreachableError } from "../errors.ts";
import { type Call, type Target, urlOf } from "../transport/http.ts";
import { connectProven } from "../transport/proven-connection.ts";

/** How long the handshake may take. */
const HANDSHAKE_MS = 30_000;
/** How often to ask whether the other side is there. The platform answers without waking anything. */
const BEAT_MS = 10_000;
/** The largest refusal. */
const MAX_REFUSAL_BYTES = 64 * 1024;

export interface TunnelSocket {
  send(text: string): void;
  /** Passes frames on from now on, and those that have come already. */
  listen(): void;
  close(): void;
}

/** What is heard on a socket. `closed` is called once, unless this side has closed it. */
export interface Listener {
  frame(text: string): void;
  closed(code: number, reason: string): void;
}

/**
 * Opens a socket for a call. Rejects with the `ApiError` of a refusal, with an `UnreachableError`, or with a
 * `StrangerError`, and then nothing was sent.
 */
export async function openTunnelSocket(
  target: Target,
  call: Call,
  { frame, closed }: Listener,
): Promise<TunnelSocket> {
  const { default: Socket } = await import("ws");
  const url = urlOf(target, call);
  const socket = new Socket(url.replace(/^http/, "ws"), {
    headers: {
      authorization: `Bearer ${target.token}`,
      "user-agent": target.userAgent,
      ...(target.project === undefined ? {} : { "drover-project": target.project }),
    },
    ...provenAgent(target),
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
  });
  let isAnswering = true;
  // The first frame can come with the answer to the handshake, before anybody can listen.
  let early: string[] | undefined = [];
  socket.on("message", (data: RawData) => {
    isAnswering = true;
    const text = data.toString();
    if (text === "pong") return;
    if (early === undefined) frame(text);
    else early.push(text);
  });
  await opened(socket, target);
  const beat = setInterval(() => {
    if (!isAnswering) return socket.terminate();
    isAnswering = false;
    socket.send("ping");
  }, BEAT_MS).unref();
  socket.once("close", (code, reason) => {
    clearInterval(beat);
    closed(code, reason.toString());
  });
  return {
    send: (text) => socket.send(text),
    listen() {
      for (const text of early ?? []) frame(text);
      early = undefined;
    },
    close() {
      socket.removeAllListeners("close");
      clearInterval(beat);
      socket.close();
    },
  };
}

function opened(socket: WebSocket, target: Target): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve());
    // The listener stays: a socket that breaks emits an error before its close.
    socket.on("error", (error) => {
      reject(error instanceof StrangerError ? error : new UnreachableError(target.url, error));
    });
    socket.once("unexpected-response", (request, response) => {
      let text = "";
      const done = () => {
        request.destroy();
        const headers = new Headers();
        for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
        errorOf(new Response(text, { status: response.statusCode ?? 500, headers })).then(reject, reject);
      };
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        if (text.length < MAX_REFUSAL_BYTES) text += part;
      });
      response.once("close", done);
    });
  });
}

/** On loopback, where no certificate identifies a Drover, each connection is proven first. */
function provenAgent({ url, token }: Target): { agent?: PlainAgent } {
  const address = loopbackAddress(url);
  return address === undefined ? {} : { agent: new ProvenAgent(address, token) };
}

class ProvenAgent extends PlainAgent {
  readonly #address: string;
  readonly #token: string;

  constructor(address: string, token: string) {
    super();
    this.#address = address;
    this.#token = token;
  }

  override createConnection(
    _options: object,
    done: (error: Error | null, socket: TcpSocket) => void = () => undefined,
  ): undefined {
    connectProven(this.#address, this.#token).then(
      // It is paused after the proof; the other side says nothing before the request.
      (socket) => done(null, socket.resume()),
      (error) => done(error, new TcpSocket()),
    );
  }
}
