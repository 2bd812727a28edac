// How do frames pass between the clients of tunnels and the host (tunnels.md#relay)?
import { z } from "zod";
import { isOrdered } from "../../core/worker/placements.ts";
import type { TunnelEnvelope, TunnelOpening } from "../../schema/host.ts";
import { jsonOf } from "../../schema/json.ts";
import { DroverError, STATUS_OF_CODE } from "../../shared/errors.ts";
import { CLOSE_CODES_FROM } from "../../shared/limits.ts";
import { type ClientEnd, clientEndIn } from "../../shared/tunnel/client-end.ts";
import { MAX_TUNNEL_FRAME_CHARS, type RelayFrame } from "../../shared/tunnel/frames.ts";
import type { WorkerActor } from "./exchange.ts";
import type { HostPace } from "./host-pace.ts";
import type { HostSocket, HostSocketSession } from "./host-socket-session.ts";

const Envelope = z.strictObject({ tunnel: z.string(), frame: z.string() });

/** The most clients that are connected to one worker. */
const MAX_CLIENTS = 64;
/** Tags a client's socket with its tunnel. A host's socket has no tag. */
const TAG = "tunnel:";

/** The frame for a tunnel in a host's text; undefined: the text is something else, such as a report. */
function envelopeIn(text: string): TunnelEnvelope | undefined {
  if (!text.startsWith('{"tunnel":')) return undefined;
  const { data } = Envelope.safeParse(jsonOf(text));
  return data;
}

/**
 * Passes frames on, and stores nothing: what a tunnel is lives on the host, and which clients there are is
 * told by their sockets, which outlive the object's memory. A frame for a side that is not connected is
 * dropped, since both sides say on each new connection how far they have heard.
 */
export class Relay {
  readonly #ctx: DurableObjectState;
  readonly #actor: WorkerActor;
  readonly #session: HostSocketSession;
  readonly #pace: HostPace;

  constructor(ctx: DurableObjectState, actor: WorkerActor, session: HostSocketSession, pace: HostPace) {
    this.#ctx = ctx;
    this.#actor = actor;
    this.#session = session;
    this.#pace = pace;
    actor.watch(() => this.#closeOver());
  }

  /**
   * Opens the client's end that a request asks for; undefined: it asks for something else. A newer client of
   * a tunnel replaces an older one.
   */
  open(request: Request): Response | undefined {
    const end = clientEndIn(request);
    if (end === undefined) return undefined;
    this.#session.listen();
    if (!this.#isOrdered(end.attempt)) return refusal(new DroverError("not_running", OVER));
    for (const older of this.#clientsOf(end.tunnel)) close(older, "busy", "the tunnel has a newer client");
    if (this.#clients().length >= MAX_CLIENTS) {
      const text = `${MAX_CLIENTS} tunnels lead to this machine, and more are not possible`;
      return refusal(new DroverError("busy", text, { retryAfterMs: 10_000 }));
    }
    const retryAfterMs = this.#pace.clientFrame();
    if (retryAfterMs > 0) return refusal(new DroverError("busy", TOO_FAST, { retryAfterMs }));
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server, [`${TAG}${end.tunnel}`]);
    server.serializeAttachment(end);
    this.#introduce(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Handles a frame of a client. False: the socket is not a client's. */
  fromClient(socket: WebSocket, frame: string | ArrayBuffer): boolean {
    if (!isClient(this.#ctx, socket)) return false;
    if (typeof frame !== "string" || frame.length > MAX_TUNNEL_FRAME_CHARS) {
      close(socket, "body_too_large", "the frame is too long, or is not text");
    } else if (this.#pace.clientFrame() > 0) {
      close(socket, "unavailable", TOO_FAST);
    } else if (!this.#toHost({ tunnel: endOf(socket).tunnel, frame })) {
      say(socket, { t: "host", connected: false });
    }
    return true;
  }

  /** Handles a frame of the host for a tunnel. False: the text is something else. */
  fromHost(host: HostSocket, text: string): boolean {
    const envelope = host.note() === null ? undefined : envelopeIn(text);
    if (envelope === undefined) return false;
    if (!this.#session.passes(host, () => this.#pace.frame(text.length))) return true;
    for (const socket of this.#clientsOf(envelope.tunnel)) {
      ignoreClosed(() => socket.send(envelope.frame));
    }
    return true;
  }

  /** The host has opened a socket: it is told which clients there are. */
  hostOpened(): void {
    for (const socket of this.#clients()) this.#introduce(socket);
  }

  /** Closes the tunnels whose attempts are over. */
  #closeOver(): void {
    for (const socket of this.#clients()) {
      if (!this.#isOrdered(endOf(socket).attempt)) close(socket, "terminal", OVER);
    }
  }

  /** Makes a client and the host known to each other. */
  #introduce(socket: WebSocket): void {
    const { tunnel, attempt, kind } = endOf(socket);
    say(socket, { t: "host", connected: this.#toHost({ tunnel, open: { attempt, kind } }) });
  }

  #toHost(envelope: TunnelEnvelope | TunnelOpening): boolean {
    return this.#session.send(JSON.stringify(envelope));
  }

  /** Whether the host is to run this attempt now. */
  #isOrdered(attempt: string): boolean {
    const { state } = this.#actor;
    return state.record !== null && isOrdered({ ...state, record: state.record }, attempt);
  }

  #clients(): WebSocket[] {
    return this.#ctx.getWebSockets().filter((one) => isClient(this.#ctx, one) && isOpen(one));
  }

  #clientsOf(tunnel: string): WebSocket[] {
    return this.#ctx.getWebSockets(`${TAG}${tunnel}`).filter(isOpen);
  }
}

const TOO_FAST = "the tunnels to this machine get more frames than it can answer; connect again";
const OVER = "the task's command has ended, or is being stopped";

/** Whether a socket belongs to a client of a tunnel, and not to the host. */
export function isClient(ctx: DurableObjectState, socket: WebSocket): boolean {
  return ctx.getTags(socket).some((tag) => tag.startsWith(TAG));
}

function isOpen({ readyState }: WebSocket): boolean {
  return readyState === WebSocket.OPEN;
}

function endOf(socket: WebSocket): ClientEnd {
  // Only `open` sets this.
  return socket.deserializeAttachment() as ClientEnd;
}

function say(socket: WebSocket, frame: RelayFrame): void {
  ignoreClosed(() => socket.send(JSON.stringify(frame)));
}

function close(
  socket: WebSocket,
  code: "busy" | "terminal" | "body_too_large" | "unavailable",
  reason: string,
): void {
  ignoreClosed(() => socket.close(CLOSE_CODES_FROM + STATUS_OF_CODE[code], reason));
}

/** Ignores errors: the other side may just have closed the socket, and connects again. */
function ignoreClosed(act: () => void): void {
  try {
    act();
  } catch {
    // see above
  }
}

function refusal({ code, message, retryAfterMs, fields, extra }: DroverError): Response {
  const refused = { code, message, retryAfterMs, fields, extra };
  return Response.json({ refused }, { status: STATUS_OF_CODE[code] });
}
