import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import {
  capacityOfRow,
  isOpen,
  type PoolRecord,
  type RunRow,
  type WorkerRow,
} from "../../src/core/pool/state.ts";
import type { Group } from "../../src/core/spec.ts";

import type { Cloud } from "./cloud.ts";
import type { Host, Process } from "./host.ts";
import type { Objects, Audit as ObjectsAudit } from "./objects.ts";
import { RETENTION_MS } from "./workload.ts";
import type { World } from "./world.ts";

/** Epochs that a run may need in a simulation: more, and it is placed again and again in vain. */
const MOST_EPOCHS = 20;

/**
 * Looks after the invariants of `architecture.md` §5: some when something is stored, the others after every
 * step.
 */
export class Audit implements ObjectsAudit {
  readonly #world: World;
  readonly hosts = new Map<string, Host>();
  readonly acknowledged = new Set<string>();
  /** What was submitted, by run. */
  readonly groups = new Map<string, Group>();
  submitted = 0;
  objects: Objects | undefined;
  cloud: Cloud | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  allocation(name: string, before: AllocationRecord | null, after: AllocationRecord | null): void {
    const world = this.#world;
    if (after === null) {
      if (this.acknowledged.has(name)) world.violated(`1: ${name} was acknowledged, and is forgotten`, name);
      return;
    }
    if (after.endedEpoch > MOST_EPOCHS) {
      world.violated(`R2: ${name} has had ${after.endedEpoch} epochs: it is placed in circles`, name);
    }
    if (before?.ended) this.#staysEnded(name, before, after);
    else if (after.ended) this.#endsWell(name, after);
  }

  worker(): void {
    // What a worker stores is looked at after the step, together with what exists.
  }

