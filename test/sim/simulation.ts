import { isAccepted } from "../../src/core/allocation/placements/placed.ts";
import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import { isRepeated } from "../../src/core/allocation/user/idempotency.ts";
import { whyRefused } from "../../src/core/allocation/user/requests.ts";
import { replaceKey } from "../../src/core/pool/record.ts";
import { groupOf } from "../../src/core/spec.ts";
import type { PlacementRow } from "../../src/core/worker/state.ts";
import { type Timer, until } from "../../src/objects/waiting.ts";
import type { PoolConfig } from "../../src/schema/pool.ts";
import { projectOfRun, runIdIn } from "../../src/shared/access/project.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { ACKNOWLEDGE_MS } from "../../src/shared/limits.ts";
import { Audit } from "./audit.ts";
import { Awaited } from "./awaited.ts";
import { billOf, type MachineBill } from "./bill.ts";
import { type Account, Cloud, type Refusal, refusal } from "./cloud.ts";
import { drive } from "./drive.ts";
import { checkEntries, isEntryOwed } from "./entries.ts";
import { ALL_FAULTS, type Fault, MOST_OFF_MS } from "./faults.ts";
import { type ControlPlane, Host } from "./host.ts";
import { type Schedules, schedulesOf } from "./jobs/schedules.ts";
import { keyed } from "./keys.ts";
import { Liar } from "./liar.ts";
import { type Machines, Objects, REAL_MACHINES } from "./objects.ts";
import { NAMES, Operator } from "./operator.ts";
import { Plane } from "./plane.ts";
import type { Watch } from "./player.ts";
import type { PleaAnswer } from "./pleas.ts";
import { ENDPOINT, SETTINGS } from "./receiver.ts";
import { followedBy, related } from "./relations.ts";
import { retried } from "./retries.ts";
import { Chance } from "./rng.ts";
import { Truth } from "./truth.ts";
import { type Job, jobs, type Plea, POOL, poolOf, SHORT_RUNS } from "./workload.ts";
import { type Line, NoReply, type Violation, World } from "./world.ts";

export interface Options {
  seed: number;
  /** Steps with faults; after them nothing fails any more, and everything must come to its end. */
  steps: number;
  runs: number;
  faults: Fault[];
  machines: Machines;
  /** What is submitted; drawn by chance if absent. */
  jobs?: Job[];
  /** Within which time that is submitted; absent: by the number of runs. */
  withinMs?: number | undefined;
  /** Where the world is another than usual. */
  setting?: Setting;
  /** Whether there are jobs; drawn by chance if absent. */
  hasJobs?: boolean | undefined;
  /** After each step all is looked at, and not only what has changed: slow, and it must find nothing more. */
  looksAtAll?: boolean;
}

export interface Setting {
  pool?: PoolConfig;
  account?: Account;
  rates?: Partial<Record<Fault, number>>;
  /** No storage takes a write in this time, counted from the beginning. */
  outage?: { fromMs: number; forMs: number };
  /** When all objects are started anew, as by a deployment: all sockets break at once. */
  deployedAtMs?: number;
  /** The provider refuses every call in this time, counted from the beginning. */
  refusesAll?: Refusal;
  /** The host that lies has room, so that runs are placed on it. */
  liarHasRoom?: boolean;
  /** Faults go on until everything has come to its end. */
  relentless?: boolean;
}

export interface Result {
  violation: Violation | undefined;
  story: Line[];
  steps: number;
  virtualMs: number;
  ends: Record<string, number>;
  /** Each run as it was when it ended. */
  ended: Map<string, AllocationRecord>;
  /** Each machine that was paid for, and what it was used for. */
  bill: MachineBill[];
  /** The calls to the provider. */
  calls: Cloud["calls"];
  /**
   * What a host that lies has said, and what that has cost: objects asked, and rows of runs that were never
   * placed there. Undefined: there was none.
   */
  lies: { reports: number; asked: number; rows: number } | undefined;
  /** Runs that were placed on a host that lies. */
  onLiar: Set<string>;
}

export const DEFAULTS = { runs: SHORT_RUNS, faults: ALL_FAULTS, machines: REAL_MACHINES };

