import type { AllocationRecord, Tombstone } from "../../src/core/allocation/state.ts";
import { isOpen, type RunRow, type WorkerRow } from "../../src/core/pool/record.ts";
import type { Group } from "../../src/core/spec.ts";
import type { WorkerRecord } from "../../src/core/worker/state.ts";
import type { LeftBehind } from "../../src/schema/pool.ts";
import { parseAttemptId } from "../../src/shared/attempt-id.ts";
import type { Cloud, Life } from "./cloud.ts";
import { MOST_DRIFT, MOST_OFF_MS } from "./faults.ts";
import { FollowAudit } from "./follow-audit.ts";
import { Force, unnamed } from "./force.ts";
import type { Host } from "./host.ts";
import { KeyAudit } from "./keys.ts";
import { MachineAudit } from "./machine-audit.ts";
import type { Objects, Audit as ObjectsAudit } from "./objects.ts";
import type { Process } from "./player.ts";
import { Pleas } from "./pleas.ts";
import { EventReceiver } from "./receiver.ts";
import { RetryAudit } from "./retry-audit.ts";
import { RETENTION_MS } from "./workload.ts";
import type { World } from "./world.ts";

/** The longest delay of a restart in any story: that of a spec that names none, and its jitter. */
const LONGEST_DELAY_MS = 15_000 * 1.25;
/** By how much a host's clock may be fast within a restart delay. */
const EARLY_MS = MOST_DRIFT * LONGEST_DELAY_MS;
/** What had been ordered of a broken machine before its worker knew may still start there for so long. */
const ON_ITS_WAY_MS = 60_000;

const HOUR_MS = 3_600_000;
/** Costs are sums of shares of an hour. */
const COUNTED_TO = 1e-4;

/** Epochs that a run may need in a simulation: more, and it is placed again and again in vain. */
const MOST_EPOCHS = 20;

/**
 * Looks after the invariants of rules.md#invariants: some when something is stored, the others after every
 * step.
 */
export class Audit implements ObjectsAudit {
  readonly #world: World;
  readonly hosts = new Map<string, Host>();
  readonly acknowledged = new Set<string>();
  /** Each run as it was when it ended. */
  readonly ended = new Map<string, AllocationRecord>();
  readonly pleas: Pleas;
  readonly force = new Force();
  readonly events: EventReceiver;
  /** Each run as it is stored. */
  readonly #stored = new Map<string, AllocationRecord>();
  /** What was submitted, by run. */
  readonly groups = new Map<string, Group>();
  readonly sticky = new Set<string>();
  readonly following: FollowAudit;
  /** By run: the key under which it replaces others. */
  readonly keys = new Map<string, string>();
  readonly concurrency: KeyAudit;
  /** Whether runs may be placed on a host that lies. */
  liarHasRoom = false;
  /** Runs that were placed on a host that lies: what it says of them counts. */
  readonly onLiar = new Set<string>();
  /** All processes that there have ever been, by run. */
  readonly #started = new Map<string, Process[]>();
  /** By worker: the project whose run was there first. */
  readonly #owners = new Map<string, string>();
  #machines: MachineAudit | undefined;
  readonly #retries: RetryAudit;
  readonly #looksAtAll: boolean;
  submitted = 0;
  retentionMs = RETENTION_MS;
  objects: Objects | undefined;
  cloud: Cloud | undefined;

