// How does the agent carry out what its machine decides?
import { join } from "node:path";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { type Awake, watchSleep } from "./awake.ts";
import { OUTPUT_REPORT_DELAY_MS } from "./core/bounds.ts";
import type { HostEvent } from "./core/events.ts";
import { hostMachine } from "./core/host.ts";
import { isFree } from "./core/lease.ts";
import type { HostMessage } from "./core/messages.ts";
import type { HostState } from "./core/types.ts";
import { runBootProbe } from "./exec/boot-probe.ts";
import { punchLog } from "./exec/files/punch.ts";
import type { Origin } from "./exec/files/sticky-data.ts";
import { lookForNotice } from "./exec/notice.ts";
import type { Supervisor } from "./exec/supervisor.ts";
import type { Journal } from "./journal.ts";
import type { ControlPlane } from "./plane/control-plane.ts";
import { bodyOf, exchangeReport, type ReadLog } from "./plane/exchange.ts";
import { shipLog } from "./plane/log-chunks.ts";
import { Snapshots } from "./plane/snapshots.ts";
import { SocketExchange } from "./plane/socket-exchange.ts";
import { say } from "./say.ts";

type ReportMessage = Extract<HostMessage, { kind: "report" }>;
type Effect = Exclude<HostMessage, { kind: "report" | "connect" | "hang_up" | "exit" }>;

/** The longest delay that a timer of Node takes. */
const LONGEST_TIMER_MS: Millis = 2 ** 31 - 1;
/** The shortest timer: no tight loop while something due waits for work in flight. */
const SHORTEST_TIMER_MS: Millis = 5;

/** How long a report whose answer is held back may go on waiting once a newer report is sent. */
const SUPERSEDED_MS: Millis = 1_000;

export interface HostAgentOptions {
  now: () => Instant;
  stateDir: string;
  /** Stores the state that outlives this process. */
  journal: Pick<Journal, "keep">;
  instance: string | undefined;
  /** Asks the provider whether it takes the machine back. */
  noticeCommand: string | undefined;
  /** Written by `drover up` while it is awake; undefined: the control plane is on another machine. */
  awakeFile: string | undefined;
  /** Ends this process, and with `powerOff` the machine, if it can power itself off. */
  exit: (code: number, reason: string, powerOff: boolean) => void;
}

/**
 * The shell around the host's machine: apply an event, carry out what is due, set one timer. It has no rules.
 * After a crash the state of the next start makes lost work due again.
 */
export class HostAgent {
  readonly #options: HostAgentOptions;
  #state: HostState;
  #supervisor: Supervisor | undefined;
  #plane: ControlPlane | undefined;
  readonly #inFlight = new Set<string>();
  #report: AbortController | undefined;
  #socket: SocketExchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isWatchingOutput = false;
  /** Whether the journal is complete. */
  #journaled = true;
  #reachable = true;
  readonly #awake: Awake;

  constructor(state: HostState, options: HostAgentOptions) {
    this.#state = state;
    this.#options = options;
    this.#awake = watchSleep(options.awakeFile, options.now, () => this.tell({ type: "tick" }));
  }

  /** Begins to carry out what is due for attempts. */
  supervise(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
    this.tell({ type: "tick" });
  }

  /** Begins to report. */
  connect(plane: ControlPlane, event: Extract<HostEvent, { type: "joined" }>): void {
    this.#plane = plane;
    this.tell(event);
  }

  /** The id of this host's worker, once it has joined. */
  get worker(): string | undefined {
    return this.#state.setup?.worker;
  }

