import type { Answer, Message } from "../../core/inbox.ts";
import {
  frameDue,
  isListening,
  isSettled,
  type LineNote,
  NO_SIDE_NEWS,
  newLine,
  resumeLine,
  sentOn,
  sideNews,
} from "../../core/worker/host/host-socket.ts";
import { workerInbox } from "../../core/worker/inbox.ts";
import type { Living, WorkerState } from "../../core/worker/state.ts";
import type { HostFrame, Report } from "../../schema/host.ts";
import { DroverError, STATUS_OF_CODE } from "../../shared/errors.ts";
import { CLOSE_CODES_FROM } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { receive } from "../messages/post.ts";
import { admit, heldReports, livingWorker, type WorkerActor } from "./exchange.ts";

/** The longest reason that a close frame takes, in bytes (platform.md#sockets). */
const MAX_CLOSE_REASON = 123;
/** The status of a socket that a newer one has taken the place of. */
const REPLACED = 408;
const OVER = "the worker is over; this machine is not wanted any more";
const LATER_START = "a later start of the agent speaks for this host";

/** The host's socket, as the platform keeps it. The simulator has its own. */
export interface HostSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** The last sign of life that the platform has answered without waking the object. Anybody can give one. */
  heardAt(): Instant | null;
  /** What is kept with it while the object is evicted. Null: no frame of the host's has come on it. */
  note(): LineNote | null;
  keep(note: LineNote): void;
}

/** A worker as it was loaded, going on from what its host's sockets have kept. */
export function resumed(state: WorkerState, sockets: HostSocket[]): WorkerState {
  return sockets.reduce((next, socket) => {
    const note = socket.note();
    return note === null ? next : resumeLine(next, note, socket.heardAt());
  }, state);
}

/**
 * The exchange over a socket (host-protocol.md#socket): reports come in as frames, and whenever the host is
 * owed an answer, or orders have changed, they go out. It is looked for after each event of the worker, so
 * no order waits for a report. What is owed is derived (`core/worker/host/host-socket.ts`); nothing is lost
 * with a frame.
 */
export class HostLine {
  readonly #actor: WorkerActor;
  readonly #sockets: () => HostSocket[];
  readonly #now: () => Instant;
  /** The side news that this process has told last, and whether it has asked for a full report. */
  #side = NO_SIDE_NEWS;
  #asked = false;

  constructor(actor: WorkerActor, sockets: () => HostSocket[], now: () => Instant) {
    this.#actor = actor;
    this.#sockets = sockets;
    this.#now = now;
    actor.watch(() => this.#flush());
  }

  /**
   * The host has said its first word on a socket. It takes the place of any other: of a line that broke
   * nobody may hear.
   */
  #opened(socket: HostSocket): void {
    for (const one of this.#sockets()) {
      if (one.note() !== null) close(one, REPLACED, "a newer socket is open");
    }
    socket.keep(newLine(this.#living(), this.#now()));
    this.#side = NO_SIDE_NEWS;
    this.#asked = false;
  }

  /** The host's frame has come. One that is no report, or is of an older start of it, ends the line. */
  received(socket: HostSocket, read: () => Report): void {
    if (socket.note() === null) this.#opened(socket);
    try {
      if (this.#living().record.phase === "gone") throw new DroverError("enrollment_over", OVER);
      const report = read();
      admit(this.#actor, report);
      const note = socket.note() ?? newLine(this.#living(), this.#now());
      socket.keep({ ...note, at: this.#now(), seq: Math.max(note.seq, report.seq) });
      if (report.full) this.#asked = false;
      this.#actor.apply({ type: "report", report });
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      this.#refuse(socket, error);
    }
  }

  /**
   * Whoever is refused is noted with the worker. Closed first: the note makes us look here again. Why it is
   * closed a frame says, since anybody on the way can close a socket.
   */
  #refuse(socket: HostSocket, { code, message }: DroverError): void {
    const refused: HostFrame = { refused: { status: STATUS_OF_CODE[code], detail: message } };
    socket.send(JSON.stringify(refused));
    close(socket, STATUS_OF_CODE[code], message);
    this.#actor.apply({ type: "refused_host", kind: code, reason: message });
  }

  /** Whether a host is there that gets orders at once. */
  get listens(): boolean {
    if (this.#actor.state.record === null) return false;
    const notes = this.#sockets().flatMap((socket) => socket.note() ?? []);
    return notes.some((note) => isListening(this.#living(), note));
  }

  /** Takes in a message of a pool or a run. An order is told at once if a host is there that listens. */
  deliver(message: Message<"worker">): Answer<"worker"> {
    this.listen();
    if (message.type !== "order") return receive(workerInbox, this.#actor, message, this.#now());
    const listening = this.listens || heldReports(this.#actor) > 0;
    const order = { ...message, body: { ...message.body, listening } };
    return receive(workerInbox, this.#actor, order, this.#now());
  }

  /** Asks the host for all that it can say, where it can be asked. */
  askForAll(): void {
    for (const socket of this.#sockets()) if (socket.note() !== null) this.#ask(socket);
  }

  /** Takes note of signs of life. To be called before anything is judged by when the host was last heard. */
  listen(): void {
    const { record, memo } = this.#actor.state;
    const known = this.#sockets().filter((socket) => socket.note() !== null);
    const at = Math.max(...known.map((socket) => socket.heardAt() ?? 0));
    if (record !== null && at > (memo.lastReportAt ?? 0)) this.#actor.apply({ type: "heard", at });
  }

  #living(): Living {
    return livingWorker(this.#actor, "of this socket");
  }

  #flush(): void {
    if (this.#actor.state.record === null) return;
    const living = this.#living();
    for (const socket of this.#sockets()) this.#serve(socket, living);
  }

  #serve(socket: HostSocket, living: Living): void {
    const note = socket.note();
    if (note === null) return;
    if (note.incarnation !== living.record.incarnation) {
      this.#refuse(socket, new DroverError("stale_incarnation", LATER_START));
      return;
    }
    const frame = frameDue(living, note, this.#side, this.#now());
    if (frame?.kind === "ask") this.#ask(socket);
    const sent = frame?.kind === "orders" ? sentOn(living, note) : note;
    const settled = isSettled(living, this.#now());
    if (sent !== note || settled !== note.settled) socket.keep({ ...sent, settled });
    if (frame?.kind !== "orders") return;
    const side = this.#side;
    this.#side = sideNews(living);
    try {
      this.#actor.apply({ type: "told" });
    } catch (error) {
      // Not stored, so not told (rule R1): the frame is due still.
      this.#side = side;
      socket.keep(note);
      throw error;
    }
    socket.send(JSON.stringify(frame.orders));
  }

  #ask(socket: HostSocket): void {
    if (this.#asked) return;
    this.#asked = true;
    socket.send(JSON.stringify({ ask: "full" }));
  }
}

function close(socket: HostSocket, status: number, reason: string): void {
  socket.close(CLOSE_CODES_FROM + status, reason.slice(0, MAX_CLOSE_REASON));
}
