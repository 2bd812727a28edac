import {
  type FakeAttempt,
  fakeEndsAt,
  fakeExit,
  fakeOrphaned,
  fakeSignaled,
  foundFake,
} from "../../agent/core/attempts/fake.ts";
import type { HostEvent } from "../../agent/core/events.ts";
import type { FoundAttempt } from "../../agent/core/journal.ts";
import type { Resources } from "../../src/schema/common.ts";
import type { Exit, SignalName, TaskSpec } from "../../src/schema/run/run.ts";
import type { FakeScript } from "../../src/schema/run/task.ts";
import { type AttemptParts, parseAttemptId } from "../../src/shared/attempt-id.ts";
import { type SimDisk, snapshotOf } from "./disk.ts";
import { NEEDS } from "./retries.ts";
import type { World } from "./world.ts";

/** One process tree on one machine: what the fake driver plays, taken for real. */
export interface Process extends AttemptParts {
  id: string;
  worker: string;
  resources: Resources;
  /** The bytes that it needs. */
  needs: number;
  fake: FakeAttempt;
  alive: boolean;
  exit: Exit | null;
  /** When it started and ended, on the clock of the world. */
  startedAt: number;
  endedAt: number;
  /** The numbers of the signals that somebody has sent it, as often as it got them. */
  signals: number[];
  /** The placements that its directories have data of, at its start (`SimDisk`). */
  data: string[];
}

/** Who is told what happens on a machine. */
export interface Watch {
  started(process: Process): void;
  /** It lives no more. */
  died(process: Process): void;
  /** Somebody's signal has reached it: its number is the last of `signals`. */
  signaled(process: Process): void;
}

/** The clock of a machine, which runs on its own. */
export interface LocalClock {
  now(): number;
  worldTime(localAt: number): number;
}

/** A clock that counts the sleeps of its machine. */
export interface SleepyClock extends LocalClock {
  sleep(ms: number): void;
  /** An instant of the clock that does not count them, by this one. */
  counting(awakeAt: number): number;
}

/** The same clock after sleeps that another does not count. */
export function sleepyClock(clock: LocalClock): SleepyClock {
  let sleptMs = 0;
  const sleeps: { at: number; ms: number }[] = [];
  return {
    now: () => clock.now() + sleptMs,
    worldTime: (localAt) => clock.worldTime(localAt - sleptMs),
    counting: (awakeAt) => sleeps.reduce((at, one) => (one.at <= awakeAt ? at + one.ms : at), awakeAt),
    sleep: (ms) => {
      sleeps.push({ at: clock.now(), ms });
      sleptMs += ms;
    },
  };
}

/** A clock that begins now, and of which one second takes `1 / rate` of the world's. */
export function localClock(world: World, rate: number): LocalClock {
  const bornAt = world.now;
  return {
    now: () => (world.now - bornAt) * rate,
    worldTime: (localAt) => bornAt + localAt / rate,
  };
}

/** How it ends: without enough memory the kernel ends it, unless somebody has ended it before. */
function exitOf({ fake, needs, resources }: Process): Exit {
  const exit = fakeExit(fake);
  if (exit.signal !== null || needs <= resources.memoryBytes) return exit;
  return { code: null, signal: "SIGKILL", oomKilled: true, message: "" };
}

/** The longest that a lock stays which comes loose by itself. */
const LONGEST_LOCK_MS = 60_000;

/** How many of the results cannot be stored. */
const LOST_OUTPUTS = 0.05;

/** How long a signal may take to have its effect. */
const SLOWEST_SIGNAL_MS = 2_000;

/**
 * The fake driver of a simulated machine: `agent/core/attempts/fake.ts` decides, as it does in the real
 * agent. What was ever claimed or killed lies on the machine's disk.
 */
export class Player {
  readonly processes = new Map<string, Process>();
  readonly claimed = new Set<string>();
  readonly #killed = new Set<string>();
  /** Until when something of a run holds on to the machine. */
  readonly #locks = new Map<string, number>();
  /** What was claimed before the machine was last without power. */
  #before = new Set<string>();
  readonly #world: World;
  readonly #worker: string;
  readonly #clock: LocalClock;
  readonly #disk: SimDisk;
  readonly #watch: Watch & { ended(event: HostEvent): void };

  constructor(
    world: World,
    worker: string,
    clock: LocalClock,
    disk: SimDisk,
    watch: Watch & { ended(event: HostEvent): void },
  ) {
    this.#world = world;
    this.#worker = worker;
    this.#clock = clock;
    this.#disk = disk;
    this.#watch = watch;
  }

