import { mayBeInside } from "../../agent/core/attempts/hold.ts";
import { runOf } from "../../agent/core/attempts/placements.ts";
import type { HostEvent } from "../../agent/core/events.ts";
import { hostMachine, initialHost } from "../../agent/core/host.ts";
import { type AttemptJournal, type FoundAttempt, journalOf, leaseOf } from "../../agent/core/journal.ts";
import type { LeaseJournal } from "../../agent/core/lease.ts";
import type { HostMessage } from "../../agent/core/messages.ts";
import type { AttemptState, HostState } from "../../agent/core/types.ts";
import type { AttemptOrder, HostSetup, Means, Orders, Report } from "../../src/schema/host.ts";
import { PROTOCOL } from "../../src/shared/compat.ts";
import { check } from "../../src/shared/machine.ts";
import { checkResult } from "./checks.ts";
import { SimDisk } from "./disk.ts";
import { MOST_DRIFT } from "./faults.ts";
import { wakesOnceAStep } from "./once-a-step.ts";
import { localClock, Player, type Process, sleepyClock, type Watch } from "./player.ts";
import type { HostEnd, SimSocket } from "./socket.ts";
import type { World } from "./world.ts";

/** How the host reaches its worker, over the network of the simulation. */
export interface ControlPlane {
  enroll(): Promise<HostSetup>;
  join(start: string): Promise<HostSetup>;
  report(report: Report, waitMs: number): Promise<Orders | "stale">;
  connect(end: HostEnd): Promise<SimSocket>;
  /** The host gets the secrets of an attempt, whose start goes on in any case. */
  secrets(attempt: string): void;
}

/** It never says anything; it stops answering one day; it finds out one day that it is broken. */
export type Ill = "silent" | "deaf" | "broken";

export const MEANS: Means = { kill: "cgroup", limits: [], protocol: PROTOCOL };
/** Of a shell script: it starts what it is ordered at once, and knows nothing of time limits. */
const SCRIPT_MEANS: Means = { ...MEANS, protocol: 0 };
const AGENT_RESTART_MS = 3_000;
const RETRY_MS = 5_000;
const HEARTBEAT_MS = 30_000;
/** The status with which a line is refused that is of an older start of the agent. */
const STALE = 409;

/**
 * A machine with the real agent's decisions on it, and the fake driver's: it plays what the scripts of tasks
 * say. Its clock runs on its own.
 */
export class Host {
  readonly worker: string;
  readonly #world: World;
  readonly #plane: ControlPlane;
  readonly #clock: ReturnType<typeof sleepyClock>;
  readonly #player: Player;
  /**
   * What lies on the machine's disk beside what the player keeps there: whether it has enrolled, the journal
   * and the lease.
   */
  #enrolled = false;
  readonly #journal = new Map<string, AttemptJournal>();
  /** The states of attempts of which that is the journal. States are never changed in place. */
  #journaled = new WeakSet<AttemptState>();
  #lease: LeaseJournal | undefined;
  readonly #disk: SimDisk;
  readonly #means: Means;
  readonly #machine = wakesOnceAStep(hostMachine);
  #state: HostState;
  #inFlight = new Set<string>();
  #reportSeq = 0;
  /** The first report that says that its machine is broken. */
  #brokenSaidIn = Number.POSITIVE_INFINITY;
  #socket: SimSocket | undefined;
  #agentLife = 0;
  #starts = 0;
  #agentRuns = true;
  /** Its agent has been started once: before that there is none to be started again. */
  #booted = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  /** What is said of the machine's near end. */
  #notice: string | null = null;
  cutOffUntil = 0;
  /** Until then its disk takes nothing. */
  fullUntil = 0;
  /** What is wrong with it from its birth on, or will be. */
  ill: Ill | null = null;
  /** What its host says of a machine that can run nothing any more. */
  broken: string | null = null;
  /** Since when its worker knows that. */
  brokenKnownAt = Number.POSITIVE_INFINITY;
  dead = false;

