import { capacityOfRow, type WorkerRow } from "../../src/core/pool/record.ts";
import { remaining } from "../../src/core/resources.ts";
import type { Cloud, LivingMachine } from "./cloud.ts";
import type { Force } from "./force.ts";
import type { Objects } from "./objects.ts";
import type { Process } from "./player.ts";
import type { World } from "./world.ts";

/**
 * So soon a machine is found that was given up: at the next sweep. The sweep's alarm may be lost, so that the
 * cron brings it about, and the machine missing from a listing, or the listing lost.
 */
const FOUND_WITHIN_MS = 600_000;

/**
 * What force has left behind is looked for by nobody: a pool that has no machines asks each hour. The one
 * listing may miss it, then it is found by the next.
 */
const LEFT_FOR_MS = 2 * 3_600_000 + FOUND_WITHIN_MS;

/**
 * Looks after what must hold of machines at every moment: each that lives has a worker that knows of it,
 * there are no more than the pool may have, and no more is used of each than it has. After a step it looks at
 * the machines of which something has changed, and at those whose time may have come: what the others must
 * keep depends on nothing else.
 */
export class MachineAudit {
  readonly #world: World;
  readonly #force: Force;
  readonly #objects: Objects;
  readonly #cloud: Cloud;
  /** The workers of which something has changed since they were last looked at. */
  readonly #changed = new Set<string>();
  /** The workers of machines that must be found in time. */
  readonly #sought = new Set<string>();
  /** The workers of the machines that count against the bound of the pool. */
  readonly #counted = new Set<string>();
  /** By worker: the processes that live on its machine. */
  readonly #alive = new Map<string, Set<Process>>();
  #wasDeleting = false;
  /** Workers that are gone with their second machine: since when nobody knows of the first. */
  readonly #hiddenSince = new Map<string, number>();

  constructor(world: World, force: Force, objects: Objects, cloud: Cloud) {
    this.#world = world;
    this.#force = force;
    this.#objects = objects;
    this.#cloud = cloud;
    force.watch((worker) => this.changed(worker));
    objects.pool.watchTable("workers", (worker) => this.changed(worker));
  }

  /** Its record, its row, its machine, what runs there or what force may do to it has changed. */
  changed(worker: string): void {
    this.#changed.add(worker);
  }

  started(process: Process): void {
    const others = this.#alive.get(process.worker);
    if (others === undefined) this.#alive.set(process.worker, new Set([process]));
    else others.add(process);
    this.changed(process.worker);
  }

  died(process: Process): void {
    const others = this.#alive.get(process.worker);
    others?.delete(process);
    if (others?.size === 0) this.#alive.delete(process.worker);
  }

