// How does a host send reports and receive orders, by webhook or socket (host-protocol.md#exchange)?
import type { HostFrame, Orders, TunnelEnvelope, TunnelOpening } from "../../src/schema/host.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { MAX_STAMPS } from "../../src/shared/time/stamps.ts";
import { errorText } from "../../src/shared/words.ts";
import { EXCHANGE_TIMEOUT_MS, MAX_REPORT_STAMPS } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import type { MessageOf } from "../core/messages.ts";
import type { Streams } from "../exec/streams.ts";
import { say } from "../say.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";
import { shipLog } from "./log-chunks.ts";
import type { OpenSocket } from "./socket.ts";

/** Exit code of an agent that the control plane no longer accepts as this host. */
export const REFUSED_EXIT_CODE = 3;

/** A report whose answer is held back is aborted this long after a newer report was sent. */
const SUPERSEDED_MS: Millis = 1_000;

/**
 * The reports of a joined host. Each answer, each frame of the socket, and the end of the socket become
 * events. The state machine decides what to send and when, and whether to open another socket.
 */
export class Exchange {
  readonly plane: ControlPlane;
  readonly #streams: Streams;
  readonly #tunnels: Tunnels;
  readonly #tell: (event: HostEvent) => void;
  /** The report by webhook that waits for its answer. */
  #report: AbortController | undefined;
  #socket: OpenSocket | undefined;
  #reachable = true;

  constructor(
    plane: ControlPlane,
    { streams, tunnels }: { streams: Streams; tunnels: Tunnels },
    tell: (event: HostEvent) => void,
  ) {
    this.plane = plane;
    this.#streams = streams;
    this.#tunnels = tunnels;
    this.#tell = tell;
  }

  /**
   * Sends a report. If the answer to an older report is held back, that report is soon aborted: the new
   * report replaces it.
   */
  send(message: MessageOf<"report">): void {
    const older = this.#report;
    if (older !== undefined) setTimeout(() => older.abort(), SUPERSEDED_MS).unref();
    this.#report = undefined;
    if (message.by === "socket") this.#socket?.send(bodyOf(message, this.#streams));
    else void this.#post(message);
  }

  /** Opens the socket. */
  connect({ to, heartbeatMs }: MessageOf<"connect">): void {
    const frame = (text: string) => this.#frame(text);
    // Anyone on the network path can close the socket with any code, so the code is ignored. Only a sealed
    // frame can refuse this agent.
    const closed = (_code: number, reason: string) => this.#ended(0, reason);
    this.plane.openSocket({ url: to, heartbeatMs, withinMs: EXCHANGE_TIMEOUT_MS, frame, closed }).then(
      (socket) => {
        this.#socket = socket;
        this.#tunnels.connected((text) => socket.send(text));
        this.#heard({ type: "socket_opened" });
      },
      (error: unknown) => this.#ended(error instanceof Refusal ? error.status : 0, errorText(error)),
    );
  }

  /** Closes the socket. */
  hangUp(): void {
    this.#socket?.hangUp();
  }

