// Which events do the frames of a socket, and its end, become (host-protocol.md#exchange)?
import type { HostFrame } from "../../src/schema/host.ts";
import { errorText } from "../../src/shared/words.ts";
import { EXCHANGE_TIMEOUT_MS } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import type { HostMessage } from "../core/messages.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";
import { ordersFrom, staleIf } from "./exchange.ts";
import type { OpenSocket } from "./socket.ts";

/** An event from a socket. `failure`: why the socket is not usable. */
export interface SocketEvent {
  event: HostEvent;
  failure?: string | undefined;
}

/**
 * The exchange over a socket. Frames become events, and the end of the socket becomes one event. The machine
 * decides whether and when to open another.
 */
export class SocketExchange {
  readonly #tell: (notice: SocketEvent) => void;
  #socket: OpenSocket | undefined;

  /** Begins to open the socket. */
  constructor(
    plane: ControlPlane,
    { to, heartbeatMs }: Extract<HostMessage, { kind: "connect" }>,
    tell: (notice: SocketEvent) => void,
  ) {
    this.#tell = tell;
    const frame = (text: string) => this.#frame(text);
    // Anyone on the path can close a socket with any code; only a sealed frame can give the reason.
    const closed = (_code: number, reason: string) => this.#ended(0, reason);
    plane.openSocket({ url: to, heartbeatMs, withinMs: EXCHANGE_TIMEOUT_MS, frame, closed }).then(
      (socket) => {
        this.#socket = socket;
        tell({ event: { type: "socket_opened" } });
      },
      (error: unknown) => this.#ended(error instanceof Refusal ? error.status : 0, errorText(error)),
    );
  }

  send(text: string): void {
    this.#socket?.send(text);
  }

  hangUp(): void {
    this.#socket?.hangUp();
  }

  #frame(text: string): void {
    const event = eventOf(text);
    if (event === undefined) this.hangUp();
    else this.#tell({ event, failure: event.type === "stale" ? event.reason : undefined });
  }

  #ended(status: number, reason: string): void {
    this.#socket = undefined;
    const closed: HostEvent = { type: "socket_closed", random: Math.random() };
    this.#tell({ event: staleIf(status, reason) ?? closed, failure: reason || "the socket was closed" });
  }
}

/** The event of a frame; undefined if the frame is not valid. */
function eventOf(text: string): HostEvent | undefined {
  try {
    const frame = JSON.parse(text) as HostFrame; // checked right below, as far as it is relied on
    if ("ask" in frame) return { type: "full_requested" };
    // A refusal that does not end the agent ends the socket, which closes right after.
    if ("refused" in frame) return staleIf(Number(frame.refused.status), String(frame.refused.detail));
    const orders = ordersFrom(frame);
    return { type: "orders", seq: orders.answers, orders };
  } catch {
    return undefined;
  }
}