  constructor(world: World, worker: string, plane: ControlPlane, watch: Watch) {
    this.#world = world;
    this.#disk = new SimDisk(() => this.#localNow, world.snapshots);
    this.worker = worker;
    this.#plane = plane;
    const drift = (MOST_DRIFT * world.chance.between(-100, 100)) / 100;
    this.#means = world.strikes("shellScript") ? SCRIPT_MEANS : MEANS;
    this.#state = initialHost({ attempts: [], means: this.#means });
    const awake = localClock(world, world.strikes("drift") ? 1 + drift : 1);
    this.#clock = sleepyClock(awake);
    this.#player = new Player(world, worker, awake, this.#disk, {
      ...watch,
      ended: (event) => this.#apply(event),
    });
  }

  get processes(): Map<string, Process> {
    return this.#player.processes;
  }

  get #localNow(): number {
    return this.#clock.now();
  }

  /** Its provider tells it that it will go. */
  giveNotice(text: string): void {
    this.#notice = text;
  }

  /** What a look for a notice finds. */
  #lookForNotice(): string | null {
    const { chance } = this.#world;
    if (this.#notice !== null) this.#notice = chance.chance(0.05) ? null : this.#notice;
    else if (this.#world.strikes("notice")) this.#notice = chance.chance(0.5) ? "it goes" : "gone in 2m";
    return this.#notice;
  }

  /** Starts the agent: it enrolls, or joins again, and then lives by its machine. */
  async startAgent(): Promise<void> {
    this.#booted = true;
    const life = this.#agentLife;
    this.#starts += 1;
    const start = `start ${this.#starts}`;
    while (!this.dead && life === this.#agentLife) {
      try {
        const setup = await (this.#enrolled ? this.#plane.join(start) : this.#plane.enroll());
        if (this.dead || life !== this.#agentLife) return;
        this.#enrolled = true;
        this.#apply({ type: "joined", setup });
        return;
      } catch {
        await this.#world.time.sleep(RETRY_MS);
      }
    }
  }

  /** The agent is killed, and started again. What it had started lives on, unless that dies with it. */
  restartAgent(): void {
    if (this.dead || !this.#booted) return;
    this.#world.tell(this.worker, "its agent is killed and started again");
    this.#agentLife += 1;
    this.#agentRuns = true;
    this.#socket?.abandon();
    this.#socket = undefined;
    this.#inFlight = new Set();
    this.#reportSeq = 0;
    this.#brokenSaidIn = Number.POSITIVE_INFINITY;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#player.orphan();
    const left = [...this.#player.claimed].filter((id) => !this.#forgotten.has(id));
    const attempts = left.map((id) => this.#find(id));
    this.#state = initialHost(
      { attempts, lease: this.#lease, means: this.#means, ...this.#disk.found() },
      this.#localNow,
    );
    this.#pump();
    this.#world.time.after(AGENT_RESTART_MS, () => void this.startAgent());
  }

  /** Whether an attempt is between its claim and its start: an agent that dies now leaves it lost. */
  get isStarting(): boolean {
    const attempts = Object.entries(this.#state.attempts);
    return attempts.some(([id, { main }]) => main === "waiting" && this.#player.claimed.has(id));
  }

  /** It can be heard no more for some minutes. Its worker knows that its sockets are gone, or does not. */
  fallSilent(sockets: SimSocket[]): void {
    const { chance, now } = this.#world;
    const ms = chance.between(60_000, 900_000);
    const known = chance.chance(0.5);
    this.#world.tell(this.worker, `its host falls silent for ${Math.round(ms / 1_000)} s before an order`);
    this.cutOffUntil = Math.max(this.cutOffUntil, now + ms);
    if (known) for (const socket of sockets) socket.cut();
  }

  /** What this machine's agent counts by is so much later than what ran here has noticed. */
  sleep(ms: number): void {
    if (this.dead) return;
    this.#world.tell(this.worker, `its clock jumps ahead by ${Math.round(ms / 1_000)} s`);
    this.#clock.sleep(ms);
    this.#world.jumpedAt = this.#world.now;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    if (this.#booted) this.#apply({ type: "tick" });
  }

  /** Whether commands may run in what this host keeps of a run (tasks.md#kept). */
  mayBeInside(run: string): boolean {
    return Object.values(this.#state.attempts).some((one) => runOf(one.id) === run && mayBeInside(one));
  }

  /** Whether an attempt has ended by itself and in time, as this host saw it: a shell script sees no time. */
  endedInTime(id: string): boolean {
    if (this.#means === SCRIPT_MEANS) return false;
    const known = this.#journal.get(id);
    return known?.exit !== undefined && known.stop === undefined && !known.timedOut;
  }

  /** The machine boots anew: nothing that ran there lives, and its agent comes up again. */
  reboot(): void {
    if (this.dead) return;
    this.#world.tell(this.worker, "its machine reboots");
    this.#player.powerOff();
    this.#journal.clear();
    this.#journaled = new WeakSet();
    this.#lease = undefined;
    this.restartAgent();
  }

  /** What a new start of the agent sees of an attempt. */
  #find(id: string): FoundAttempt {
    const main = this.#player.find(id);
    // Files say by the agent's clock when something ended.
    const found = main.kind === "ended" ? { ...main, at: this.#clock.counting(main.at) } : main;
    return { id, journal: this.#journal.get(id), main: found };
  }

  readonly #forgotten = new Set<string>();

  /** The machine is no more. */
  die(why: string): void {
    if (this.dead) return;
    this.#world.tell(this.worker, `its machine ends: ${why}`);
    this.dead = true;
    this.#socket?.abandon();
    this.#player.powerOff();
  }

  #apply(event: HostEvent): void {
    if (this.dead || !this.#agentRuns) return;
    this.#step(this.#understood(event));
    if (!this.#isFull()) this.#writeJournal();
    // The file of the lease is written in its place, where the disk takes no other.
    this.#lease = leaseOf(this.#state) ?? this.#lease;
    this.#pump();
  }

  /** One step of its machine, which breaks no invariant (shell.md#assertions). */
  #step(event: HostEvent): void {
    const [before, now] = [this.#state, this.#localNow];
    this.#state = this.#machine.apply(before, event, now);
    for (const { machine, rule, what } of check(this.#machine, before, this.#state, now))
      this.#world.violated(`${rule}: ${machine} of ${this.worker}: ${what}`, this.worker);
  }

  /** Writes what has changed since the journal of an attempt was last written. */
  #writeJournal(): void {
    for (const attempt of Object.values(this.#state.attempts)) {
      if (this.#journaled.has(attempt)) continue;
      this.#journal.set(attempt.id, journalOf(attempt));
      this.#journaled.add(attempt);
    }
  }

  /** Its disk is full for a while. */
  fillDisk(forMs: number): void {
    this.#world.tell(this.worker, `its disk is full for ${Math.round(forMs / 1_000)} s`);
    this.fullUntil = this.#world.now + forMs;
  }

  #isFull(): boolean {
    return this.#world.now < this.fullUntil;
  }

  /** What it makes of orders: a shell script passes over what it does not know. */
  #understood(event: HostEvent): HostEvent {
    if (event.type !== "orders" || this.#means === MEANS) return event;
    const attempts = event.orders.attempts.map((order): AttemptOrder => {
      if (order.want === "stop") return { ...order, timedOut: undefined };
      return { ...order, startInMs: undefined, timeoutMs: undefined };
    });
    return { ...event, orders: { ...event.orders, attempts } };
  }

  #pump(): void {
    for (const message of this.#machine.due(this.#state, this.#localNow)) {
      const key = `${message.kind} ${message.to}`;
      if (message.kind === "report") this.#report(message);
      else if (message.kind === "connect") this.#connect();
      else if (message.kind === "hang_up") this.#hangUp();
      else if (!this.#inFlight.has(key)) {
        this.#inFlight.add(key);
        this.#perform(message, () => this.#inFlight.delete(key));
      }
    }
    const at = this.#machine.wakeAt(this.#state);
    if (at === undefined || !this.#agentRuns) return;
    const wakeAt = Math.max(this.#world.now + 1, this.#clock.worldTime(at));
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
    this.#step({ type: "socket_opening" });
    let mine: SimSocket | undefined;
    const end: HostEnd = {
      frame: (frame) => {
        if (life !== this.#agentLife || mine !== this.#socket) return;
        if (this.#isCutOff()) this.#lose(mine);
        else if ("ask" in frame) this.#apply({ type: "full_requested" });
        else if (!("refused" in frame)) this.#hear(frame.answers, frame);
        else if (frame.refused.status === STALE)
          this.#apply({ type: "stale", code: 1, reason: "a later start speaks" });
      },
      closed: () => {
        if (life !== this.#agentLife || mine !== this.#socket) return;
        this.#socket = undefined;
        this.#apply({ type: "socket_closed", random: this.#world.chance.next() });
      },
    };
    const failed = () => {
      if (life === this.#agentLife) this.#apply({ type: "socket_closed", random: this.#world.chance.next() });
    };
    if (this.#isCutOff()) {
      this.#world.time.after(RETRY_MS, failed);
      return;
    }
    this.#plane.connect(end).then((socket) => {
      if (life !== this.#agentLife || this.dead) return socket.abandon();
      mine = socket;
      this.#socket = socket;
      this.#apply({ type: "socket_opened" });
    }, failed);
  }

  #hangUp(): void {
    this.#socket?.abandon();
    this.#socket = undefined;
    this.#apply({ type: "socket_closed", random: this.#world.chance.next() });
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
    const { seq, waitMs } = message;
    const report = this.#withTroubles(message.report);
    this.#step({ type: "report_sent", seq });
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
      else this.#hear(seq, orders);
    }, failed);
  }

  #hear(seq: number, orders: Orders): void {
    if (seq >= this.#brokenSaidIn) this.brokenKnownAt = Math.min(this.brokenKnownAt, this.#world.now);
    this.#apply({ type: "orders", seq, orders });
  }

  /** What the machine's own state adds to what the agent says of attempts. */
  #withTroubles(report: Report): Report {
    const stale = this.#player.stale();
    if (this.broken !== null) this.#brokenSaidIn = Math.min(this.#brokenSaidIn, report.seq);
    return {
      ...report,
      ...(this.broken === null ? {} : { broken: this.broken }),
      ...(stale.length === 0 ? {} : { stale }),
    };
  }

  #perform(
    message: Exclude<HostMessage, { kind: "report" | "connect" | "hang_up" }>,
    done: () => void,
  ): void {
    const life = this.#agentLife;
    const isOver = () => this.dead || life !== this.#agentLife;
    const later = (delayMs: number, act: () => void) =>
      this.#world.time.after(delayMs, () => {
        if (isOver()) return;
        done();
        act();
      });
    const answer = (delayMs: number, ...events: HostEvent[]) =>
      later(delayMs, () => {
        for (const event of events) this.#apply(event);
      });
    switch (message.kind) {
      case "start": {
        if (this.#isFull()) {
          const startError = { code: "start_failed" as const, text: "no space is left" };
          answer(1, { type: "launch_failed", id: message.id, startError });
          break;
        }
        this.#plane.secrets(message.id);
        const { blockMs, start } = this.#player.start(message.id, message.task);
        const begin = () => {
          if (!isOver()) answer(this.#world.chance.between(1, 20), start());
        };
        if (blockMs === 0) begin();
        else this.#world.time.after(blockMs, begin);
        break;
      }
      case "signal":
        this.#player.signal(message.id, message.signal);
        answer(1, { type: "signaled", id: message.id });
        break;
      case "pass_on":
        // What cannot be written down first is not sent, but owed until there is room.
        if (this.#isFull()) {
          done();
          break;
        }
        later(1, () => {
          // Written down first: an agent that is killed in between has not sent it.
          this.#apply({ type: "passing_on", id: message.id, n: message.n });
          this.#player.passOn(message.id, message.signal, message.n);
        });
        break;
      case "kill_tree":
        answer(this.#world.chance.between(1, 500), ...this.#killTree(message.id));
        break;
      case "end_hold":
        answer(this.#world.chance.between(1, 500), { type: "hold_ended", id: message.id });
        break;
      case "forget":
        this.#forgotten.add(message.id);
        answer(1, { type: "forgotten", id: message.id });
        break;
      case "prepare":
        answer(this.#world.chance.between(1, 5_000), { type: "prepared", id: message.id });
        break;
      case "collect":
        answer(this.#world.chance.between(1, 5_000), this.#player.collect(message.id));
        break;
      case "check": {
        const { id, check } = message;
        const result = checkResult(message.to, this.#world.now);
        answer(100, { type: "checked", id, name: check.name, result });
        break;
      }
      case "clear":
        answer(this.#world.chance.between(1, 500), this.#disk.clear(message.placement));
        break;
      case "begin":
        later(this.#world.chance.between(1, 500), () => {
          this.#apply(this.#disk.begin(message.placement, message.from, message.snapshot));
        });
        break;
      case "save":
        this.#save(message.placement, later);
        break;
      case "drop":
        answer(1, this.#disk.drop(message.placement));
        break;
      case "probe":
        answer(this.#world.chance.between(10, 1_000), { type: "probed", ok: true, output: "running" });
        break;
      case "look":
        answer(this.#world.chance.between(1, 100), { type: "noticed", raw: this.#lookForNotice() });
        break;
      case "fetch_agent":
        throw new Error("no agent of the simulator updates itself");
      case "look_at_devices":
        throw new Error("no machine of the simulator has devices");
      case "inspect":
        answer(this.#world.chance.between(1, 100), { type: "inspected", fault: null });
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

  /** Stores the data of a placement after a while, or finds that they cannot be stored. */
  #save(placement: string, later: (delayMs: number, act: () => void) => void): void {
    const lost = this.#world.strikes("lostData");
    later(this.#world.chance.between(1, 20_000), () => {
      const error = "the simulated data are too large";
      this.#world.tell(this.worker, `the data of ${placement} are ${lost ? "lost" : "stored"}`);
      this.#apply(lost ? { type: "saved", placement, outcome: { error } } : this.#disk.save(placement));
    });
  }

  #killTree(id: string): HostEvent[] {
    const { killed, exit } = this.#player.kill(id);
    const told: HostEvent[] =
      exit !== null && this.#state.attempts[id]?.main === "running" ? [{ type: "exited", id, exit }] : [];
    return [...told, { type: "tree_gone", id, killed }];
  }
}