  /** Uploads a chunk of a large log. */
  ship(message: MessageOf<"ship_log">): void {
    void shipLog(this.plane, message, this.#streams).then(this.#tell);
  }

  async #post(message: MessageOf<"report">): Promise<void> {
    const { seq, waitMs, to } = message;
    const report = new AbortController();
    this.#report = report;
    let event: HostEvent;
    let failure: string | undefined;
    try {
      const url = waitMs > 0 ? `${to}?wait=${waitMs}ms` : to;
      const answer = await this.plane.post(url, "report", bodyOf(message, this.#streams), report.signal);
      event = { type: "orders", seq, orders: ordersFrom(answer) };
    } catch (error) {
      // There is no event, because a newer report is on its way.
      if (report.signal.aborted) return;
      const { status = 0, retryAfterMs } = error instanceof Refusal ? error : {};
      const stale = staleIf(status, errorText(error));
      event = stale ?? { type: "report_failed", seq, random: Math.random(), retryAfterMs };
      failure = stale === undefined ? errorText(error) : undefined;
    }
    if (this.#report === report) this.#report = undefined;
    this.#heard(event, failure);
  }

  #frame(text: string): void {
    const frame = frameOf(text);
    if (frame !== undefined && "tunnel" in frame) {
      this.#tunnels.heard(frame);
      return;
    }
    const event = frame && eventOf(frame);
    if (event === undefined) this.hangUp();
    else this.#heard(event, event.type === "stale" ? event.reason : undefined);
  }

  #ended(status: number, reason: string): void {
    this.#socket = undefined;
    this.#tunnels.cut();
    const closed: HostEvent = { type: "socket_closed", random: Math.random() };
    this.#heard(staleIf(status, reason) ?? closed, reason || "the socket was closed");
  }

  /**
   * Passes on an event, and logs when the control plane is lost or found again. `failure`: why it is lost.
   */
  #heard(event: HostEvent, failure?: string): void {
    const reachable = failure === undefined;
    if (reachable !== this.#reachable) {
      say(reachable ? "the control plane answers again" : `cannot report, and keeps trying: ${failure}`);
    }
    this.#reachable = reachable;
    this.#tell(event);
  }
}

/** The event that ends the agent if `status` is 409 or 410; undefined for any other status. */
function staleIf(status: number, text: string): HostEvent | undefined {
  if (status !== 409 && status !== 410) return undefined;
  const reason = `the control plane no longer accepts this agent: ${text}`;
  return { type: "stale", code: REFUSED_EXIT_CODE, reason };
}

/** The text of a report as it is sent, with its log bytes. */
function bodyOf({ report, pieces }: MessageOf<"report">, streams: Streams): string {
  // The report belongs to the state machine, and stays as it is.
  const sent = pieces.length === 0 ? { ...report } : structuredClone(report);
  if (report.full) sent.date = Date.now(); // nothing here depends on this machine's date: it is only shown
  if (pieces.length === 0) return JSON.stringify(sent);
  const byId = new Map(sent.attempts.map((attempt) => [attempt.id, attempt]));
  const most = Math.min(MAX_STAMPS, Math.floor(MAX_REPORT_STAMPS / Math.max(1, pieces.length)));
  for (const { id, stream, from, bytes, startedAt } of pieces) {
    const log = byId.get(id)?.log;
    const piece = log?.[stream];
    if (log === undefined || piece === undefined) continue;
    const data = streams.read(id, stream, from, bytes);
    const stamps = streams.stampsOf(id, stream, { from, bytes: data.length, startedAt, most });
    log[stream] = { ...piece, from, data: data.toString("base64"), ...(stamps && { stamps }) };
  }
  return JSON.stringify(sent);
}

/** A frame of the control plane; undefined if it is not one. */
function frameOf(text: string): HostFrame | TunnelEnvelope | TunnelOpening | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    if (typeof frame !== "object" || frame === null) return undefined;
    return frame as HostFrame | TunnelEnvelope | TunnelOpening; // fields are checked where they are used
  } catch {
    return undefined;
  }
}

/** The event of a frame that is not for a tunnel; undefined if the frame is not valid. */
function eventOf(frame: HostFrame): HostEvent | undefined {
  try {
    if ("ask" in frame) return { type: "full_requested" };
    // Status 409 or 410 ends the agent; any other status ends only the socket.
    if ("refused" in frame) return staleIf(Number(frame.refused.status), String(frame.refused.detail));
    const orders = ordersFrom(frame);
    return { type: "orders", seq: orders.answers, orders };
  } catch {
    return undefined;
  }
}

/** Accepts orders only if they have the fields that the agent relies on. */
function ordersFrom(answer: unknown): Orders {
  // The fields that the agent relies on are checked below. A schema library would double the agent's memory.
  const orders = answer as Orders;
  const complete =
    Number.isInteger(orders?.incarnation) &&
    Number.isInteger(orders.revision) &&
    Number.isInteger(orders.answers) &&
    Array.isArray(orders.attempts) &&
    typeof orders.logs === "object" &&
    orders.logs !== null;
  if (!complete) throw new Error("The answer to a report is incomplete: is this the control plane?");
  return orders;
}
