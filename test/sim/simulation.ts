import { DroverError } from "../../src/core/errors.ts";
import { ACKNOWLEDGE_MS } from "../../src/core/limits.ts";
import { groupOf } from "../../src/core/spec.ts";
import type { WorkerState } from "../../src/core/worker/state.ts";
import { exchange } from "../../src/objects/exchange.ts";
import { type Timer, until } from "../../src/objects/waiting.ts";
import type { HostSetup, Orders, Report } from "../../src/schema/host.ts";
import { Audit } from "./audit.ts";
import { Cloud } from "./cloud.ts";
import { ALL_FAULTS, type Fault } from "./faults.ts";
import { type ControlPlane, Host } from "./host.ts";
import { type Machines, Objects, REAL_MACHINES, type WorkerNode } from "./objects.ts";
import { type HostEnd, SimSocket } from "./socket.ts";
import { type Job, jobs, POOL } from "./workload.ts";
import { type Line, NoReply, type Violation, World } from "./world.ts";

export interface Options {
  seed: number;
  /** Steps with faults; after them nothing fails any more, and everything must come to its end. */
  steps: number;
  runs: number;
  faults: Fault[];
  machines: Machines;
}

export interface Result {
  violation: Violation | undefined;
  story: Line[];
  steps: number;
  virtualMs: number;
  ends: Record<string, number>;
}

export const DEFAULTS = { runs: 8, faults: ALL_FAULTS, machines: REAL_MACHINES };

/** Steps for which the quiet end may take: far more than it ever needs. */
const QUIET_STEPS = 60_000;
const CRON_MS = 300_000;
const UNREST_MS = 20_000;
/** The machine of one's own, of which there is one at most, and for how long its code can be used. */
const OWN = "default-sim-own";
const OWN_CODE_MS = 120_000;
const OWN_VCPUS = 3;
const KILL = { type: "kill" as const, reason: "it is needed elsewhere", by: "operator" };

/** Runs one story to its end, or to its first violation. The same options give the same story. */
export async function simulate(options: Options): Promise<Result> {
  const simulation = new Simulation(options);
  const steps = await simulation.run();
  return simulation.result(steps);
}

class Simulation {
  readonly #options: Options;
  readonly #world: World;
  readonly #audit: Audit;
  readonly #objects: Objects;
  readonly #cloud: Cloud;
  #ownBoots = 1;
  readonly #timer: Timer = (ms, happen) => this.#world.time.after(ms, happen);

