import {
  type HostEvent,
  type HostMessage,
  type HostState,
  hostMachine,
  initialHost,
} from "../../agent/core/host.ts";
import {
  type AttemptJournal,
  type FoundAttempt,
  journalOf,
  type LeaseJournal,
  leaseOf,
} from "../../agent/core/journal.ts";
import { type AttemptParts, parseAttemptId } from "../../src/core/attempt-id.ts";
import type { HostSetup, Orders, Report } from "../../src/schema/host.ts";
import type { HostEnd, SimSocket } from "./socket.ts";
import type { World } from "./world.ts";

/** How the host reaches its worker, over the network of the simulation. */
export interface ControlPlane {
  enroll(): Promise<HostSetup>;
  join(): Promise<HostSetup>;
  report(report: Report, waitMs: number): Promise<Orders | "stale">;
  connect(end: HostEnd): Promise<SimSocket>;
}

/** What a simulated command does: it is written into its arguments. */
export interface Behavior {
  durationMs: number;
  exitCode: number;
  ignoresTerm: boolean;
  /** There is no such command: no process is ever started. */
  missing?: boolean;
}

/** One process tree on one machine. */
export interface Process extends AttemptParts {
  id: string;
  worker: string;
  vcpus: number;
  alive: boolean;
  exit: { code: number | null; signal: string | null } | null;
}

const AGENT_RESTART_MS = 3_000;
const RETRY_MS = 5_000;
const HEARTBEAT_MS = 30_000;
/** The code with which a line is closed that is of an older start of the agent. */
const STALE_CODE = 4_409;

/** A machine with the real agent's decisions on it, and fake processes. Its clock runs on its own. */
export class Host {
  readonly worker: string;
  readonly processes = new Map<string, Process>();
  readonly #world: World;
  readonly #plane: ControlPlane;
  readonly #onStart: (process: Process) => void;
  readonly #rate: number;
  readonly #bornAt: number;
  /**
   * What lies on the machine's disk: the ids that were ever started or killed, whether it has enrolled, the
   * journal and the lease.
   */
  readonly #everStarted = new Set<string>();
  #enrolled = false;
  readonly #journal = new Map<string, AttemptJournal>();
  #lease: LeaseJournal | undefined;
  #state: HostState = initialHost();
  #inFlight = new Set<string>();
  #reportSeq = 0;
  #socket: SimSocket | undefined;
  #agentLife = 0;
  #agentRuns = true;
  /** Its agent has been started once: before that there is none to be started again. */
  #booted = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  cutOffUntil = 0;
  dead = false;

  constructor(world: World, worker: string, plane: ControlPlane, onStart: (process: Process) => void) {
    this.#world = world;
    this.worker = worker;
    this.#plane = plane;
    this.#onStart = onStart;
    this.#bornAt = world.now;
    const drift = world.chance.between(-100, 100) / 10_000;
    this.#rate = world.strikes("drift") ? 1 + drift : 1;
  }

  get #localNow(): number {
    return (this.#world.now - this.#bornAt) * this.#rate;
  }

