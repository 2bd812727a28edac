// How the exchange runs over a socket: frames and its end become events (host-protocol.md#exchange).
import type { HostFrame } from "../../src/schema/host.ts";
import { errorText } from "../../src/shared/words.ts";
import { EXCHANGE_TIMEOUT_MS } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import type { HostMessage } from "../core/messages.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";
import { ordersFrom, staleIf } from "./exchange.ts";
import type { Line } from "./socket.ts";

/** An event from a line. `failure`: why it is not open. */
export interface Heard {
  event: HostEvent;
  failure?: string | undefined;
}

/**
 * The exchange over a socket. Frames become events, and its end becomes one event. Whether and when to open
 * another is decided by the machine.
 */
export class ControlLine {
  readonly #tell: (heard: Heard) => void;
  #line: Line | undefined;

  /** Starts to open it. */
  constructor(
    plane: ControlPlane,
    { to, heartbeatMs }: Extract<HostMessage, { kind: "connect" }>,
    tell: (heard: Heard) => void,
  ) {
    this.#tell = tell;
    const frame = (text: string) => this.#frame(text);
    // Anyone on the path can close a socket with any code; only a sealed frame can give the reason.
    const closed = (_code: number, reason: string) => this.#ended(0, reason);
    plane.openLine({ url: to, heartbeatMs, withinMs: EXCHANGE_TIMEOUT_MS, frame, closed }).then(
      (line) => {
        this.#line = line;
        tell({ event: { type: "line_opened" } });
      },
      (error: unknown) => this.#ended(error instanceof Refusal ? error.status : 0, errorText(error)),
    );
  }

  send(text: string): void {
    this.#line?.send(text);
  }

  hangUp(): void {
    this.#line?.hangUp();
  }

  #frame(text: string): void {
    const event = eventOf(text);
    if (event === undefined) this.hangUp();
    else this.#tell({ event, failure: event.type === "stale" ? event.reason : undefined });
  }

  #ended(status: number, reason: string): void {
    this.#line = undefined;
    const closed: HostEvent = { type: "line_closed", random: Math.random() };
    this.#tell({ event: staleIf(status, reason) ?? closed, failure: reason || "the socket was closed" });
  }
}

/** The event of a frame; undefined if the frame is not valid. */
function eventOf(text: string): HostEvent | undefined {
  try {
    const frame = JSON.parse(text) as HostFrame; // checked right below, as far as it is relied on
    if ("ask" in frame) return { type: "full_wanted" };
    // A refusal that does not end the agent ends the socket, which closes right after.
    if ("refused" in frame) return staleIf(Number(frame.refused.status), String(frame.refused.detail));
    const orders = ordersFrom(frame);
    return { type: "orders", seq: orders.answers, orders };
  } catch {
    return undefined;
  }
}