  /** `looksAtAll`: after each step it looks at all, too, and finds that nothing was overlooked. */
  constructor(world: World, seed: number, looksAtAll = false) {
    this.#world = world;
    this.#looksAtAll = looksAtAll;
    this.#retries = new RetryAudit(world);
    this.events = new EventReceiver(world, seed);
    this.concurrency = new KeyAudit(world);
    this.following = new FollowAudit(world, this.ended, () => this.#runRows());
    this.pleas = new Pleas(world, this.ended, () => [...this.#started.values()].flat());
  }

  /** What is there to look at. */
  begin(objects: Objects, cloud: Cloud): void {
    this.objects = objects;
    this.cloud = cloud;
    this.#machines = new MachineAudit(this.#world, this.force, objects, cloud);
  }

  /** A machine of the cloud has come to be, or has ended. */
  machineChanged(worker: string): void {
    this.#machines?.changed(worker);
  }

  allocation(name: string, stored: AllocationRecord | Tombstone | null, after: typeof stored): void {
    const world = this.#world;
    if (after === null) {
      if (this.acknowledged.has(name)) world.violated(`1: ${name} was acknowledged, and is forgotten`, name);
      this.following.refused.add(name);
      return;
    }
    this.following.refused.delete(name);
    const before = stored !== null && "forgotten" in stored ? null : stored;
    if ("forgotten" in after) {
      const until = (before?.outcome?.at ?? 0) + this.retentionMs;
      const early = before !== null && after.forgotten < until - 2 * MOST_OFF_MS;
      this.following.forgotten.add(name);
      if (early) world.violated(`1: ${name} is forgotten before its retention is over`, name);
      return;
    }
    const onLiar = after.placements.find(({ worker }) => worker.endsWith("-liar"));
    if (onLiar !== undefined) {
      this.onLiar.add(name);
      if (!this.liarHasRoom)
        world.violated(`2: ${name} believes that it is on ${onLiar.worker}, which lies`, name, onLiar.worker);
    }
    if (after.endedEpoch > MOST_EPOCHS && !this.onLiar.has(name)) {
      world.violated(`R2: ${name} has had ${after.endedEpoch} epochs: it is placed in circles`, name);
    }
    this.pleas.stored(after);
    this.#retries.stored(name, after);
    this.#stored.set(name, after);
    if (before?.ended) this.#staysEnded(name, before, after);
    else if (after.ended) this.#endsWell(name, after);
  }

  /** The rest of what a worker stores is looked at after the step, together with what exists. */
  worker(name: string, before: WorkerRecord | null, after: WorkerRecord | null): void {
    this.force.stored(name, before, after, this.#world.now);
    this.#machines?.changed(name);
  }

  /** A hold ends by word of a host only once nobody can be at work there any more (tasks.md#kept-4). */
  #letsGo(name: string, { placements }: AllocationRecord): void {
    const { worker = "", outcome } = placements.at(-1) ?? {};
    if (outcome === "gone" && this.hosts.get(worker)?.mayBeInside(name))
      this.#world.violated(`R2: ${name} is let go while commands may run in it`, name, worker);
  }

  #staysEnded(name: string, before: AllocationRecord, after: AllocationRecord): void {
    if (before.hold !== undefined && after.hold === undefined) this.#letsGo(name, after);
    const same = after.ended && JSON.stringify(after.outcome) === JSON.stringify(before.outcome);
    if (!same)
      this.#world.violated(`1 and 9: ${name} had ended ${before.outcome?.state}, and changes its end`, name);
  }

  #endsWell(name: string, record: AllocationRecord): void {
    const world = this.#world;
    const { outcome } = record;
    this.ended.set(name, record);
    this.concurrency.ended(name, record);
    world.tell(name, `ends: ${outcome?.state} ${outcome?.exitCode ?? outcome?.failure?.code ?? ""}`);
    // The pool may have the row of an earlier submission too, of which it has closed the epoch.
    const row = this.#runRows().find((one) => one.run === name && isOpen(one));
    if (row !== undefined && row.opened > lastEpochOf(record)) {
      world.violated(`R3: ${name} ends while epoch ${row.opened} is open in the pool`, name);
    }
    if (!this.onLiar.has(name)) this.#endsInTime(name, record);
    this.following.ended(name, record);
    this.#liesInOrder(name, record);
    const alive = this.#of(name).find((process) => process.alive);
    if (alive !== undefined)
      world.violated(`2: ${name} ends while ${alive.id} lives on ${alive.worker}`, name, alive.worker);
    if (this.onLiar.has(name)) return;
    if (outcome?.state !== "complete" || (outcome.exitCode === null && outcome.signal === null)) return;
    const theirs = this.#of(name).filter((process) => process.epoch === lastEpochOf(record));
    const killed = theirs.find(({ worker, endedAt }) => endedAt > this.force.killedAt(worker));
    if (killed !== undefined && theirs.length === 1)
      world.violated(`4: ${name} ends complete, by ${killed.id} on a killed machine`, name, killed.worker);
    const match = theirs.some(
      ({ exit }) => exit !== null && (exit.signal ?? exit.code) === (outcome.signal ?? outcome.exitCode),
    );
    if (!match)
      world.violated(
        `2: ${name} ends with ${outcome.exitCode}, which no process of its last epoch did`,
        name,
      );
  }

  /** A command of which it is known that it ended well in time, as its host saw it, is not `timedout`. */
  #endsInTime(name: string, record: AllocationRecord): void {
    const { outcome, tasks } = record;
    if (outcome?.state !== "timedout" || this.groups.get(name)?.tasks.length !== 1) return;
    const last = tasks[0]?.attempts.at(-1);
    if (last?.epoch !== lastEpochOf(record) || last.state !== "exited" || last.exit?.code !== 0) return;
    // A user has had it started again, and of that nothing was heard.
    if (parseAttemptId(last.id)?.n !== tasks[0]?.n) return;
    // Without its result it has failed: it was to be placed again when its time was over.
    if (last.outputs !== undefined && "error" in last.outputs) return;
    const inTime = [...this.hosts.values()].some((host) => host.endedInTime(last.id));
    if (inTime) this.#world.violated(`P1: ${name} ends timedout, and its command had ended in time`, name);
  }