  #staysEnded(name: string, before: AllocationRecord, after: AllocationRecord): void {
    if (after.forgotten !== undefined) {
      const until = (before.outcome?.at ?? 0) + RETENTION_MS;
      const early = before.forgotten === undefined && after.forgotten < until;
      if (early) this.#world.violated(`1: ${name} is forgotten before its retention is over`, name);
      return;
    }
    const same = after.ended && JSON.stringify(after.outcome) === JSON.stringify(before.outcome);
    if (!same)
      this.#world.violated(`1 and 9: ${name} had ended ${before.outcome?.state}, and changes its end`, name);
  }

  #endsWell(name: string, record: AllocationRecord): void {
    const world = this.#world;
    const { outcome } = record;
    world.tell(name, `ends: ${outcome?.state} ${outcome?.exitCode ?? outcome?.failure?.code ?? ""}`);
    const row = this.#runRows().find((one) => one.run === name);
    if (row !== undefined && row.opened > record.endedEpoch) {
      world.violated(`R3: ${name} ends while epoch ${row.opened} is open in the pool`, name);
    }
    const alive = this.#processes().find((process) => process.run === name && process.alive);
    if (alive !== undefined)
      world.violated(`2: ${name} ends while ${alive.id} lives on ${alive.worker}`, name, alive.worker);
    if (outcome?.state !== "complete" || (outcome.exitCode === null && outcome.signal === null)) return;
    const theirs = this.#processes().filter(
      (process) => process.run === name && process.epoch === record.endedEpoch,
    );
    const match = theirs.some(
      ({ exit }) => exit !== null && (exit.signal ?? exit.code) === (outcome.signal ?? outcome.exitCode),
    );
    if (!match)
      world.violated(
        `2: ${name} ends with ${outcome.exitCode}, which no process of its last epoch did`,
        name,
      );
  }

  /** A process has been started: no other of its task, or of another placement, may live (invariant 2). */
  started(process: Process): void {
    const others = this.#processes().filter((one) => one !== process && one.run === process.run);
    const other = others.find(
      ({ alive, task, epoch }) => alive && (task === process.task || epoch !== process.epoch),
    );
    if (other !== undefined) {
      const text = `2: ${process.id} starts on ${process.worker} while ${other.id} lives on ${other.worker}`;
      this.#world.violated(text, process.run, process.worker, other.worker);
    }
    this.#mayStart(process, others);
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

  /** A machine is about to be destroyed: nothing may live on it (invariant 4). */
  destroyed(worker: string): void {
    const host = this.hosts.get(worker);
    const alive = [...(host?.processes.values() ?? [])].find((process) => process.alive);
    if (alive !== undefined)
      this.#world.violated(`4: ${worker} is destroyed while ${alive.id} lives on it`, worker, alive.run);
  }

  /** What must hold at every moment. */
  afterStep(): void {
    const world = this.#world;
    const rows = new Map(this.#workerRows().map((row) => [row.worker, row]));
    let living = 0;
    for (const { worker } of this.cloud?.living() ?? []) {
      living += 1;
      const phase = this.objects?.workers.get(worker)?.disk.value?.phase;
      const row = rows.get(worker);
      if (phase === undefined || phase === "gone")
        world.violated(`3: the machine of ${worker} lives, and its worker is ${phase}`, worker);
      if (row === undefined || row.phase === "gone")
        world.violated(`3: the machine of ${worker} lives, and is in no ledger`, worker);
    }
    const config = this.objects?.pool.disk.value?.config;
    if (config !== undefined && living > config.maxInstances)
      world.violated(`9: ${living} machines live, ${config.maxInstances} may`);
    this.#checkResources(rows);
  }

  #checkResources(rows: Map<string, WorkerRow>): void {
    const used = new Map<string, number>();
    for (const process of this.#processes()) {
      if (process.alive) used.set(process.worker, (used.get(process.worker) ?? 0) + process.vcpus);
    }
    for (const [worker, vcpus] of used) {
      const row = rows.get(worker);
      const has = row === undefined ? Number.POSITIVE_INFINITY : capacityOfRow(row).vcpus;
      if (vcpus > has)
        this.#world.violated(`9: ${vcpus} vCPUs are used on ${worker}, which has ${has}`, worker);
    }
  }

  /** Whether every run that was acknowledged has ended. */
  isAllEnded(): boolean {
    const ended = (name: string) => this.objects?.allocations.get(name)?.disk.value?.ended === true;
    return this.acknowledged.size === this.submitted && [...this.acknowledged].every(ended);
  }

  /** What is still owed, in words; undefined when everything has come to its end. */
  unfinished(): { text: string; about: string[] } | undefined {
    const { size } = this.acknowledged;
    if (size < this.submitted)
      return { text: `1: ${this.submitted - size} runs are never acknowledged`, about: [] };
    for (const name of this.acknowledged) {
      if (this.objects?.allocations.get(name)?.disk.value?.ended !== true) {
        return { text: `1 and 5: ${name} was acknowledged and never ends`, about: [name] };
      }
    }
    for (const { worker } of this.cloud?.living() ?? []) {
      return { text: `3: the machine of ${worker} is never destroyed`, about: [worker] };
    }
    const row = this.#workerRows().find((one) => one.phase !== "gone");
    if (row !== undefined)
      return { text: `5: worker ${row.worker} stays ${row.phase} for ever`, about: [row.worker] };
    const open = this.#runRows().find(isOpen);
    if (open !== undefined)
      return { text: `R3: ${open.run} keeps epoch ${open.opened} open for ever`, about: [open.run] };
    return undefined;
  }

  #processes(): Process[] {
    return [...this.hosts.values()].flatMap((host) => [...host.processes.values()]);
  }

  #runRows(): RunRow[] {
    return this.#table<RunRow>("runs");
  }

  #workerRows(): WorkerRow[] {
    return this.#table<WorkerRow>("workers");
  }

  #table<Row>(name: string): Row[] {
    const pool:
      | { disk: { tables: Map<string, Map<string, unknown>>; value: PoolRecord | null } }
      | undefined = this.objects?.pool;
    return [...(pool?.disk.tables.get(name)?.values() ?? [])] as Row[]; // only the pool writes them
  }
}
