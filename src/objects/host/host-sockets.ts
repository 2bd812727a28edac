import type { LineNote } from "../../core/worker/host/host-socket.ts";
import { DroverError, type ErrorCode, notKnown, STATUS_OF_CODE } from "../../shared/errors.ts";
import { CLOSE_CODES_FROM, MAX_REPORT_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { claimOf } from "../../signing/claim.ts";
import { CHALLENGE, type Session, sealed, unsealed } from "../../signing/frame.ts";
import { droverNow } from "../clock.ts";
import type { Refused, SocketRefusal } from "../rpc.ts";
import type { HostDoor } from "./host-auth.ts";
import type { HostSocket } from "./host-line.ts";

/** What hosts send to show that they live, and what the platform answers without waking the object. */
export const PING = "ping";
const PONG = "pong";

/** Sockets on which the host has not said a word. More may be asked for by who has seen a request for one. */
const MAX_SILENT_SOCKETS = 4;
/** The first line of a frame, which says whose it is. */
const MAX_LINE_BYTES = 64;

/** What the platform keeps with a socket while the object is evicted. */
interface Attached {
  session: Session;
  openedAt: Instant;
  note: LineNote | null;
}

/** The sockets of an object's host that are open. */
export function socketsOf(ctx: DurableObjectState): HostSocket[] {
  return openSockets(ctx).map((socket) => hostSocket(ctx, socket));
}

function openSockets(ctx: DurableObjectState): WebSocket[] {
  return ctx.getWebSockets().filter((socket) => socket.readyState === WebSocket.OPEN);
}

/** A socket as the line knows it. */
export function hostSocket(ctx: DurableObjectState, socket: WebSocket): HostSocket {
  return {
    send: (text) => attempt(() => say(socket, text)),
    close: (code, reason) => attempt(() => socket.close(code, reason)),
    heardAt: () => ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? null,
    note: () => attached(socket).note,
    keep: (note) => attach(socket, { ...attached(socket), note }),
  };
}

function attached(socket: WebSocket): Attached {
  // It is only ever what `attach` has attached.
  return socket.deserializeAttachment() as Attached;
}

function attach(socket: WebSocket, what: Attached): void {
  socket.serializeAttachment(what);
}

/** A socket that has just been closed by the other side takes nothing: the host comes again. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // See above.
  }
}

function say(socket: WebSocket, text: string): void {
  const { session, ...rest } = attached(socket);
  attach(socket, { ...rest, session: { ...session, next: session.next + 1 } });
  socket.send(sealed(session.key, "plane", session.next, text));
}

/**
 * What the host has said by a frame. Undefined if it is not the host's, or not the one that comes next: then
 * the socket is closed, and nothing follows from that.
 */
export function heard(socket: WebSocket, frame: string | ArrayBuffer): string | undefined {
  if (isTooLong(frame)) return end(socket, "body_too_large", "the frame is too long, or no text");
  const { session, ...rest } = attached(socket);
  const text = unsealed(session.key, "host", session.awaited, frame);
  if (text === undefined) return end(socket, "bad_signature", "this is not the next frame of its host");
  attach(socket, { ...rest, session: { ...session, awaited: session.awaited + 1 } });
  return text;
}

function end(socket: WebSocket, code: ErrorCode, reason: string): undefined {
  attempt(() => socket.close(CLOSE_CODES_FROM + STATUS_OF_CODE[code], reason));
}

/** Whether it is longer than the body of a call may be, or no text. It is looked at before anything else. */
function isTooLong(frame: string | ArrayBuffer): frame is ArrayBuffer {
  if (typeof frame !== "string") return true;
  const most = MAX_REPORT_BYTES + MAX_LINE_BYTES;
  // In UTF-8 no text has fewer bytes than it has characters here, nor more than three times as many.
  return frame.length > most || (frame.length * 3 > most && new TextEncoder().encode(frame).length > most);
}

/**
 * Answers the request for a socket: 101 and a challenge, after which the host must speak first. A refusal has
 * a
 * status, and says the rest to the edge, which renders it: errors lose their properties on the way of
 * `fetch`.
 */
export async function upgrade(
  ctx: DurableObjectState,
  request: Request,
  worker: string,
  door: Pick<HostDoor, "session">,
): Promise<Response> {
  const claim = claimOf(request, "socket", worker);
  if (claim === undefined) return refusal({ refused: notKnown() });
  const challenge = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  try {
    const answered = await door.session(claim, challenge);
    if ("refused" in answered) return refusal(answered);
    return open(ctx, answered.value, challenge);
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
  say(server, challenge);
  return new Response(null, { status: 101, webSocket: client });
}

/** Makes room for a socket by closing the oldest of those on which nobody has spoken. */
function closeSilent(ctx: DurableObjectState): void {
  const silent = openSockets(ctx)
    .filter((socket) => attached(socket).note === null)
    .sort((a, b) => attached(a).openedAt - attached(b).openedAt);
  for (const socket of silent.slice(0, Math.max(0, silent.length + 1 - MAX_SILENT_SOCKETS))) {
    socket.close(CLOSE_CODES_FROM + 408, "too many sockets on which nothing is said");
  }
}

function refusal({ refused: { code, message, retryAfterMs }, ...rest }: SocketRefusal): Response {
  const refused: Refused = { code, message, retryAfterMs };
  return Response.json({ ...rest, refused } satisfies SocketRefusal, { status: STATUS_OF_CODE[code] });
}