  /** The id is claimed at once; the start may block, and a kill in between ends it. */
  start(id: string, { fake, env, resources }: TaskSpec): { blockMs: number; start: () => HostEvent } {
    // What a workload has written there: machines of the simulation only play.
    const script = fake ?? (JSON.parse(env.SCRIPT ?? "") as FakeScript);
    const refused = this.claimed.has(id);
    this.claimed.add(id);
    const start = (): HostEvent => {
      if (refused || this.#killed.has(id)) return { type: "refused", id };
      const { startError } = script;
      if (startError !== undefined)
        return { type: "launch_failed", id, startError: { code: "start_failed", ...startError } };
      return this.#launch(id, script, resources, Number(env[NEEDS] ?? 0));
    };
    return { blockMs: refused ? 0 : script.blockStartMs, start };
  }

  #launch(id: string, script: FakeScript, resources: Resources, needs: number): HostEvent {
    const parts = parseAttemptId(id);
    if (parts === undefined) throw new Error(`${id} is no id of an attempt`);
    const fake = { script, startedAt: this.#clock.now() };
    const startedAt = this.#world.now;
    const life = { alive: true, exit: null, startedAt, endedAt: Number.POSITIVE_INFINITY, signals: [] };
    const data = this.#disk.use(`${parts.run}/${parts.epoch}`);
    const process: Process = { ...parts, id, worker: this.#worker, resources, needs, fake, data, ...life };
    this.processes.set(id, process);
    this.#world.tell(parts.run, `${id} starts on ${this.#worker}`);
    this.#watch.started(process);
    this.#play(process, fake);
    if (this.#world.strikes("lostSupervisor"))
      this.#world.time.after(this.#world.chance.between(1, script.runForMs), () => this.#abandon(process));
    return { type: "launched", id, by: "cgroup" };
  }

  /** Its supervisor dies, and the process with it: nobody will know how it ended. */
  #abandon(process: Process): void {
    if (!process.alive) return;
    const { id, run, fake } = process;
    process.fake = { ...fake, lost: true };
    this.#loseIt(process);
    this.#world.tell(run, `${id} is gone with its supervisor`);
    this.#world.time.after(1, () => this.#watch.ended({ type: "exited", id, exit: null }));
  }

  /** The runs of which something holds on to this machine (workers.md#stale-runs). */
  stale(): string[] {
    return [...this.#locks].filter(([, until]) => this.#world.now < until).map(([run]) => run);
  }

  #play(process: Process, fake: FakeAttempt): void {
    process.fake = fake;
    this.#world.time.at(this.#clock.worldTime(fakeEndsAt(fake)), () => {
      if (process.fake === fake) this.#end(process);
    });
  }

  signal(id: string, signal: SignalName): void {
    const slowMs = this.#world.chance.between(1, SLOWEST_SIGNAL_MS);
    this.#world.time.after(this.#world.strikes("slowSignal") ? slowMs : 1, () => {
      const process = this.processes.get(id);
      if (process === undefined || !process.alive) return;
      const fake = fakeSignaled(process.fake, signal, this.#clock.now());
      if (fake !== process.fake) this.#play(process, fake);
    });
  }

  /** Somebody's signal, which has a number. */
  passOn(id: string, signal: SignalName, n: number): void {
    const process = this.processes.get(id);
    if (process === undefined || !process.alive) return;
    process.signals.push(n);
    this.#world.tell(process.run, `${id} gets ${signal}, number ${n}`);
    this.#watch.signaled(process);
    this.signal(id, signal);
  }

  /** Ends it at once, and for ever: it is never started after that. */
  kill(id: string): { killed: boolean; exit: Exit | null } {
    this.claimed.add(id);
    this.#killed.add(id);
    const process = this.processes.get(id);
    const killed = process?.alive === true;
    if (process !== undefined && killed) {
      process.fake = fakeSignaled(process.fake, "SIGKILL", this.#clock.now());
      this.#end(process);
    }
    return { killed, exit: process?.exit ?? null };
  }

  #end(process: Process): void {
    if (!process.alive) return;
    const { id, run } = process;
    const exit = exitOf(process);
    Object.assign(process, { alive: false, exit, endedAt: this.#world.now });
    this.#watch.died(process);
    this.#leaveLock(process);
    this.#world.tell(run, `${id} ends: ${exit.signal ?? `exit code ${exit.code}`}`);
    this.#world.time.after(1, () => this.#watch.ended({ type: "exited", id, exit }));
  }

  /** What it leaves as its result, which is made of its name; now and then that cannot be stored. */
  collect(id: string): HostEvent {
    if (this.#world.chance.chance(LOST_OUTPUTS)) {
      return { type: "collected", id, outputs: { error: "the simulated outputs are too large" } };
    }
    return { type: "collected", id, outputs: { snapshot: snapshotOf(id), files: 1, bytes: id.length } };
  }

  /** Its agent is killed: some die with that. */
  orphan(): void {
    for (const process of this.processes.values()) {
      process.fake = fakeOrphaned(process.fake, this.#clock.now());
      if (process.fake.lost) this.#loseIt(process);
    }
  }

  /** The machine is without power: nothing of it lives. */
  powerOff(): void {
    for (const process of this.processes.values()) this.#loseIt(process);
    this.#locks.clear();
    this.#before = new Set(this.claimed);
  }

  #loseIt(process: Process): void {
    if (!process.alive) return;
    Object.assign(process, { alive: false, endedAt: this.#world.now });
    this.#watch.died(process);
    this.#leaveLock(process);
  }

  /** A mount that hangs: some come loose, and some never do. */
  #leaveLock({ run }: Process): void {
    const looseAt = this.#world.now + this.#world.chance.between(1, LONGEST_LOCK_MS);
    if (!this.#world.strikes("staleLock")) return;
    const comesLoose = this.#world.chance.chance(0.5);
    this.#world.tell(run, `it leaves a lock on ${this.#worker}${comesLoose ? " for a while" : ""}`);
    this.#locks.set(run, comesLoose ? looseAt : Number.POSITIVE_INFINITY);
  }

  /** What a new start of the agent finds of an attempt. */
  find(id: string): FoundAttempt["main"] {
    const process = this.processes.get(id);
    if (process === undefined || this.#before.has(id)) return { kind: "lost" };
    const found = foundFake(process.fake, this.#clock.now());
    return found.kind === "ended" ? { ...found, exit: exitOf(process) } : found;
  }
}