  /** All processes that live. */
  *alive(): Generator<Process> {
    for (const processes of this.#alive.values()) yield* processes;
  }

  afterStep(): void {
    this.#noteDeletion();
    if (this.#changed.size > 0 || this.#sought.size > 0) {
      for (const worker of this.#sought) this.#changed.add(worker);
      for (const worker of this.#changed) this.#lookAt(worker);
      for (const worker of this.#changed) this.#lookAtResources(worker);
      this.#changed.clear();
    }
    this.#lookAtCount();
  }

  /**
   * Looks at everything, as if nothing were known of what has changed. What this finds right after
   * `afterStep` was overlooked there.
   */
  lookAtAll(): void {
    const { changes } = this.#force;
    const known = [...this.#counted].sort();
    if (this.#force.isDeleting) this.#killAll();
    this.#counted.clear();
    const living = new Set([...this.#cloud.living()].map(({ worker }) => worker));
    for (const worker of new Set([...living, ...this.#sought])) this.#lookAt(worker);
    for (const worker of this.#alive.keys()) this.#lookAtResources(worker);
    for (const process of this.alive())
      if (!process.alive) this.#world.violated(`audit: ${process.id} has died unnoticed`, process.worker);
    this.#lookAtCount();
    this.#changed.clear();
    const found = [...this.#counted].sort();
    if (`${found}` !== `${known}`)
      this.#world.violated(`audit: ${found} live, and ${known} were known to`, ...found);
    if (this.#force.changes !== changes)
      this.#world.violated("audit: a machine was left behind or found, and nobody looked", ...living);
  }

  /** While the pool is being deleted by force, what it has may be destroyed with runs on it. */
  #noteDeletion(): void {
    const { isDeleting } = this.#force;
    if (isDeleting && !this.#wasDeleting) {
      this.#killAll();
      for (const { worker } of this.#cloud.living()) this.changed(worker);
    } else if (isDeleting) for (const worker of this.#changed) this.#killIfThere(this.#rowOf(worker));
    this.#wasDeleting = isDeleting;
  }

  #killAll(): void {
    // Only the pool's machine writes this table.
    const rows = this.#objects.pool.disk.tables.get("workers")?.values() ?? [];
    for (const row of rows) this.#killIfThere(row as WorkerRow);
  }

  #killIfThere(row: WorkerRow | undefined): void {
    if (row !== undefined && row.phase !== "gone") this.#force.killsWithPool(row.worker);
  }

  /** Looks at the machine of a worker, if it lives. */
  #lookAt(worker: string): void {
    const machine = this.#cloud.livingOf(worker);
    const { isCounted, isSought } = machine === undefined ? NOTHING : this.#judge(machine);
    if (isCounted) this.#counted.add(worker);
    else this.#counted.delete(worker);
    if (isSought) this.#sought.add(worker);
    else this.#sought.delete(worker);
  }

  #judge(machine: LivingMachine): { isCounted: boolean; isSought: boolean } {
    const { worker, instance } = machine;
    const record = this.#objects.workers.get(worker)?.disk.value;
    const phase = record?.phase;
    const row = this.#rowOf(worker);
    const isLost = phase === undefined || phase === "gone";
    const isForced = record != null && record.forced !== null;
    if (machine.late) {
      if (isLost) this.#isFoundInTime(worker, machine.bornAt, isForced);
      return { isCounted: false, isSought: isLost };
    }
    // A second machine of a worker is left alone while that lives; at last nothing may live (`unfinished`).
    if (this.#force.isLeft(worker, instance, record, isLost || row?.phase === "gone", this.#world.now)) {
      this.#isFoundAgain(worker);
      return { isCounted: false, isSought: true };
    }
    // A listing may have omitted the first of them, and shown only the second, which is known in its place.
    const isOther = record?.instance != null && record.instance.id !== instance;
    const isBack = !isLost && row !== undefined && row.phase !== "gone";
    if (isLost ? isOther : !isBack && this.#hiddenSince.has(worker)) {
      const since = this.#hiddenSince.get(worker) ?? this.#world.now;
      this.#hiddenSince.set(worker, since);
      this.#isFoundInTime(worker, since, isForced);
      return { isCounted: false, isSought: true };
    }
    if (isLost) this.#world.violated(`3: the machine of ${worker} lives, and its worker is ${phase}`, worker);
    if (row === undefined || row.phase === "gone")
      this.#world.violated(`3: the machine of ${worker} lives, and is in no ledger`, worker);
    // While one was hidden, the pool could ask for another one in its place.
    return { isCounted: !this.#hiddenSince.has(worker), isSought: false };
  }

  #lookAtCount(): void {
    const { maxInstances = Number.POSITIVE_INFINITY } = this.#objects.pool.disk.value?.config ?? {};
    const living = this.#counted.size;
    if (living > maxInstances) this.#world.violated(`9: ${living} machines live, ${maxInstances} may`);
  }

  /**
   * A machine that comes late, or that a listing has hidden, may be unknown. Then it is found soon after
   * `from` where nothing is in the way; if its worker was killed by force, as what force has left behind.
   */
  #isFoundInTime(worker: string, from: number, isForced: boolean): void {
    const { now, awayUntil, readOnlyUntil } = this.#world;
    const since = Math.max(from, awayUntil, readOnlyUntil, this.#cloud.refusesUntil);
    if (now > since + (isForced ? LEFT_FOR_MS : FOUND_WITHIN_MS))
      this.#world.violated(`3: the machine of ${worker} lives, and nobody has seen it in time`, worker);
  }

  /** What force has left behind is ended once a listing shows it, as long as there is a pool that lists. */
  #isFoundAgain(worker: string): void {
    const leftAt = this.#force.leftSince(worker);
    if (leftAt === undefined || this.#force.isDeleting) return;
    const { now, awayUntil, readOnlyUntil } = this.#world;
    const since = Math.max(leftAt, this.#force.backAt, awayUntil, readOnlyUntil, this.#cloud.refusesUntil);
    if (now > since + LEFT_FOR_MS)
      this.#world.violated(`3: the machine of ${worker} was left behind, and nobody finds it`, worker);
  }

  #lookAtResources(worker: string): void {
    const processes = this.#alive.get(worker);
    const row = this.#rowOf(worker);
    if (processes === undefined || row === undefined) return;
    const needs = [...processes].map(({ resources }) => resources);
    const left = remaining(capacityOfRow(row), needs, row.measuredMemory ?? undefined);
    for (const what of ["vcpus", "memoryBytes"] as const)
      if (left[what] < 0)
        this.#world.violated(`9: on ${worker} ${-left[what]} more ${what} are used than it has`, worker);
  }

  #rowOf(worker: string): WorkerRow | undefined {
    // Only the pool's machine writes this table.
    return this.#objects.pool.disk.tables.get("workers")?.get(worker) as WorkerRow | undefined;
  }
}

const NOTHING = { isCounted: false, isSought: false };
