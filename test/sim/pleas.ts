import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import type { RunEvent } from "../../src/schema/run/run.ts";
import type { Process } from "./player.ts";
import type { Plea } from "./workload.ts";
import type { World } from "./world.ts";

export type PleaAnswer = "done" | "refused" | "no such run";

interface Answered {
  run: string;
  plea: Plea;
  answer: PleaAnswer;
}

/**
 * Where nothing is lost, a signal has reached an attempt that has lived for so long since it was stored. It
 * is longer than any stop takes: what is being stopped gets no other signal.
 */
const REACHES_WITHIN_MS = 30_000;

/**
 * Looks after the signals and restarts that users ask for: each is done once at most, and once if it can be.
 */
export class Pleas {
  readonly #world: World;
  readonly #ended: Map<string, AllocationRecord>;
  readonly #processes: () => Process[];
  readonly #answered: Answered[] = [];
  /** When each signal was stored, by attempt and number. */
  readonly #stored = new Map<string, { run: string; at: number }>();

  constructor(world: World, ended: Map<string, AllocationRecord>, processes: () => Process[]) {
    this.#world = world;
    this.#ended = ended;
    this.#processes = processes;
  }

  answered(one: Answered): void {
    this.#answered.push(one);
  }

  stored({ id: run, signals = [] }: AllocationRecord): void {
    for (const { id, n } of signals) {
      const key = `${id} ${n}`;
      if (!this.#stored.has(key)) this.#stored.set(key, { run, at: this.#world.now });
    }
  }

  signaled({ id, run, signals }: Process): void {
    const n = signals.at(-1);
    if (signals.filter((one) => one === n).length > 1)
      this.#world.violated(`4.6: ${id} gets signal ${n} twice`, run);
    if (!this.#stored.has(`${id} ${n}`))
      this.#world.violated(`R1: ${id} gets signal ${n} before that is stored`, run);
  }

  /** What can only be judged when everything has ended. `lossless`: nothing could be lost on the way. */
  afterAll(lossless: boolean): void {
    for (const one of this.#answered) this.#wasDoneOnce(one, lossless);
    for (const record of this.#ended.values()) this.#restartedAsOften(record, lossless);
    if (!lossless) return;
    const reached = new Map(this.#processes().map((process) => [process.id, process]));
    for (const [key, { run, at }] of this.#stored) {
      const [id = "", n] = key.split(" ");
      const process = reached.get(id);
      if (process === undefined || process.endedAt - at < REACHES_WITHIN_MS) continue;
      if (!process.signals.includes(Number(n)))
        this.#world.violated(`4.6: signal ${n} never reaches ${id}`, run);
    }
  }

  #wasDoneOnce({ run, plea: { type, request }, answer }: Answered, lossless: boolean): void {
    const events = this.#ended.get(run)?.events ?? [];
    const [name, reason] =
      type === "signal"
        ? (["Signaling", "task_signal_reason"] as const)
        : (["Restart Signaled", "restart_reason"] as const);
    const theirs = events.filter(
      (one) => one.type === name && one.details[reason] === `${request.by} asked for it`,
    );
    const twice = theirs.find((one) => countOf(theirs, one.task) > 1);
    if (twice !== undefined)
      this.#world.violated(`4.6: the ${type} of ${request.by} is done twice to ${twice.task}`, run);
    // A request that arrives a second time may be taken then: what is refused is not remembered.
    if (lossless && answer === "refused" && theirs.length > 0)
      this.#world.violated(`4.6: the ${type} of ${request.by} was refused, and is done`, run);
    // Somebody else's restart of the same attempt does for both.
    if (answer === "done" && type === "signal" && theirs.length === 0)
      this.#world.violated(`4.6: the signal of ${request.by} was taken, and is not sent`, run);
  }

  /** An attempt that is stopped for a restart is followed by one, unless its group is stopped meanwhile. */
  #restartedAsOften(record: AllocationRecord, lossless: boolean): void {
    const { events, tasks, stopRequest, kill, placements } = record;
    const again = this.#answered.some(
      ({ run, plea }) =>
        run === record.id && plea.type === "restart" && "all" in plea.request && plea.request.all === true,
    );
    if (again) return;
    for (const { name } of tasks) {
      const asked = countOf(
        events.filter(({ type }) => type === "Restart Signaled"),
        name,
      );
      const done = countOf(
        events.filter((one) => one.type === "Restarting" && one.details.restart_reason === "asked_for"),
        name,
      );
      const owed =
        lossless && stopRequest === null && kill === undefined && placements.length === 1 ? asked : 0;
      if (done > asked || done < owed) {
        const text = `3.3: ${asked} restarts of ${name} were asked for, and ${done} done`;
        this.#world.violated(text, record.id);
      }
    }
  }
}

function countOf(events: RunEvent[], task: string | null): number {
  return events.filter((one) => one.task === task).length;
}
