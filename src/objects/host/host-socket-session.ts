// How do reports and orders travel over a host's socket (host-protocol.md#socket)?
import type { Answer, Message } from "../../core/inbox.ts";
import {
  afterOrders,
  frameDue,
  isListening,
  isSettled,
  mayWait,
  NO_SIDE_NEWS,
  newAttachment,
  resumeSocket,
  type SocketAttachment,
  sideNews,
} from "../../core/worker/host/host-socket.ts";
import { workerInbox } from "../../core/worker/inbox.ts";
import { type ExistingWorker, undeliveredPlacements, type WorkerState } from "../../core/worker/state.ts";
import type { HostFrame, Report } from "../../schema/host.ts";
import { DroverError, STATUS_OF_CODE } from "../../shared/errors.ts";
import { CLOSE_CODES_FROM } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { receive } from "../messages/post.ts";
import { platformTimer, type Timer } from "../waiting.ts";
import { admit, existingWorker, type WorkerActor, waitingReports } from "./exchange.ts";

/** The longest reason in a close frame, in bytes (platform.md#sockets). */
const MAX_CLOSE_REASON = 123;
/** The status of a socket that a newer socket has replaced. */
const REPLACED = 408;
/** How long orders that may wait are gathered, so that they go out as one frame. */
const GATHER_MS = 10;
/** When frames are tried again that could not be sent, as when the disk was full. */
const TRY_AGAIN_MS = 1_000;
const OVER = "the worker has been terminated; shut this machine down";
const LATER_START = "a later start of this host's agent has taken over";

/** A host's socket as the platform keeps it. The simulator has another implementation. */
export interface HostSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** The last sign of life that the platform answered without waking the object. It is not authenticated. */
  heardAt(): Instant | null;
  /** The state kept with the socket while the object is evicted. Null: the host has sent no frame yet. */
  note(): SocketAttachment | null;
  keep(note: SocketAttachment): void;
}

/** Adds the state attached to the host's sockets to a loaded worker. */
export function resumeAll(state: WorkerState, sockets: HostSocket[]): WorkerState {
  return sockets.reduce((next, socket) => {
    const note = socket.note();
    return note === null ? next : resumeSocket(next, note, socket.heardAt());
  }, state);
}

/**
 * The exchange over a socket (host-protocol.md#socket): reports come in as frames; answers and changed orders
 * go out. After each event of the worker, the session sends the frames that are due, so that no order waits
 * for a report. Frames are derived from the state (`core/worker/host/host-socket.ts`), so a lost frame loses
 * nothing.
 */
export class HostSocketSession {
  readonly #actor: WorkerActor;
  readonly #sockets: () => HostSocket[];
  readonly #now: () => Instant;
  readonly #timer: Timer;
  /** The side news that this process sent last, and whether it has asked for a full report. */
  #side = NO_SIDE_NEWS;
  #hasAsked = false;
  #gathers = false;

