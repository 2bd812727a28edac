import { DroverError, STATUS_OF_CODE } from "../core/errors.ts";
import type { LineNote } from "../core/worker/line.ts";
import type { HostSocket } from "./line.ts";
import type { SignedCall } from "./rpc.ts";

/** What hosts send to show that they live, and what the platform answers without waking the object. */
export const PING = "ping";
const PONG = "pong";

/** The sockets of an object's host that are open. */
export function socketsOf(ctx: DurableObjectState): HostSocket[] {
  return ctx
    .getWebSockets()
    .filter((socket) => socket.readyState === WebSocket.OPEN)
    .map((socket) => hostSocket(ctx, socket));
}

/** A socket as the line knows it. */
export function hostSocket(ctx: DurableObjectState, socket: WebSocket): HostSocket {
  return {
    send: (text) => attempt(() => socket.send(text)),
    close: (code, reason) => attempt(() => socket.close(code, reason)),
    heardAt: () => ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? null,
    // It is only ever what `keep` has attached.
    note: () => (socket.deserializeAttachment() ?? null) as LineNote | null,
    keep: (note) => socket.serializeAttachment(note),
  };
}

/** A socket that has just been closed by the other side takes nothing: the host comes again. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // See above.
  }
}

/**
 * Takes a host's request for a socket, after `admit` has let it in. What it throws is the answer, with a
 * status and `{code, message}` for the edge to render: errors lose their properties on the way of `fetch`.
 */
export async function upgrade(
  ctx: DurableObjectState,
  request: Request,
  admit: (call: SignedCall) => Promise<void>,
): Promise<{ answer: Response; socket?: HostSocket }> {
  try {
    await admit(signedRequest(request.headers));
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    const { code, message } = error;
    return { answer: Response.json({ code, message }, { status: STATUS_OF_CODE[code] }) };
  }
  const { 0: client, 1: server } = new WebSocketPair();
  ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  ctx.acceptWebSocket(server);
  return { answer: new Response(null, { status: 101, webSocket: client }), socket: hostSocket(ctx, server) };
}

/** The signed part of a request without a body. */
function signedRequest(headers: Headers): SignedCall {
  const [id, timestamp, signature] = ["id", "timestamp", "signature"].map(
    (name) => headers.get(`webhook-${name}`) ?? "",
  );
  return { id: id ?? "", timestamp: timestamp ?? "", signature: signature ?? "", body: "" };
}