  /** Whether this machine may become the host of another worker. */
  get isFree(): boolean {
    return isFree(this.#state, this.#options.now());
  }

  /** The snapshots of the control plane, if it has any. */
  get snapshots(): Snapshots | undefined {
    const url = this.#state.setup?.snapshotsUrl;
    return this.#plane === undefined || url === undefined ? undefined : new Snapshots(this.#plane, url);
  }

  /** Applies an event, and then carries out what is due. */
  tell(event: HostEvent): void {
    const { now } = this.#options;
    const at = now();
    const before = this.#state;
    const sleep = this.#awake(at);
    // A sleep is applied first: it may extend a lease that has ended meanwhile.
    const woken = sleep === undefined ? before : hostMachine.apply(before, { type: "slept", ...sleep }, at);
    this.#state = hostMachine.apply(woken, event, at);
    this.#journaled = this.#options.journal.keep(this.#state);
    const due = hostMachine.due(this.#state, at);
    const transfers = due.filter(({ kind }) => kind === "collect" || kind === "begin" || kind === "save");
    this.#supervisor?.keepTransfers(transfers.map(({ to }) => to));
    for (const message of due) this.#carry(message, at);
    this.#arm(at);
    this.#watchOutput();
  }

  #carry(message: HostMessage, at: Instant): void {
    if (message.kind === "report") this.#send(message, at);
    else if (message.kind === "connect") this.#connect(message, at);
    else if (message.kind === "hang_up") this.#socket?.hangUp();
    else if (message.kind === "exit") this.#options.exit(message.code, message.reason, message.powerOff);
    else this.#begin(message);
  }

  #connect(message: Extract<HostMessage, { kind: "connect" }>, at: Instant): void {
    if (this.#plane === undefined) return;
    this.#state = hostMachine.apply(this.#state, { type: "socket_opening" }, at);
    this.#socket = new SocketExchange(this.#plane, message, ({ event, failure }) => {
      this.#noteContact(failure);
      this.tell(event);
    });
  }

  #begin(message: Effect): void {
    const key = `${message.kind} ${message.to}`;
    const work = this.#inFlight.has(key) ? undefined : this.#perform(message);
    if (work === undefined) return;
    this.#inFlight.add(key);
    work.then(
      (event) => {
        this.#inFlight.delete(key);
        this.tell(event);
      },
      (error: unknown) => {
        // The message is still due, so the next event tries it again: at the latest, the next answer.
        this.#inFlight.delete(key);
        say(`${key} has failed, and will be retried: ${errorText(error)}`);
      },
    );
  }

  /** Carries out one message. Undefined if something that it needs is missing: then it stays due. */
  #perform(message: Effect): Promise<HostEvent> | undefined {
    switch (message.kind) {
      case "start":
        return this.#supervisor?.start(message.id, message.task);
      case "prepare":
        return this.#supervisor?.prepare(message.id, message.task);
      case "signal":
        return this.#supervisor?.signal(message.id, message.signal);
      case "pass_on":
        // The journal must have the signal before it is sent, or it could be sent twice.
        return this.#journaled ? this.#supervisor?.passOn(message.id, message) : undefined;
      case "kill_tree":
        return this.#supervisor?.killTree(message.id, message.waitMs);
      case "collect":
        return this.#supervisor?.collect(message.id, message.globs, this.snapshots);
      case "forget":
        return this.#supervisor?.forget(message.id);
      case "clear":
        return this.#supervisor?.clear(message.placement);
      case "begin":
        return this.#supervisor?.begin(message.placement, this.#originOf(message));
      case "save":
        return this.#supervisor?.save(message.placement, this.snapshots);
      case "drop":
        return this.#supervisor?.drop(message.placement);
      case "probe":
        return this.#probe(message.command);
      case "look":
        return this.#look();
      case "sample":
        return this.#supervisor?.sample(message.ids);
      case "ship_log":
        return this.#ship(message);
      case "punch":
        return this.#punch(message);
    }
  }

  #originOf({ from, snapshot }: Extract<HostMessage, { kind: "begin" }>): Origin {
    return {
      from,
      snapshot: snapshot === undefined ? undefined : { id: snapshot, snapshots: this.snapshots },
    };
  }

  #ship(message: Extract<HostMessage, { kind: "ship_log" }>): Promise<HostEvent> | undefined {
    const [plane, supervisor] = [this.#plane, this.#supervisor];
    if (plane === undefined || supervisor === undefined) return undefined;
    const { id, stream, from, bytes } = message;
    const sent: HostEvent = { type: "chunk_sent", id, stream, from, bytes };
    this.#state = hostMachine.apply(this.#state, sent, this.#options.now());
    return shipLog(plane, message, supervisor.streams.fileOf(id, stream));
  }

  #punch(message: Extract<HostMessage, { kind: "punch" }>): Promise<HostEvent> | undefined {
    const file = this.#supervisor?.streams.fileOf(message.id, message.stream);
    return file === undefined ? undefined : punchLog(message, file);
  }

  async #probe(command: string): Promise<HostEvent> {
    const { stateDir, instance } = this.#options;
    return { type: "probed", ...(await runBootProbe(command, join(stateDir, "boot-probe.log"), instance)) };
  }

  async #look(): Promise<HostEvent> {
    const { stateDir, instance, noticeCommand: command } = this.#options;
    return { type: "noticed", raw: await lookForNotice({ stateDir, instance, command }) };
  }

  /** Sends a report. An older one whose answer is held back is soon aborted: the new report includes it. */
  #send(message: ReportMessage, at: Instant): void {
    const [plane, supervisor] = [this.#plane, this.#supervisor];
    if (plane === undefined || supervisor === undefined) return;
    const older = this.#report;
    if (older !== undefined) setTimeout(() => older.abort(), SUPERSEDED_MS).unref();
    this.#report = undefined;
    this.#state = hostMachine.apply(this.#state, { type: "report_sent", seq: message.seq }, at);
    const readLog: ReadLog = (...args) => supervisor.streams.read(...args);
    if (message.by === "socket") {
      this.#socket?.send(bodyOf(message, readLog));
      return;
    }
    const report = new AbortController();
    this.#report = report;
    void exchangeReport(plane, message, readLog, report.signal).then(({ event, failure }) => {
      if (this.#report === report) this.#report = undefined;
      if (event === undefined) return;
      this.#noteContact(failure);
      this.tell(event);
    });
  }

  #noteContact(failure: string | undefined): void {
    const reachable = failure === undefined;
    if (reachable !== this.#reachable) {
      say(reachable ? "the control plane answers again" : `cannot report, and keeps trying: ${failure}`);
    }
    this.#reachable = reachable;
  }

  #arm(at: Instant): void {
    clearTimeout(this.#timer);
    const wakeAt = hostMachine.wakeAt(this.#state);
    if (wakeAt === undefined) return;
    const delayMs = Math.min(LONGEST_TIMER_MS, Math.max(SHORTEST_TIMER_MS, wakeAt - at));
    this.#timer = setTimeout(() => this.tell({ type: "tick" }), delayMs);
  }

  /** Polls for output while an attempt can have some: polling is more reliable than file events. */
  #watchOutput(): void {
    if (this.#isWatchingOutput || !this.#mayHaveOutput()) return;
    this.#isWatchingOutput = true;
    setTimeout(() => {
      this.#isWatchingOutput = false;
      this.#supervisor?.streams.lookAll();
      this.#watchOutput();
    }, OUTPUT_REPORT_DELAY_MS);
  }

  #mayHaveOutput(): boolean {
    return Object.values(this.#state.attempts).some(
      ({ startedAt, treeGone }) => startedAt !== undefined && !treeGone,
    );
  }
}