/** Steps that the quiet end may take: far more than it ever needs. The second: for each run beyond a few. */
const QUIET_STEPS = 60_000;
const QUIET_STEPS_OF_RUN = 1_000;
const CRON_MS = 300_000;
/** Steps after which it is looked whether a story with faults to its end is there. */
const ASKED_EACH = 100;
/** For how long a machine that falls ill is well, at most. */
const HEALTHY_MS = 300_000;
const UNREST_MS = 20_000;
/** How long before its end a spot machine may get notice. */
const NOTICE_MS = 120_000;
/** For how long a disk is full, at most: more than an alarm is tried again for. */
const LONGEST_FULL_MS = 600_000;
const LONGEST_AWAY_MS = 400_000;
/** Until somebody acts on tasks that were started: by then it is known that they run. */
const ACT_AFTER_MS = 5_000;
/** The self-hosted machine, of which there is one at most, and for how long its code can be used. */
const OWN = "default-sim-own";
const OWN_CODE_MS = 120_000;
/** The machine of a host that lies. Unless the setting says so nothing has room there, so it gets no run. */
const LIAR = "default-sim-liar";
const NO_ROOM = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };
const KILL = { type: "kill" as const, reason: "it is needed elsewhere", by: "operator" };

/** Runs one story to its end, or to its first violation. The same options give the same story. */
export async function simulate(options: Options): Promise<Result> {
  const simulation = new Simulation(options);
  const steps = await simulation.run();
  return simulation.result(steps);
}

class Simulation {
  readonly #options: Options;
  readonly #setting: Setting;
  readonly #world: World;
  readonly #audit: Audit;
  readonly #truth: Truth;
  readonly #objects: Objects;
  readonly #cloud: Cloud;
  readonly #operator: Operator;
  #ownBoots = 1;
  #liar: Liar | undefined;
  readonly #schedules: Schedules | undefined;
  readonly #jobs = new Map<string, Job>();
  readonly #acknowledgements = new Awaited();
  readonly #projectOfNext: () => string;
  /** Runs of which all is started that their `act` waits for. */
  readonly #acted = new Set<string>();
  /** For what clouds do, so that all other faults strike as they would without them. */
  readonly #cloudChance: Chance;
  readonly #timer: Timer = (ms, happen) => this.#world.time.after(ms, happen);

