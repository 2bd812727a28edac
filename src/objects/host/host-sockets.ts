// How are a host's sockets opened, authenticated and kept on the platform?
import type { SocketAttachment } from "../../core/worker/host/host-socket.ts";
import { DroverError, type ErrorCode, notKnown, STATUS_OF_CODE } from "../../shared/errors.ts";
import { CLOSE_CODES_FROM, MAX_REPORT_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { claimOf } from "../../signing/claim.ts";
import { CHALLENGE, type Session, sealed, unsealed } from "../../signing/frame.ts";
import { droverNow, fromPlatform } from "../clock.ts";
import type { Refused, SocketRefusal } from "../rpc.ts";
import type { HostAuth } from "./host-auth.ts";
import type { HostSocket } from "./host-socket-session.ts";
import { isClient } from "./relay.ts";

/** Heartbeats, which the platform answers without waking the object. */
export const PING = "ping";
const PONG = "pong";

/**
 * The most sockets without a frame of the host: anybody who has seen a socket request can repeat the request.
 */
const MAX_SILENT_SOCKETS = 4;
/** Bytes for the first line of a frame, which authenticates the frame. */
const MAX_LINE_BYTES = 64;

/** What the platform keeps with a socket while the object is evicted. */
interface Attachment {
  session: Session;
  openedAt: Instant;
  note: SocketAttachment | null;
}

/** The open sockets of the object's host. */
export function socketsOf(ctx: DurableObjectState): HostSocket[] {
  return openSockets(ctx).map((socket) => hostSocket(ctx, socket));
}

function openSockets(ctx: DurableObjectState): WebSocket[] {
  const isHosts = (socket: WebSocket) => socket.readyState === WebSocket.OPEN && !isClient(ctx, socket);
  return ctx.getWebSockets().filter(isHosts);
}

/** A socket for the exchange. */
export function hostSocket(ctx: DurableObjectState, socket: WebSocket): HostSocket {
  return {
    send: (text) => ignoreClosed(() => sendFrame(socket, text)),
    close: (code, reason) => ignoreClosed(() => socket.close(code, reason)),
    heardAt: () => {
      const at = ctx.getWebSocketAutoResponseTimestamp(socket);
      return at === null ? null : fromPlatform(at.getTime());
    },
    note: () => attachmentOf(socket).note,
    keep: (note) => attach(socket, { ...attachmentOf(socket), note }),
  };
}

function attachmentOf(socket: WebSocket): Attachment {
  // Only `attach` sets this.
  return socket.deserializeAttachment() as Attachment;
}

function attach(socket: WebSocket, what: Attachment): void {
  socket.serializeAttachment(what);
}

/** Ignores errors: the other side may just have closed the socket, and the host will connect again. */
function ignoreClosed(act: () => void): void {
  try {
    act();
  } catch {
    // see above
  }
}

function sendFrame(socket: WebSocket, text: string): void {
  const { session, ...rest } = attachmentOf(socket);
  attach(socket, { ...rest, session: { ...session, next: session.next + 1 } });
  socket.send(sealed(session.key, "plane", session.next, text));
}

/**
 * The text of a frame. Undefined: the frame is not the host's next frame. Then the socket closes, and nothing
 * else happens.
 */
export function receiveFrame(socket: WebSocket, frame: string | ArrayBuffer): string | undefined {
  if (isTooLong(frame)) return end(socket, "body_too_large", "the frame is too long, or is not text");
  const { session, ...rest } = attachmentOf(socket);
  const text = unsealed(session.key, "host", session.awaited, frame);
  if (text === undefined) return end(socket, "bad_signature", "this is not the next frame of its host");
  attach(socket, { ...rest, session: { ...session, awaited: session.awaited + 1 } });
  return text;
}

function end(socket: WebSocket, code: ErrorCode, reason: string): undefined {
  ignoreClosed(() => socket.close(CLOSE_CODES_FROM + STATUS_OF_CODE[code], reason));
}

/** Whether a frame is binary, or longer than a call's body may be. Checked before anything else. */
function isTooLong(frame: string | ArrayBuffer): frame is ArrayBuffer {
  if (typeof frame !== "string") return true;
  const most = MAX_REPORT_BYTES + MAX_LINE_BYTES;
  // Each UTF-16 unit of a text takes between one and three bytes in UTF-8.
  return frame.length > most || (frame.length * 3 > most && new TextEncoder().encode(frame).length > most);
}

/**
 * Answers the request for a socket: 101 and a challenge, after which the host must send the first frame. A
 * refusal has an error status, and a body for the edge to render: errors lose their properties on the way
 * through `fetch`.
 */
export async function upgrade(
  ctx: DurableObjectState,
  request: Request,
  worker: string,
  auth: Pick<HostAuth, "session">,
): Promise<Response> {
  const claim = claimOf(request, "socket", worker);
  if (claim === undefined) return refusal({ refused: notKnown() });
  const challenge = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  try {
    const answer = await auth.session(claim, challenge);
    if ("refused" in answer) return refusal(answer);
    return open(ctx, answer.value, challenge);
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    return refusal({ refused: error });
  }
}

function open(ctx: DurableObjectState, key: string, challenge: string): Response {
  closeSilent(ctx);
  const { 0: client, 1: server } = new WebSocketPair();
  ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  ctx.acceptWebSocket(server);
  attach(server, { session: { key, next: CHALLENGE, awaited: 0 }, openedAt: droverNow(), note: null });
  sendFrame(server, challenge);
  return new Response(null, { status: 101, webSocket: client });
}

/** Makes room for a socket by closing the oldest sockets without a frame. */
function closeSilent(ctx: DurableObjectState): void {
  const silent = openSockets(ctx)
    .filter((socket) => attachmentOf(socket).note === null)
    .sort((a, b) => attachmentOf(a).openedAt - attachmentOf(b).openedAt);
  for (const socket of silent.slice(0, Math.max(0, silent.length + 1 - MAX_SILENT_SOCKETS))) {
    socket.close(CLOSE_CODES_FROM + 408, "too many silent sockets");
  }
}

function refusal({ refused: { code, message, retryAfterMs }, ...rest }: SocketRefusal): Response {
  const refused: Refused = { code, message, retryAfterMs };
  return Response.json({ ...rest, refused } satisfies SocketRefusal, { status: STATUS_OF_CODE[code] });
}