  /** What is recorded of a run lies in the order in which it must have happened. */
  #liesInOrder(name: string, { submittedAt, outcome, tasks, placements }: AllocationRecord): void {
    const end = outcome?.at ?? 0;
    for (const { attempts } of tasks) {
      for (const { id, startedAt, finishedAt } of attempts) {
        const from = startedAt ?? submittedAt;
        if (from < submittedAt || (finishedAt !== null && (finishedAt < from || finishedAt > end)))
          this.#world.violated(
            `P14: ${id} of ${submittedAt}: ${startedAt} to ${finishedAt}, of ${end}`,
            name,
          );
      }
    }
    const odd = placements.find(({ from, to }) => to !== null && to < from);
    if (odd !== undefined)
      this.#world.violated(`P14: epoch ${odd.epoch} of ${name} ends before it begins`, name);
  }

  /** A process has been started: no other of its task, or of another placement, may live (invariant 2). */
  started(process: Process): void {
    const known = this.#of(process.run);
    const others = [...known];
    this.#started.set(process.run, known);
    known.push(process);
    this.#machines?.started(process);
    if (this.ended.has(process.run))
      this.#world.violated(`1: ${process.id} starts when its run has ended`, process.run, process.worker);
    const other = others.find(
      ({ alive, task, epoch }) => alive && (task === process.task || epoch !== process.epoch),
    );
    if (other !== undefined) {
      const text = `2: ${process.id} starts on ${process.worker} while ${other.id} lives on ${other.worker}`;
      this.#world.violated(text, process.run, process.worker, other.worker);
    }
    this.#isAlone(process);
    this.concurrency.started(process, this.#machines?.alive() ?? []);
    this.following.started(process);
    this.#isNotEarly(process);
    this.#isAmongItsOwn(process);
    this.#mayBeHere(process, others);
    this.#mayStart(process, others);
    this.#findsItsData(process, others);
    this.#retries.started(process, others, this.#stored.get(process.run));
  }

  died(process: Process): void {
    this.#machines?.died(process);
  }

  /** Of two runs that replace each other, nothing of one starts before all of the other has ended. */
  #isAlone({ id, run, worker }: Process): void {
    const key = this.keys.get(run);
    if (key === undefined) return;
    for (const other of this.#machines?.alive() ?? []) {
      if (!other.alive || other.run === run || this.keys.get(other.run) !== key) continue;
      const text = `R3: ${id} starts while ${other.id} lives, and one of them replaces the other`;
      this.#world.violated(text, run, other.run, worker);
    }
  }

  /** A restart delay is waited for, by whomever (restart.md#row-11). */
  #isNotEarly({ id, run, worker, task, epoch, n }: Process): void {
    const record = this.#stored.get(run);
    const known = record?.tasks.find(({ name }) => name === task);
    if (known?.startAt === undefined || known.n !== n || epoch !== (record?.endedEpoch ?? 0) + 1) return;
    const earlyMs = known.startAt - this.#world.planeNow;
    // Where a clock has jumped the one that waits counts otherwise than the one that looks. If it was set
    // back, the wait is longer by as much.
    const jumped = this.#world.now - this.#world.jumpedAt < 2 * (LONGEST_DELAY_MS + MOST_OFF_MS);
    if (earlyMs > EARLY_MS && !jumped)
      this.#world.violated(`3.3: ${id} starts ${earlyMs} ms early`, run, worker);
  }

  /** A machine never has runs of two projects (projects.md#machines): no pool here shares machines. */
  #isAmongItsOwn({ id, run, worker }: Process): void {
    const project = this.#stored.get(run)?.project ?? "default";
    const owner = this.#owners.get(worker) ?? project;
    this.#owners.set(worker, owner);
    if (owner !== project)
      this.#world.violated(
        `4: ${id} of ${project} starts on ${worker}, which ${owner} has used`,
        run,
        worker,
      );
  }

  /** What is on a broken machine may go on, and begin anew there; but nothing else comes onto it. */
  #mayBeHere({ id, run, epoch, worker }: Process, others: Process[]): void {
    const { brokenKnownAt = Number.POSITIVE_INFINITY } = this.hosts.get(worker) ?? {};
    const comes = !others.some((one) => one.epoch === epoch);
    if (comes && this.#world.now > brokenKnownAt + ON_ITS_WAY_MS)
      this.#world.violated(`1.9: ${id} comes onto ${worker}, which is broken`, run, worker);
  }

  /**
   * A sticky run finds the data of its placement before, if that was here or they are stored, and no others.
   */
  #findsItsData({ id, run, epoch, worker, data }: Process, others: Process[]): void {
    const foreign = data.find((placement) => !placement.startsWith(`${run}/`));
    if (foreign !== undefined) this.#world.violated(`5.4: ${id} finds data of ${foreign}`, run, worker);
    const before = others.filter((one) => one.epoch === epoch - 1);
    const here = before.some((one) => one.worker === worker);
    const stored = this.#stored.get(run)?.saved?.snapshot?.epoch === epoch - 1;
    if (!this.sticky.has(run) || before.length === 0 || data.includes(`${run}/${epoch - 1}`)) return;
    if (here)
      this.#world.violated(`5.4: ${id} is back on ${worker}, and does not find its data`, run, worker);
    else if (stored)
      this.#world.violated(`5.4: ${id} does not find its stored data on ${worker}`, run, worker);
  }

  hasStarted(run: string, task: string): boolean {
    return this.#of(run).some((process) => process.task === task);
  }

  /** Prestart tasks that end have ended well before a main task starts, and poststop tasks run alone. */
  #mayStart(process: Process, others: Process[]): void {
    const group = this.groups.get(process.run)?.tasks ?? [];
    const hook = group.find(({ name }) => name === process.task)?.hook;
    const here = others.filter(({ epoch }) => epoch === process.epoch);
    const hookOf = ({ task }: Process) => group.find(({ name }) => name === task)?.hook;
    const early = here.find((one) => one.alive && hook === "poststop" && hookOf(one) !== "poststop");
    if (early !== undefined)
      this.#world.violated(`7.1: ${process.id} starts while ${early.id} lives`, process.run, process.worker);
    if (hook !== "main" && hook !== "poststart") return;
    const first = group.filter((one) => one.hook === "prestart" && !one.sidecar);
    for (const { name } of first) {
      if (here.some(({ task, exit }) => task === name && exit?.code === 0)) continue;
      this.#world.violated(`7.1: ${process.id} starts before ${name} has ended well`, process.run);
    }
  }

  /** A machine is about to be destroyed: nothing may live on it, unless it was killed (invariant 4). */
  destroyed(worker: string): void {
    if (this.force.mayDestroy(worker)) return;
    const host = this.hosts.get(worker);
    const alive = [...(host?.processes.values() ?? [])].find((process) => process.alive);
    if (alive !== undefined)
      this.#world.violated(`4: ${worker} is destroyed while ${alive.id} lives on it`, worker, alive.run);
  }

  /** What must hold at every moment: of what has changed, and then of all if nothing may be overlooked. */
  afterStep(): void {
    this.#machines?.afterStep();
    this.concurrency.afterStep(() => this.objects?.pool.peek());
    if (this.#looksAtAll) this.#lookAtAll();
  }

  /** What the looks at what has changed find is all that there is to find. */
  #lookAtAll(): void {
    const { violation } = this.#world;
    this.#machines?.lookAtAll();
    const overlooked = this.#world.violation;
    if (violation !== undefined || overlooked === undefined) return;
    this.#world.violation = undefined;
    this.#world.violated(`audit: it was overlooked that ${overlooked.message}`, ...overlooked.about);
  }

  /** A pool that was deleted by force is gone: so are its runs, and it has named what it may leave behind. */
  poolIsGone(left: readonly LeftBehind[]): void {
    const run = [...this.acknowledged].find((name) => !this.ended.has(name));
    if (run !== undefined) this.#world.violated(`1: the pool is gone, and ${run} has not ended`, "pool", run);
    const living = [...(this.cloud?.living() ?? [])];
    const known = living.filter(
      ({ worker, late, second }) => !late && !second && !this.force.isToldOf(worker),
    );
    const missing = unnamed(known, left)?.worker;
    if (missing !== undefined)
      this.#world.violated(`3: the pool is gone, and names no machine of ${missing}`, "pool", missing);
  }

  /** What can only be judged when everything has ended. `lossless`: nothing could be lost on the way. */
  afterAll(lossless: boolean): void {
    this.pleas.afterAll(lossless);
    if (this.#world.violation === undefined) this.#isCounted();
  }

  /** The pool has counted what its machines cost, and what force had left behind too (pool.md#prices). */
  #isCounted(): void {
    const { config, tally } = this.objects?.pool.disk.value ?? {};
    const priceOf = (type: string) => config?.instanceTypes[type]?.price ?? 0;
    let [cost, dearest] = [0, 0];
    for (const life of this.cloud?.lives() ?? []) {
      const { type, bornAt, second, isListed } = life;
      if (second) continue; // a worker counts one machine: the other is shown, and nobody asked for it
      if (!isListed && !this.#isKnown(life)) continue; // what lives and ends unseen cannot count
      // A worker may have had a machine before the one that was left behind.
      const seenUntil = Math.max(bornAt, Math.min(this.#unseenSince(life) ?? life.endedAt, life.endedAt));
      cost += (priceOf(type) * (seenUntil - bornAt)) / HOUR_MS;
      dearest += (priceOf(type) * this.#world.planeJumpedMs) / HOUR_MS;
    }
    const { spent = 0 } = tally?.counts ?? {};
    if (spent < cost - dearest - COUNTED_TO)
      this.#world.violated(`8: machines have cost ${cost}, and the pool has counted ${spent}`, "pool");
  }

  /**
   * Since when nobody has seen a machine: since force has left it behind, or since a listing missed it while
   * it lived, from which its worker counts its absence, so that it has ended before anybody saw it again. A
   * late one may have been left behind before it came to be.
   */
  #unseenSince({ worker, late, isListed, missedAt }: Life): number | undefined {
    const record = this.objects?.workers.get(worker)?.disk.value;
    const neverSeen = late && !isListed && record != null && record.forced !== null;
    const left = this.force.leftSince(worker) ?? (neverSeen ? (record.goneAt ?? undefined) : undefined);
    return left ?? missedAt.find((at) => at === record?.omittedAt);
  }

  /** Whether the worker knows its machine, from the provider or its host, or may have left it behind. */
  #isKnown({ worker, endedAt }: Life): boolean {
    const record = this.objects?.workers.get(worker)?.disk.value;
    if (record == null) return false;
    const isLeft = record.forced !== null && this.force.killedAt(worker) < endedAt;
    return record.instance !== null || record.incarnation > 0 || isLeft;
  }

  /** Whether every run that was acknowledged has ended, but for those that only a host that lies can end. */
  isAllEnded(): boolean {
    const ended = (name: string) => {
      const worker = this.#stored.get(name)?.placements.findLast(({ to }) => to === null)?.worker;
      return this.ended.has(name) || worker?.endsWith("-liar") === true;
    };
    return this.acknowledged.size === this.submitted && [...this.acknowledged].every(ended);
  }

  /** What is still owed, in words; undefined when everything has come to its end. */
  unfinished(): { text: string; about: string[] } | undefined {
    const { size } = this.acknowledged;
    if (size < this.submitted)
      return { text: `1: ${this.submitted - size} runs are never acknowledged`, about: [] };
    for (const name of this.acknowledged) {
      if (!this.ended.has(name)) {
        return { text: `1 and 5: ${name} was acknowledged and never ends`, about: [name] };
      }
    }
    for (const { worker } of this.cloud?.living() ?? []) {
      return { text: `3: the machine of ${worker} is never destroyed`, about: [worker] };
    }
    const [toCome] = this.cloud?.toCome ?? [];
    if (toCome !== undefined) return { text: `3: the machine of ${toCome} never comes`, about: [toCome] };
    const row = this.workerRows().find((one) => one.phase !== "gone");
    if (row !== undefined)
      return { text: `5: worker ${row.worker} stays ${row.phase} for ever`, about: [row.worker] };
    const open = this.#runRows().find(isOpen);
    if (open !== undefined)
      return { text: `R3: ${open.run} keeps epoch ${open.opened} open for ever`, about: [open.run] };
    return undefined;
  }

  #of(run: string): Process[] {
    return this.#started.get(run) ?? [];
  }

  #runRows(): RunRow[] {
    return this.#table<RunRow>("runs");
  }

  workerRows(): WorkerRow[] {
    return this.#table<WorkerRow>("workers");
  }

  #table<Row>(name: string): Row[] {
    // Only the pool writes them.
    return [...(this.objects?.pool.disk.tables.get(name)?.values() ?? [])] as Row[];
  }
}

/** The epoch in which a run has ended. It is still open if its machine keeps the run. */
function lastEpochOf({ endedEpoch, hold }: AllocationRecord): number {
  return hold === undefined ? endedEpoch : endedEpoch + 1;
}