  constructor(options: Options) {
    this.#options = options;
    this.#cloudChance = new Chance(options.seed ^ 0x51ab3d27);
    const { setting = {} } = options;
    const { pool, projectOfNext } =
      setting.pool === undefined
        ? poolOf(options.seed)
        : { pool: setting.pool, projectOfNext: () => "default" };
    this.#setting = { ...setting, pool };
    this.#projectOfNext = projectOfNext;
    this.#world = new World(options.seed, options.faults, setting.rates);
    this.#audit = new Audit(this.#world, options.seed, options.looksAtAll);
    this.#objects = new Objects(this.#world, options.machines, this.#audit);
    const boot = {
      boot: (worker: string, dead: boolean) => this.#boot(worker, dead),
      end: (worker: string, why: string) => this.#end(worker, why),
    };
    const chance = new Chance(options.seed ^ 0x7f4a7c15);
    const namesAreFree = TRAITS[pool.provider.kind].freesNames === true;
    this.#cloud = new Cloud(this.#world, boot, chance, { namesAreFree, ...setting.account });
    this.#objects.cloud = this.#cloud;
    this.#truth = new Truth(this.#world, this.#objects);
    this.#audit.begin(this.#objects, this.#cloud);
    this.#schedules = schedulesOf(options, {
      world: this.#world,
      objects: this.#objects,
      audit: this.#audit,
      timer: this.#timer,
    });
    this.#operator = new Operator(this.#world, this.#objects, this.#audit, pool, options.seed);
  }

  async run(): Promise<number> {
    this.#begin();
    let steps = await this.#steps(0, (n) => n < this.#options.steps && !this.#isDone(n));
    this.#world.quiet = true;
    this.#world.readOnlyUntil = 0;
    for (const host of this.#audit.hosts.values()) Object.assign(host, { cutOffUntil: 0, fullUntil: 0 });
    this.#world.awayUntil = 0;
    const more = Math.max(0, this.#options.runs - SHORT_RUNS);
    const last = steps + QUIET_STEPS + more * QUIET_STEPS_OF_RUN;
    steps = await this.#steps(steps, (n) => n < last && this.#isUnsettled());
    const unfinished = this.#audit.unfinished();
    if (unfinished !== undefined) this.#world.violated(unfinished.text, ...unfinished.about);
    const job = this.#schedules?.unfinished();
    if (job !== undefined) this.#world.violated(`5: ${job} never comes to its end`, job);
    this.#audit.afterAll(this.#options.faults.length === 0);
    this.#schedules?.afterAll();
    checkEntries(this.#objects, this.#world);
    this.#audit.events.check(this.#objects.webhook.disk);
    return steps;
  }

  #isUnsettled(): boolean {
    if (this.#schedules?.unfinished() !== undefined) return true;
    if (this.#audit.unfinished() !== undefined || isEntryOwed(this.#objects)) return true;
    return this.#audit.events.isOwed(this.#objects.webhook.disk);
  }

  /** Whether a story with faults to its end is at its end: a long question, which is not asked each time. */
  #isDone(steps: number): boolean {
    const asks = this.#setting.relentless === true && steps % ASKED_EACH === 0;
    return asks && this.#audit.unfinished() === undefined;
  }

  result(steps: number): Result {
    const ends: Record<string, number> = {};
    for (const [name, { disk }] of this.#objects.allocations) {
      // One of nobody, of which a host has lied.
      if (disk.value === null) continue;
      const end = this.#audit.ended.get(name)?.outcome?.state ?? "none";
      ends[end] = (ends[end] ?? 0) + 1;
    }
    const { violation, story } = this.#world;
    const bill = billOf(this.#cloud, this.#audit);
    return {
      violation,
      story,
      steps,
      virtualMs: this.#world.now,
      ends,
      ended: this.#audit.ended,
      bill,
      calls: this.#cloud.calls,
      lies: this.#liesTold(),
      onLiar: this.#audit.onLiar,
    };
  }

  #liesTold(): Result["lies"] {
    if (this.#liar === undefined) return undefined;
    // Only the worker writes them.
    const placements = this.#objects.workers.get(LIAR)?.disk.tables.get("placements")?.values() ?? [];
    const rows = ([...placements] as PlacementRow[]).filter(({ run }) => !this.#audit.onLiar.has(run)).length;
    return { reports: this.#liar.reports, asked: this.#objects.askedBy.get(LIAR) ?? 0, rows };
  }

  /**
   * Things happen one after the other, each with everything that follows from it at once, as long as they are
   * wanted, something is left to happen, and nothing is violated. Returns how many steps there were then.
   */
  async #steps(before: number, isWanted: (steps: number) => boolean): Promise<number> {
    let steps = before;
    let isUnderWay = false;
    await drive(() => {
      if (isUnderWay) {
        this.#settle();
        if (this.#world.violation !== undefined) return false;
        steps += 1;
      }
      isUnderWay = isWanted(steps) && this.#world.time.step();
      return isUnderWay;
    });
    return steps;
  }

  #settle(): void {
    for (const node of this.#world.dying) node.bury();
    this.#world.dying.clear();
    this.#audit.afterStep();
    this.#truth.afterStep();
  }

  #begin(): void {
    const { time, chance } = this.#world;
    const { pool: config = POOL } = this.#setting;
    const configure = { ...NAMES, revision: 1, config };
    this.#audit.retentionMs = durationMs(config.retention.runs);
    void this.#world.retrying(() =>
      this.#objects.pool.serve((actor) => void actor.apply({ type: "configure", body: configure })),
    );
    const follow = {
      type: "configure_webhook" as const,
      body: { webhook: ENDPOINT, revision: 1, settings: SETTINGS },
    };
    void this.#world.retrying(() => this.#objects.webhook.serve((actor) => void actor.apply(follow)));
    this.#audit.events.begin();
    const { seed, runs, withinMs } = this.#options;
    const made = this.#options.jobs ?? jobs(runs, chance, withinMs);
    const named = made.map((job) => ({ ...job, id: runIdIn(this.#projectOfNext(), job.id) }));
    const submitted =
      this.#options.jobs === undefined ? retried(keyed(related(named, seed), seed), seed) : named;
    this.#audit.submitted = submitted.length;
    for (const job of submitted) {
      this.#jobs.set(job.id, job);
      this.#audit.groups.set(job.id, groupOf(job.spec));
      if (job.spec.sticky) this.#audit.sticky.add(job.id);
      const key = replaceKey({ project: projectOfRun(job.id), replace: job.spec.replace });
      if (key !== undefined) this.#audit.keys.set(job.id, key);
      this.#audit.concurrency.submitted(job);
      this.#audit.following.follows.set(job.id, followedBy(job, submitted));
      if (job.spec.array !== undefined) this.#audit.following.arrays.set(job.id, job.spec.array);
      time.after(job.submitAtMs, () => void this.#submit(job));
      if (job.abortAtMs !== null) time.after(job.abortAtMs, () => void this.#abort(job));
      for (const plea of job.pleas) time.after(plea.atMs, () => void this.#plead(job, plea));
    }
    if (this.#world.strikes("ownMachine")) time.after(chance.between(0, 60_000), () => void this.#invite());
    const apart = new Chance(~this.#options.seed);
    if (this.#world.strikes("liar", apart))
      time.after(apart.between(0, 60_000), () => void this.#inviteLiar());
    this.#schedules?.begin(this.#projectOfNext);
    const { outage, deployedAtMs } = this.#setting;
    if (outage !== undefined) this.#fail(outage.fromMs, outage.forMs);
    if (deployedAtMs !== undefined) time.after(deployedAtMs, () => this.#deploy());
    const refusals = this.#world.strikes("refusesAll") ? refusal(chance) : this.#setting.refusesAll;
    if (refusals !== undefined) time.after(refusals.fromMs, () => this.#cloud.refuseAll(refusals));
    this.#cron();
    this.#unrest();
  }

  #fail(fromMs: number, forMs: number): void {
    this.#world.time.after(fromMs, () => {
      this.#world.tell("storage", `it takes no writes for ${forMs / 1_000} s`);
      this.#world.readOnlyUntil = Math.max(this.#world.readOnlyUntil, this.#world.now + forMs);
      this.#world.readOnlyMs += forMs;
    });
  }

  #deploy(): void {
    this.#world.tell("platform", "all objects are started anew");
    for (const node of this.#objects.all()) node.kill();
  }

  /** A self-hosted machine joins. Whoever did that takes it away again at the end, when nothing fails. */
  async #invite(): Promise<void> {
    const { time, chance } = this.#world;
    await this.#makeCode(OWN);
    const plane = this.#planeOf(OWN);
    const host = new Host(this.#world, OWN, plane, this.#watch);
    this.#audit.hosts.set(OWN, host);
    time.after(chance.between(1_000, OWN_CODE_MS), () => void host.startAgent());
    await this.#takeAway(OWN);
  }

  async #makeCode(worker: string): Promise<void> {
    this.#world.tell(worker, "a self-hosted machine may join");
    const event = { type: "invite" as const, worker, ttlMs: OWN_CODE_MS, by: "operator" };
    await this.#world.retrying(() => this.#objects.pool.serve((actor) => void actor.apply(event)));
  }

  /** A host that lies joins, with nothing on it but its agent. */
  async #inviteLiar(): Promise<void> {
    await this.#makeCode(LIAR);
    this.#world.tell(LIAR, "its host is going to lie");
    const { liarHasRoom = false } = this.#setting;
    this.#audit.liarHasRoom = liarHasRoom;
    const room = liarHasRoom ? undefined : NO_ROOM;
    const plane = new Plane(this.#world, this.#objects, LIAR, () => 1, this.#timer, room);
    const targets = [...this.#audit.groups].map(([run, { tasks }]) => ({
      run,
      tasks: tasks.map(({ name }) => name),
    }));
    const liar = new Liar(this.#world, LIAR, plane, targets, liarHasRoom);
    this.#liar = liar;
    void liar.live();
    await this.#takeAway(LIAR, () => {
      liar.over = true;
    });
  }

  /** An operator takes a machine away once all that runs elsewhere has ended. */
  async #takeAway(worker: string, unplug = () => {}): Promise<void> {
    const isGone = () => this.#objects.workers.get(worker)?.disk.value?.phase === "gone";
    while (!isGone()) {
      await this.#world.time.sleep(UNREST_MS);
      const over = this.#world.quiet && this.#audit.isAllEnded();
      if (!over) continue;
      unplug();
      await this.#world.retrying(() => this.#objects.worker(worker).serve((actor) => void actor.apply(KILL)));
    }
    unplug();
  }

  /** A client that goes on until it is told that its run is stored. */
  async #submit({ id, spec }: Job): Promise<void> {
    const follows = this.#audit.following.follows.get(id) ?? [];
    // As the edge: a run is taken only if those that it follows exist (api.md#after).
    for (const one of follows.flatMap(({ runs }) => runs)) await this.#acknowledgements.of(one);
    await this.#world.retrying(() =>
      this.#world.call("client", id, "submit", () =>
        this.#objects.allocation(id).serve(async (actor) => {
          actor.apply({
            type: "submitted",
            id,
            spec,
            hash: id,
            by: "user",
            project: projectOfRun(id),
            budget: null,
          });
          // One that has ended and was deleted since is answered, too: it was taken.
          const accepted = () => isAccepted(actor.state) || actor.state.tombstone !== undefined;
          const told = await until(actor, accepted, ACKNOWLEDGE_MS, this.#timer);
          if (!told) throw new NoReply("not acknowledged");
        }),
      ),
    );
    this.#audit.acknowledged.add(id);
    this.#acknowledgements.come(id);
    this.#world.tell(id, "is acknowledged");
  }

  async #abort({ id }: Job): Promise<void> {
    this.#world.tell(id, "is aborted by its user");
    const apply = () =>
      this.#objects
        .allocation(id)
        .serve((actor) => void actor.apply({ type: "abort", reason: "enough", by: "user" }));
    await this.#world.retrying(() => this.#world.call("client", id, "abort", apply));
  }

  /** As the object serves it: what was refused is told, and what was done is not done again. */
  async #plead({ id }: Job, plea: Plea): Promise<void> {
    const { request } = plea;
    const ask = { key: request.by, hash: request.by };
    const serve = () =>
      this.#objects.allocation(id).serve((actor): PleaAnswer => {
        const { record } = actor.state;
        if (record === null) return "no such run";
        if (isRepeated(record, ask)) return "done";
        if (whyRefused({ ...actor.state, record }, request) !== null) return "refused";
        actor.apply({ ...plea, key: ask });
        return "done";
      });
    await this.#world.retrying(async () => {
      const answer = await this.#world.call("client", id, plea.type, serve);
      this.#world.tell(
        id,
        `${request.by} asks for a ${plea.type} of ${request.task ?? "its tasks"}: ${answer}`,
      );
      this.#audit.pleas.answered({ run: id, plea, answer });
    });
  }

  readonly #watch: Watch = {
    started: (process) => {
      this.#audit.started(process);
      const job = this.#jobs.get(process.run);
      const there = (name: string) => process.task === name || this.#audit.hasStarted(process.run, name);
      if (job?.act === undefined || this.#acted.has(job.id) || !job.act.once.every(there)) return;
      const { what } = job.act;
      this.#acted.add(job.id);
      this.#world.time.after(ACT_AFTER_MS, () => {
        if (what === "abort") void this.#abort(job);
        else this.#audit.hosts.get(process.worker)?.restartAgent();
      });
    },
    died: (process) => this.#audit.died(process),
    signaled: (process) => this.#audit.pleas.signaled(process),
  };

  #cron(): void {
    this.#world.time.after(CRON_MS, () => {
      for (const poke of this.#objects.poked()) void poke().catch(() => undefined);
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
    const fullMs = world.chance.between(1_000, LONGEST_FULL_MS);
    if (world.strikes("fullDisk")) this.#fail(0, fullMs);
    if (world.strikes("planeAway")) this.#leave();
    this.#operator.strike();
    this.#strikeCloud();
    if (world.strikes("planeClock")) this.#setClock(world.chance.between(-MOST_OFF_MS, MOST_OFF_MS));
    if (host === undefined) return;
    if (world.strikes("fullHost")) host.fillDisk(fullMs);
    if (world.strikes("hostClock")) host.sleep(world.chance.between(1_000, 60_000));
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

  /** What clouds do that are no service of one's own. */
  #strikeCloud(): void {
    const [world, chance] = [this.#world, this.#cloudChance];
    const [outageMs, scarceMs] = [chance.between(10_000, 600_000), chance.between(10_000, 300_000)];
    const zone = chance.pick(["a", "b"]) ?? "a";
    if (world.strikes("newAgent", chance)) this.#objects.agent += 1;
    if (this.#setting.pool?.provider.kind === "http") return;
    if (world.strikes("zoneOutage", chance)) this.#cloud.loseZone(zone, outageMs);
    if (world.strikes("scarceCalls", chance)) this.#cloud.runShort(scarceMs);
    const host = chance.pick(
      [...this.#audit.hosts.values()].filter((one) => !one.dead && one.worker !== OWN),
    );
    if (host === undefined || !world.strikes("takenBack", chance)) return;
    const afterMs = chance.chance(0.5) ? NOTICE_MS : 0;
    if (afterMs > 0) host.giveNotice("it is taken back in 2m");
    world.time.after(afterMs, () => void this.#cloud.takeBack(host.worker));
  }

  /**
   * The control plane is gone for a while: deadlines pass, hosts are alone, and nothing of it is remembered.
   */
  #leave(): void {
    const ms = this.#world.chance.between(1_000, LONGEST_AWAY_MS);
    this.#world.tell("platform", `the control plane is away for ${Math.round(ms / 1_000)} s`);
    this.#world.awayUntil = this.#world.now + ms;
    for (const node of this.#objects.all()) node.kill();
  }

  #setClock(aheadMs: number): void {
    const byMs = aheadMs - this.#world.planeAheadMs;
    this.#world.tell("platform", `the control plane's clock jumps by ${Math.round(byMs / 1_000)} s`);
    this.#world.planeWasAt = Math.max(this.#world.planeWasAt, this.#world.planeNow);
    this.#world.planeAheadMs = aheadMs;
    this.#world.planeJumpedMs += Math.abs(byMs);
    this.#world.jumpedAt = this.#world.now;
    for (const node of this.#objects.all()) node.clockJumped();
  }

  /** Of a self-hosted machine a kill takes its runs: there the agent's word decides when they are lost. */
  #tend(worker: string): void {
    const kills = worker === OWN && this.#world.chance.chance(0.5);
    this.#world.tell(worker, `an operator ${kills ? "kills" : "drains"} it`);
    const event = kills ? KILL : { type: "behavior" as const, behavior: "drain" as const, by: "operator" };
    void this.#objects
      .worker(worker)
      .serve((actor) => void actor.apply(event))
      .catch(() => undefined);
  }

  #boot(worker: string, dead: boolean): void {
    const world = this.#world;
    const host = new Host(world, worker, this.#planeOf(worker), this.#watch);
    this.#audit.hosts.set(worker, host);
    this.#audit.machineChanged(worker);
    this.#fallIll(host);
    if (world.strikes("deadBoot") || dead) {
      host.ill = "silent";
      world.tell(worker, "its machine boots, and says nothing");
    } else world.time.after(world.chance.between(1_000, 40_000), () => void host.startAgent());
  }

  /** Some machines stop answering one day, and some find out that they are broken. */
  #fallIll(host: Host): void {
    const world = this.#world;
    const afterMs = world.chance.between(1_000, HEALTHY_MS);
    const [deaf, broken] = [world.strikes("deafMachine"), world.strikes("brokenMachine")];
    if (!deaf && !broken) return;
    host.ill = deaf ? "deaf" : "broken";
    world.time.after(afterMs, () => {
      if (world.quiet) return;
      world.tell(host.worker, deaf ? "its host stops answering" : "its host finds its machine broken");
      if (deaf) host.cutOffUntil = Number.POSITIVE_INFINITY;
      else host.broken = "its disk gives errors";
    });
  }

  #end(worker: string, why: string): void {
    if (why === "it is destroyed") this.#audit.destroyed(worker);
    this.#audit.machineChanged(worker);
    this.#audit.hosts.get(worker)?.die(why);
  }

  /** A self-hosted machine reboots; those of the cloud boot once. */
  #planeOf(worker: string): ControlPlane {
    const boots = () => (worker === OWN ? this.#ownBoots : 1);
    return new Plane(this.#world, this.#objects, worker, boots, this.#timer);
  }
}