  /** Starts the agent: it enrolls, or joins again, and then lives by its machine. */
  async startAgent(): Promise<void> {
    this.#booted = true;
    const life = this.#agentLife;
    while (!this.dead && life === this.#agentLife) {
      try {
        const setup = await (this.#enrolled ? this.#plane.join() : this.#plane.enroll());
        if (this.dead || life !== this.#agentLife) return;
        this.#enrolled = true;
        this.#apply({ type: "joined", setup });
        return;
      } catch {
        await this.#world.time.sleep(RETRY_MS);
      }
    }
  }

  /** The agent is killed, and started again. What it had started lives on. */
  restartAgent(): void {
    if (this.dead || !this.#booted) return;
    this.#world.tell(this.worker, "its agent is killed and started again");
    this.#agentLife += 1;
    this.#agentRuns = true;
    this.#socket?.abandon();
    this.#socket = undefined;
    this.#inFlight = new Set();
    this.#reportSeq = 0;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const left = [...this.#everStarted].filter((id) => !this.#forgotten.has(id));
    const attempts = left.map((id) => this.#find(id));
    this.#state = initialHost({ attempts, lease: this.#lease }, this.#localNow);
    this.#pump();
    this.#world.time.after(AGENT_RESTART_MS, () => void this.startAgent());
  }

  /** The machine boots anew: nothing that ran there lives, and its agent comes up again. */
  reboot(): void {
    if (this.dead) return;
    this.#world.tell(this.worker, "its machine reboots");
    for (const process of this.processes.values()) process.alive = false;
    this.#lostInReboot = new Set(this.#everStarted);
    this.#journal.clear();
    this.#lease = undefined;
    this.restartAgent();
  }

  #lostInReboot = new Set<string>();

  /** What a new start of the agent sees of an attempt. */
  #find(id: string): FoundAttempt {
    const [process, journal] = [this.processes.get(id), this.#journal.get(id)];
    if (process === undefined || this.#lostInReboot.has(id)) return { id, journal, main: { kind: "lost" } };
    if (process.exit === null) return { id, journal, main: { kind: "running" } };
    return { id, journal, main: { kind: "ended", at: this.#localNow, exit: exitOf(process.exit) } };
  }

  readonly #forgotten = new Set<string>();

  /** The machine is no more. */
  die(why: string): void {
    if (this.dead) return;
    this.#world.tell(this.worker, `its machine ends: ${why}`);
    this.dead = true;
    this.#socket?.abandon();
    for (const process of this.processes.values()) process.alive = false;
  }

  #apply(event: HostEvent): void {
    if (this.dead || !this.#agentRuns) return;
    this.#state = hostMachine.apply(this.#state, event, this.#localNow);
    for (const [id, attempt] of Object.entries(this.#state.attempts))
      this.#journal.set(id, journalOf(attempt));
    this.#lease = leaseOf(this.#state) ?? this.#lease;
    this.#pump();
  }

  #pump(): void {
    for (const message of hostMachine.due(this.#state, this.#localNow)) {
      const key = `${message.kind} ${message.to}`;
      if (message.kind === "report") this.#report(message);
      else if (message.kind === "connect") this.#connect();
      else if (message.kind === "hang_up") this.#hangUp();
      else if (!this.#inFlight.has(key)) {
        this.#inFlight.add(key);
        this.#perform(message, () => this.#inFlight.delete(key));
      }
    }
    const at = hostMachine.wakeAt(this.#state);
    if (at === undefined || !this.#agentRuns) return;
    const wakeAt = Math.max(this.#world.now + 1, this.#bornAt + at / this.#rate);
    if (this.#wakeAt > this.#world.now && this.#wakeAt <= wakeAt) return;
    this.#wakeAt = wakeAt;
    const life = this.#agentLife;
    this.#world.time.at(wakeAt, () => {
      if (life !== this.#agentLife || this.#wakeAt !== wakeAt) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#apply({ type: "tick" });
    });
  }

  #connect(): void {
    const life = this.#agentLife;
    this.#state = hostMachine.apply(this.#state, { type: "line_opening" }, this.#localNow);
    let mine: SimSocket | undefined;
    const end: HostEnd = {
      frame: (frame) => {
        if (life !== this.#agentLife || mine !== this.#socket) return;
        if (this.#isCutOff()) this.#lose(mine);
        else if ("ask" in frame) this.#apply({ type: "full_wanted" });
        else this.#apply({ type: "orders", seq: frame.answers, orders: frame });
      },
      closed: (code) => {
        if (life !== this.#agentLife || mine !== this.#socket) return;
        this.#socket = undefined;
        if (code === STALE_CODE) this.#apply({ type: "stale", code: 1, reason: "a later start speaks" });
        else this.#apply({ type: "line_closed", random: this.#world.chance.next() });
      },
    };
    const failed = () => {
      if (life === this.#agentLife) this.#apply({ type: "line_closed", random: this.#world.chance.next() });
    };
    if (this.#isCutOff()) {
      this.#world.time.after(RETRY_MS, failed);
      return;
    }
    this.#plane.connect(end).then((socket) => {
      if (life !== this.#agentLife || this.dead) return socket.abandon();
      mine = socket;
      this.#socket = socket;
      this.#apply({ type: "line_opened" });
    }, failed);
  }

  #hangUp(): void {
    this.#socket?.abandon();
    this.#socket = undefined;
    this.#apply({ type: "line_closed", random: this.#world.chance.next() });
  }

  /** What is said while it is cut off breaks the line, which the agent finds out by its heartbeat. */
  #lose(socket: SimSocket | undefined): void {
    socket?.abandon();
    this.#world.time.after(HEARTBEAT_MS, () => {
      if (socket === this.#socket && !this.dead) this.#hangUp();
    });
  }

  #isCutOff(): boolean {
    return this.#world.now < this.cutOffUntil;
  }

  #report(message: Extract<HostMessage, { kind: "report" }>): void {
    if (message.seq <= this.#reportSeq) return;
    this.#reportSeq = message.seq;
    const life = this.#agentLife;
    const { seq, report, waitMs } = message;
    this.#state = hostMachine.apply(this.#state, { type: "report_sent", seq }, this.#localNow);
    if (message.by === "socket") {
      if (this.#isCutOff()) this.#lose(this.#socket);
      else this.#socket?.report(report);
      return;
    }
    const failed = () => {
      if (life === this.#agentLife)
        this.#apply({ type: "report_failed", seq, random: this.#world.chance.next() });
    };
    if (this.#isCutOff()) {
      this.#world.time.after(RETRY_MS, failed);
      return;
    }
    this.#plane.report(report, waitMs).then((orders) => {
      if (life !== this.#agentLife || this.#isCutOff()) failed();
      else if (orders === "stale")
        this.#apply({ type: "stale", code: 1, reason: "a later start speaks for this host" });
      else this.#apply({ type: "orders", seq, orders });
    }, failed);
  }

  #perform(
    message: Exclude<HostMessage, { kind: "report" | "connect" | "hang_up" }>,
    done: () => void,
  ): void {
    const life = this.#agentLife;
    const answer = (delayMs: number, ...events: HostEvent[]) =>
      this.#world.time.after(delayMs, () => {
        if (this.dead || life !== this.#agentLife) return;
        done();
        for (const event of events) this.#apply(event);
      });
    switch (message.kind) {
      case "start":
        answer(this.#world.chance.between(1, 20), this.#start(message));
        break;
      case "signal":
        this.#signal(message.id);
        answer(1, { type: "signaled", id: message.id });
        break;
      case "pass_on":
        answer(1, { type: "passing_on", id: message.id, n: message.n });
        break;
      case "kill_tree":
        answer(this.#world.chance.between(1, 500), ...this.#kill(message.id));
        break;
      case "forget":
        this.#forgotten.add(message.id);
        answer(1, { type: "forgotten", id: message.id });
        break;
      case "prepare":
        answer(this.#world.chance.between(1, 5_000), { type: "prepared", id: message.id });
        break;
      case "clear":
        answer(1, { type: "cleared", placement: message.placement });
        break;
      case "probe":
        answer(this.#world.chance.between(10, 1_000), { type: "probed", ok: true, output: "running" });
        break;
      case "sample": {
        const used = { cpuMs: this.#localNow, memoryBytes: 4_096, pids: 1 };
        const attempts = Object.fromEntries(message.ids.map((id) => [id, used]));
        answer(1, { type: "sampled", host: used, attempts });
        break;
      }
      case "ship_log":
      case "punch":
        // Simulated commands write nothing.
        break;
      case "exit":
        this.#world.tell(this.worker, `its agent exits: ${message.reason}`);
        this.#agentLife += 1;
        this.#agentRuns = false;
    }
  }

  #start({ id, task }: Extract<HostMessage, { kind: "start" }>): HostEvent {
    const parts = parseAttemptId(id);
    if (this.#everStarted.has(id) || parts === undefined) return { type: "refused", id };
    this.#everStarted.add(id);
    // What `commandOf` of the workload has written there.
    const behavior = JSON.parse(task.argv[1] ?? "{}") as Behavior;
    if (behavior.missing) {
      const startError = { code: "command_not_found" as const, text: "there is no such command" };
      return { type: "launch_failed", id, startError };
    }
    const process: Process = {
      ...parts,
      id,
      worker: this.worker,
      vcpus: task.resources.vcpus,
      alive: true,
      exit: null,
    };
    this.processes.set(id, process);
    this.#world.tell(parts.run, `${id} starts on ${this.worker}`);
    this.#onStart(process);
    this.#world.time.after(behavior.durationMs, () =>
      this.#end(process, { code: behavior.exitCode, signal: null }),
    );
    return { type: "launched", id, by: "cgroup" };
  }

  #signal(id: string): void {
    const process = this.processes.get(id);
    if (process === undefined || !process.alive || this.#world.chance.chance(0.3)) return; // some ignore it
    this.#world.time.after(this.#world.chance.between(1, 2_000), () =>
      this.#end(process, { code: null, signal: "SIGTERM" }),
    );
  }

  #kill(id: string): HostEvent[] {
    this.#everStarted.add(id);
    const process = this.processes.get(id);
    const killed = process?.alive === true;
    if (process !== undefined) this.#end(process, { code: null, signal: "SIGKILL" });
    const known = process?.exit !== undefined && this.#state.attempts[id]?.main === "running";
    const exited: HostEvent[] =
      known && process?.exit ? [{ type: "exited", id, exit: exitOf(process.exit) }] : [];
    return [...exited, { type: "tree_gone", id, killed }];
  }

  #end(process: Process, exit: NonNullable<Process["exit"]>): void {
    if (!process.alive || this.dead) return;
    process.alive = false;
    process.exit = exit;
    this.#world.tell(process.run, `${process.id} ends: ${exit.signal ?? `exit code ${exit.code}`}`);
    this.#world.time.after(1, () => this.#apply({ type: "exited", id: process.id, exit: exitOf(exit) }));
  }
}

function exitOf(exit: NonNullable<Process["exit"]>) {
  return { ...exit, oomKilled: false, message: "" };
}
