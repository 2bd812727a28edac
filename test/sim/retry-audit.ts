import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import type { Process } from "./player.ts";
import type { World } from "./world.ts";

/** The longest wait before a try, with its jitter: as `retries.ts` sets it. */
const LONGEST_WAIT_MS = 60_000 * 1.25;

/** Looks after what is promised of tries, from what is stored and from what runs (retry.md#tries). */
export class RetryAudit {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** There are no more tries than the policy allows, and a run is parked only with one that says so. */
  stored(name: string, { spec, retries = [], placements, redriven }: AllocationRecord): void {
    const tries = retries.length + 1;
    const most = (spec.retry?.max ?? 0) + 1;
    if (tries > most) this.#world.violated(`R2: ${name} is at try ${tries} of ${most}`, name);
    const open = placements.findLast(({ to }) => to === null);
    const last = retries.at(-1);
    if (open !== undefined && last !== undefined && open.epoch <= last.epoch)
      this.#world.violated(`R2: ${name} waits for another try while epoch ${open.epoch} is open`, name);
    if (redriven !== undefined && spec.retry?.park !== true)
      this.#world.violated(`1: ${name} was redriven, and can never be parked`, name);
  }

  /**
   * A process of a try starts after the wait for it, and with the memory that follows from the lacks of
   * memory before: each counts once, and none is made up. `others`: all earlier processes of the run.
   */
  started(
    { id, run, task, epoch, worker, resources }: Process,
    others: Process[],
    record?: AllocationRecord,
  ) {
    const { retries = [], spec } = record ?? {};
    const last = retries.at(-1);
    if (spec?.retry === undefined || last === undefined || epoch <= last.epoch) return;
    const earlyMs = last.at + last.delayMs - this.#world.planeNow;
    const jumped = this.#world.now - this.#world.jumpedAt < 2 * LONGEST_WAIT_MS;
    if (earlyMs > 0 && !jumped)
      this.#world.violated(`R2: ${id} starts ${earlyMs} ms before its try may begin`, run, worker);
    const lacks = retries.filter(({ tasks }) => tasks?.includes(task)).length;
    const short = others.filter((one) => one.task === task && one.exit?.oomKilled && one.epoch < epoch);
    const seen = new Set(short.map((one) => one.epoch)).size;
    if (lacks > seen)
      this.#world.violated(`R2: ${id} has lacked memory ${seen} times, and it counts ${lacks}`, run, worker);
    const own =
      spec.tasks?.find(({ name }) => name === task)?.resources?.memory ?? spec.resources.memory ?? 0;
    const { oom } = spec.retry.escalate ?? {};
    const most = oom?.upTo === undefined ? Number.POSITIVE_INFINITY : sizeBytes(oom.upTo);
    const factor = oom === undefined ? 1 : oom.memory ** lacks;
    const expected = Math.max(sizeBytes(own), Math.min(most, sizeBytes(own) * factor));
    if (resources.memoryBytes !== expected)
      this.#world.violated(
        `R2: ${id} has ${resources.memoryBytes} bytes instead of ${expected}`,
        run,
        worker,
      );
  }
}
