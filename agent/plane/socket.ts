// How does the agent open a WebSocket, and notice when it is dead?
import type { Agent as PlainAgent } from "node:http";
import WebSocket from "ws";
import type { Millis } from "../../src/shared/machine.ts";
import { type Answer, readAnswer } from "./http.ts";
import { safeUrl } from "./safe-url.ts";

/** The largest frame of a control plane. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
/** A socket is dead after this many heartbeats without an answer, but not before `SILENT_AT_LEAST_MS`. */
const SILENT_BEATS = 3;
const SILENT_AT_LEAST_MS: Millis = 10_000;
const NORMAL_CLOSE = 1_000;
/** The largest refusal of a control plane. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** An open socket. */
export interface OpenSocket {
  send(text: string): void;
  /** Closes the socket; `closed` is called. */
  hangUp(): void;
}

export interface SocketOptions {
  url: string;
  headers: Record<string, string>;
  /** Opens the connections for `http:`, where no certificate proves the server. */
  agent: PlainAgent;
  /** How often to send `ping`, which the platform answers by itself. */
  heartbeatMs: Millis;
  /** How long the handshake may take. */
  withinMs: Millis;
  frame(text: string): void;
  /** Called once, when the open socket is closed by either side. */
  closed(code: number, reason: string): void;
}

/** The server has answered a request for a socket with something else. */
export class NoSocket extends Error {
  override readonly name = "NoSocket";
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`no socket, but status ${answer.status}`);
    this.answer = answer;
  }
}

/** Opens a socket. Rejects with `NoSocket`, or with the connection's error. */
export function openSocket(options: SocketOptions): Promise<OpenSocket> {
  const { url, headers, withinMs, agent } = options;
  const target = safeUrl(url);
  const socket = new WebSocket(target, {
    headers,
    ...(target.protocol === "https:" || target.protocol === "wss:" ? {} : { agent }),
    handshakeTimeout: withinMs,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    // A frame whose text is damaged does not have the signature that it names.
    skipUTF8Validation: true,
  });
  return new Promise((resolve, reject) => {
    socket.once("unexpected-response", (request, response) => {
      const late = setTimeout(() => request.destroy(), withinMs);
      readAnswer(response, MAX_REFUSAL_BYTES)
        .then((answer) => reject(new NoSocket(answer)), reject)
        .finally(() => {
          clearTimeout(late);
          request.destroy();
        });
    });
    // This listener stays after the opening: a socket that breaks emits an error before its close.
    socket.on("error", reject);
    socket.once("open", () => resolve(attend(socket, options)));
  });
}

function attend(socket: WebSocket, { heartbeatMs, frame, closed }: SocketOptions): OpenSocket {
  const silentMs = Math.max(SILENT_BEATS * heartbeatMs, SILENT_AT_LEAST_MS);
  const silence = setTimeout(() => socket.terminate(), silentMs);
  const beat = setInterval(() => socket.send("ping"), heartbeatMs);
  socket.on("message", (data, isBinary) => {
    silence.refresh();
    const text = isBinary ? "" : data.toString();
    if (text !== "pong" && text !== "") frame(text);
  });
  socket.once("close", (code, reason) => {
    clearTimeout(silence);
    clearInterval(beat);
    closed(code, reason.toString());
  });
  socket.send("ping");
  return { send: (text) => socket.send(text), hangUp: () => hangUp(socket) };
}

/** Closes a socket at once. The other side may be dead, so its close frame is not awaited. */
function hangUp(socket: WebSocket): void {
  socket.close(NORMAL_CLOSE);
  socket.terminate();
}