  constructor(
    actor: WorkerActor,
    sockets: () => HostSocket[],
    now: () => Instant,
    timer: Timer = platformTimer,
  ) {
    this.#actor = actor;
    this.#sockets = sockets;
    this.#now = now;
    this.#timer = timer;
    actor.watch(() => this.#sendAllDue(false));
  }

  /**
   * Handles the host's first frame on a socket. The socket replaces all other sockets, which may be dead
   * already.
   */
  #opened(socket: HostSocket): void {
    for (const one of this.#sockets()) {
      if (one.note() !== null) close(one, REPLACED, "a newer socket is open");
    }
    socket.keep(newAttachment(this.#living(), this.#now()));
    this.#side = NO_SIDE_NEWS;
    this.#hasAsked = false;
  }

  /**
   * Handles a frame of the host. The socket closes unless the frame is a report from the agent's present
   * start. Whether this was the first report on the socket.
   */
  received(socket: HostSocket, read: () => Report): boolean {
    const isFirst = socket.note() === null;
    if (isFirst) this.#opened(socket);
    try {
      if (this.#living().record.phase === "gone") throw new DroverError("enrollment_over", OVER);
      const report = read();
      admit(this.#actor, report);
      const note = socket.note() ?? newAttachment(this.#living(), this.#now());
      socket.keep({ ...note, at: this.#now(), seq: Math.max(note.seq, report.seq) });
      if (report.full) this.#hasAsked = false;
      this.#actor.apply({ type: "report", report });
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      this.#refuse(socket, error);
      return false;
    }
    return isFirst;
  }

  /**
   * Refuses a frame or a whole socket, and records this in the worker. The socket is closed before the
   * refusal is recorded, since every event of the worker sends frames to all open sockets. The reason is sent
   * in a frame, because frames are authenticated: anybody on the path can close a socket.
   */
  #refuse(socket: HostSocket, { code, message }: DroverError): void {
    const refused: HostFrame = { refused: { status: STATUS_OF_CODE[code], detail: message } };
    socket.send(JSON.stringify(refused));
    close(socket, STATUS_OF_CODE[code], message);
    this.#actor.apply({ type: "refused_host", kind: code, reason: message });
  }

  /** Whether the host is connected and gets orders at once. */
  get listens(): boolean {
    if (this.#actor.state.record === null) return false;
    const notes = this.#sockets().flatMap((socket) => socket.note() ?? []);
    return notes.some((note) => isListening(this.#living(), note));
  }

  /** Applies a message of a pool or a run. An order is sent at once if the host is connected. */
  deliver(message: Message<"worker">): Answer<"worker"> {
    this.listen();
    if (message.type !== "order") return receive(workerInbox, this.#actor, message, this.#now());
    const listening = this.listens || waitingReports(this.#actor) > 0;
    const order = { ...message, body: { ...message.body, listening } };
    return receive(workerInbox, this.#actor, order, this.#now());
  }

  /** Whether the host may send a frame that is passed on. If `check` refuses it, the socket closes. */
  passes(socket: HostSocket, check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      this.#refuse(socket, error);
      return false;
    }
  }

  /** Sends a frame that is no order; whether the host has a socket, on which it has reported. */
  send(text: string): boolean {
    const open = this.#sockets().find((socket) => (socket.note()?.seq ?? 0) > 0);
    open?.send(text);
    return open !== undefined;
  }

  /** Asks the host for a full report on each socket. */
  askForAll(): void {
    for (const socket of this.#sockets()) if (socket.note() !== null) this.#ask(socket);
  }

  /** Notes signs of life. Call this before any decision that depends on when the host was last heard from. */
  listen(): void {
    const { record, memo } = this.#actor.state;
    const known = this.#sockets().filter((socket) => socket.note() !== null);
    const at = Math.max(...known.map((socket) => socket.heardAt() ?? 0));
    if (record !== null && at > (memo.lastReportAt ?? 0)) this.#actor.apply({ type: "heard", at });
  }

  #living(): ExistingWorker {
    return existingWorker(this.#actor, "of this socket");
  }

  /** Sends the frames that are due. `gathered`: also those that may wait. */
  #sendAllDue(gathered: boolean): void {
    if (this.#actor.state.record === null) return;
    const living = this.#living();
    for (const socket of this.#sockets()) this.#sendDue(socket, living, gathered);
  }

  /** If this process dies before it sends them, its sockets end, and the host says everything again. */
  #gather(forMs = GATHER_MS): void {
    if (this.#gathers) return;
    this.#gathers = true;
    this.#timer(forMs, () => {
      this.#gathers = false;
      try {
        this.#sendAllDue(true);
      } catch (error) {
        console.warn({ event: "frames_wait", error: String(error) });
        this.#gather(TRY_AGAIN_MS);
      }
    });
  }

  #sendDue(socket: HostSocket, living: ExistingWorker, gathered: boolean): void {
    const note = socket.note();
    if (note === null) return;
    if (note.incarnation !== living.record.incarnation) {
      this.#refuse(socket, new DroverError("stale_incarnation", LATER_START));
      return;
    }
    const frame = frameDue(living, note, this.#side, this.#now());
    if (frame?.kind === "ask") this.#ask(socket);
    const waits = frame?.kind === "orders" && !gathered && mayWait(living, note);
    const sent = frame?.kind === "orders" && !waits ? afterOrders(living, note) : note;
    const settled = isSettled(living, this.#now());
    if (sent !== note || settled !== note.settled) socket.keep({ ...sent, settled });
    if (waits) this.#gather();
    if (frame?.kind !== "orders" || waits) return;
    const side = this.#side;
    this.#side = sideNews(living);
    try {
      if (undeliveredPlacements(living).length > 0) this.#actor.apply({ type: "orders_sent" });
    } catch (error) {
      // Nothing was stored, so nothing may be sent (rule R1). The frame is still due.
      this.#side = side;
      socket.keep(note);
      throw error;
    }
    socket.send(JSON.stringify(frame.orders));
  }

  #ask(socket: HostSocket): void {
    if (this.#hasAsked) return;
    this.#hasAsked = true;
    socket.send(JSON.stringify({ ask: "full" }));
  }
}

function close(socket: HostSocket, status: number, reason: string): void {
  socket.close(CLOSE_CODES_FROM + status, reason.slice(0, MAX_CLOSE_REASON));
}