  constructor(options: Options) {
    this.#options = options;
    this.#world = new World(options.seed, options.faults);
    this.#audit = new Audit(this.#world);
    this.#objects = new Objects(this.#world, options.machines, this.#audit);
    this.#cloud = new Cloud(this.#world, {
      boot: (worker) => this.#boot(worker),
      end: (_instance, why) => this.#end(_instance, why),
    });
    this.#objects.cloud = this.#cloud;
    this.#audit.objects = this.#objects;
    this.#audit.cloud = this.#cloud;
  }

  async run(): Promise<number> {
    this.#begin();
    let steps = 0;
    for (; steps < this.#options.steps && (await this.#step()); steps += 1);
    this.#world.quiet = true;
    for (const host of this.#audit.hosts.values()) host.cutOffUntil = 0;
    const last = steps + QUIET_STEPS;
    for (; steps < last && this.#audit.unfinished() !== undefined && (await this.#step()); steps += 1);
    const unfinished = this.#audit.unfinished();
    if (unfinished !== undefined) this.#world.violated(unfinished.text, ...unfinished.about);
    return steps;
  }

  result(steps: number): Result {
    const ends: Record<string, number> = {};
    for (const { disk } of this.#objects.allocations.values()) {
      const end = disk.value?.ended ? (disk.value.outcome?.state ?? "?") : "none";
      ends[end] = (ends[end] ?? 0) + 1;
    }
    const { violation, story } = this.#world;
    return { violation, story, steps, virtualMs: this.#world.now, ends };
  }

  /**
   * One thing happens, and everything that follows from it at once. False at a violation, or when nothing is
   * left.
   */
  async #step(): Promise<boolean> {
    if (!this.#world.time.step()) return false;
    await new Promise((resolve) => setImmediate(resolve));
    for (const node of this.#objects.all()) node.bury();
    this.#audit.afterStep();
    return this.#world.violation === undefined;
  }

  #begin(): void {
    const { time, chance } = this.#world;
    const configure = { pool: "default", revision: 1, config: POOL, seed: "sim" };
    void this.#retrying(() =>
      this.#objects.pool.serve((actor) => void actor.apply({ type: "configure", configure })),
    );
    this.#audit.submitted = this.#options.runs;
    for (const job of jobs(this.#options.runs, chance)) {
      this.#audit.groups.set(job.id, groupOf(job.spec));
      time.after(job.submitAtMs, () => void this.#submit(job));
      if (job.abortAtMs !== null) time.after(job.abortAtMs, () => void this.#abort(job));
    }
    if (this.#world.strikes("ownMachine")) time.after(chance.between(0, 60_000), () => void this.#invite());
    this.#cron();
    this.#unrest();
  }

  /** A machine of one's own joins. Whoever did that takes it away again at the end, when nothing fails. */
  async #invite(): Promise<void> {
    const { time, chance } = this.#world;
    this.#world.tell(OWN, "a machine of one's own may join");
    const event = { type: "invite" as const, worker: OWN, notAfter: this.#world.now + OWN_CODE_MS };
    await this.#retrying(() => this.#objects.pool.serve((actor) => void actor.apply(event)));
    const plane = this.#planeOf(OWN);
    const host = new Host(this.#world, OWN, plane, (process) => this.#audit.started(process));
    this.#audit.hosts.set(OWN, host);
    time.after(chance.between(1_000, OWN_CODE_MS), () => void host.startAgent());
    await this.#takeAway();
  }

  async #takeAway(): Promise<void> {
    const isGone = () => this.#objects.workers.get(OWN)?.disk.value?.phase === "gone";
    while (!isGone()) {
      await this.#world.time.sleep(UNREST_MS);
      const over = this.#world.quiet && this.#audit.isAllEnded();
      if (over)
        await this.#retrying(() => this.#objects.worker(OWN).serve((actor) => void actor.apply(KILL)));
    }
  }

  /** A client that goes on until it is told that its run is stored. */
  async #submit({ id, spec }: Job): Promise<void> {
    await this.#retrying(() =>
      this.#world.call("client", id, "submit", () =>
        this.#objects.allocation(id).serve(async (actor) => {
          actor.apply({ type: "submitted", id, spec, hash: id });
          const accepted = () => actor.state.memo.accepted;
          const told = await until(actor, accepted, ACKNOWLEDGE_MS, this.#timer);
          if (!told) throw new NoReply("not acknowledged");
        }),
      ),
    );
    this.#audit.acknowledged.add(id);
    this.#world.tell(id, "is acknowledged");
  }

  async #abort({ id }: Job): Promise<void> {
    this.#world.tell(id, "is aborted by its user");
    const apply = () =>
      this.#objects
        .allocation(id)
        .serve((actor) => void actor.apply({ type: "abort", reason: "enough", by: "user" }));
    await this.#retrying(() => this.#world.call("client", id, "abort", apply));
  }

  async #retrying(attempt: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await attempt();
      } catch {
        await this.#world.time.sleep(1_000);
      }
    }
  }

  #cron(): void {
    this.#world.time.after(CRON_MS, () => {
      void this.#objects.pool.serve((actor) => void actor.apply({ type: "tick" })).catch(() => undefined);
      this.#cron();
    });
  }

  /** Now and then an object is evicted, a machine dies, an agent is restarted, a host is cut off. */
  #unrest(): void {
    const { time, chance } = this.#world;
    time.after(chance.between(1_000, 2 * UNREST_MS), () => {
      this.#strike();
      this.#unrest();
    });
  }

  #strike(): void {
    const world = this.#world;
    const node = world.chance.pick([...this.#objects.all()]);
    const host = world.chance.pick([...this.#audit.hosts.values()].filter((one) => !one.dead));
    if (world.strikes("crash")) node?.kill();
    if (host === undefined) return;
    if (world.strikes("drain")) this.#tend(host.worker);
    if (host.worker === OWN && world.strikes("machineDeath")) {
      this.#ownBoots += 1;
      host.reboot();
    } else if (world.strikes("machineDeath")) this.#cloud.end(host.worker, "it dies by itself");
    else if (world.strikes("agentRestart")) host.restartAgent();
    else if (world.strikes("partition")) {
      const ms = world.chance.between(1_000, 900_000);
      world.tell(host.worker, `its host is cut off for ${Math.round(ms / 1_000)} s`);
      host.cutOffUntil = world.now + ms;
    }
  }

  /** Of a machine of one's own a kill takes its runs: there the agent's word decides when they are lost. */
  #tend(worker: string): void {
    const kills = worker === OWN && this.#world.chance.chance(0.5);
    this.#world.tell(worker, `an operator ${kills ? "kills" : "drains"} it`);
    const event = kills ? KILL : { type: "behavior" as const, behavior: "drain" as const, by: "operator" };
    void this.#objects
      .worker(worker)
      .serve((actor) => void actor.apply(event))
      .catch(() => undefined);
  }

  #boot(worker: string): void {
    const world = this.#world;
    const host = new Host(world, worker, this.#planeOf(worker), (process) => this.#audit.started(process));
    this.#audit.hosts.set(worker, host);
    if (world.strikes("deadBoot")) world.tell(worker, "its machine boots, and says nothing");
    else world.time.after(world.chance.between(1_000, 40_000), () => void host.startAgent());
  }

  #end(instance: string, why: string): void {
    const worker = instance.slice("i-".length);
    if (why === "it is destroyed") this.#audit.destroyed(worker);
    this.#audit.hosts.get(worker)?.die(why);
  }

  /** What the edge and the worker's object do with a host's calls. */
  #planeOf(worker: string): ControlPlane {
    const node = this.#objects.worker(worker);
    const call = <Reply>(what: string, serve: () => Promise<Reply>) =>
      this.#world.call(`host of ${worker}`, worker, what, serve);
    const own = worker === OWN;
    // Where a host is, a socket may not get through: then it works by webhook alone.
    const sockets = this.#world.chance.chance(0.5);
    const bootId = () => `boot ${own ? this.#ownBoots : 1} of ${worker}`;
    const resources = { vcpus: OWN_VCPUS, memoryBytes: 2 ** 34, diskBytes: 2 ** 34, gpus: 0 };
    let joins = 0;
    return {
      enroll: () =>
        call("enroll", () =>
          node.serve((actor) =>
            setupOf(actor.apply({ type: "enroll", secret: worker, bootId: bootId(), resources }), sockets),
          ),
        ),
      join: () => {
        joins += 1;
        const event = { type: "join" as const, id: `join ${joins}`, bootId: bootId() };
        return call("join", () => node.serve((actor) => setupOf(actor.apply(event), sockets)));
      },
      report: (report, waitMs) => call(`report ${report.seq}`, () => this.#serveReport(node, report, waitMs)),
      connect: (host) => call("connect", () => this.#connect(node, worker, host)),
    };
  }

  #connect(node: WorkerNode, worker: string, host: HostEnd): Promise<SimSocket> {
    const receive = (socket: SimSocket, report: Report) =>
      void node
        .serve((actor) => {
          this.#world.tell(worker, `hears report ${report.seq}${report.full ? ", full" : ""}`);
          this.#objects.lines.get(actor)?.received(socket, () => report);
        })
        .catch(() => undefined);
    return node.serve((actor) => {
      if (actor.state.record === null) throw new NoReply("no such worker");
      const socket = new SimSocket(this.#world, host, receive);
      this.#objects.connected(worker, socket, actor);
      return socket;
    });
  }

  #serveReport(node: WorkerNode, report: Report, waitMs: number): Promise<Orders | "stale"> {
    return node.serve(async (actor) => {
      try {
        return await exchange(actor, report, waitMs, () => this.#world.now, this.#timer);
      } catch (error) {
        if (error instanceof DroverError && error.code === "stale_incarnation") return "stale";
        if (error instanceof DroverError) throw new NoReply(error.code);
        throw error;
      }
    });
  }
}

function setupOf(state: WorkerState, sockets: boolean): HostSetup {
  const { record } = state;
  if (record === null) throw new NoReply("no such worker");
  if (record.phase === "shutdown" || record.phase === "gone") throw new NoReply("it is over");
  const { worker, settings } = record.intent;
  return {
    worker,
    incarnation: record.incarnation,
    reportUrl: worker,
    ...(sockets ? { socketUrl: worker } : {}),
    probe: { intervalMs: settings.probeIntervalMs, boot: settings.bootCommand },
    leaseMs: settings.leaseMs,
    agent: { version: "sim", sha256: "" },
  };
}
