import { loadedAllocation } from "../../../src/core/allocation/load.ts";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { answerObserved } from "../../../src/core/allocation/placements/orders.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { type AllocationState, openPlacement } from "../../../src/core/allocation/state.ts";
import type { WantedAttempt } from "../../../src/core/messages.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import type { Peaks } from "../../../src/schema/run/peaks.ts";
import { RunSpec, type RunSpecInput, type RunStatus } from "../../../src/schema/run/run.ts";
import { parseAttemptId } from "../../../src/shared/attempt-id.ts";
import { earliest } from "../../../src/shared/machine.ts";
import { EXIT, existing, nothing, placedOn, pool, RUN, type Submitted, T0 } from "./allocation.ts";

type Watch = (before: AllocationState, after: AllocationState, now: number) => void;
type Exit = Partial<typeof EXIT> | { code: null; signal: string };

/**
 * A run of several tasks, placed on a worker whose host carries out its orders at once. The test decides what
 * the tasks do. `log` lists what happened to processes, in order.
 */
export class GroupStory {
  state: AllocationState;
  now = T0;
  readonly log: string[] = [];
  /** Tasks that ignore a stop until the test ends them. */
  readonly stubborn = new Set<string>();
  /** Whether the host itself waits until it may start an attempt, and enforces time limits. */
  waits = false;
  readonly #host = new Map<string, AttemptReport>();
  /** When the time of an attempt is over, as its host knows it. */
  readonly #deadlines = new Map<string, number>();

  readonly worker: string;
  readonly #watch: Watch;
  readonly #quiet: boolean;

  /** `quiet`: the host does not report that something runs, only how it has ended. */
  constructor(spec: RunSpecInput, watch: Watch = () => undefined, worker = "w1", quiet = false) {
    this.#quiet = quiet;
    this.#watch = watch;
    this.worker = worker;
    const sent = JSON.parse(JSON.stringify(spec));
    const submitted = {
      type: "submitted" as const,
      id: RUN,
      spec: RunSpec.parse(sent),
      hash: "h",
      by: "admin",
      project: "default",
      budget: null,
    };
    this.state = allocationMachine.apply(nothing(), submitted, T0);
    this.apply(pool(1, placedOn(worker)));
    this.obey();
  }

  get run(): Submitted {
    return existing(this.state);
  }

  get status(): RunStatus {
    return statusOf(this.run);
  }

  apply(event: AllocationEvent): this {
    const before = this.state;
    this.state = allocationMachine.apply(before, event, this.now);
    this.#watch(before, this.state, this.now);
    return this;
  }

  /** The object is evicted and loaded again. */
  reload(): this {
    this.state = loadedAllocation(this.state.record, false);
    return this;
  }

  abort(reason = "enough"): this {
    return this.apply({ type: "abort", reason, by: "ann" }).obey();
  }

  /** Lets time pass; whatever is due to wake meanwhile does. */
  later(ms: number): this {
    const until = this.now + ms;
    for (let guard = 0; guard < 100; guard += 1) {
      const starts = this.orders.map(({ startAt }) => startAt).filter((at = 0) => at > this.now);
      const limits = [...this.#deadlines.values()].filter((at) => this.waits && at > this.now);
      const wakeAt = earliest(allocationMachine.wakeAt(this.state), ...starts, ...limits);
      if (wakeAt === undefined || wakeAt > until || wakeAt <= this.now) break;
      this.now = wakeAt;
      this.apply({ type: "tick" }).obey();
    }
    this.now = until;
    return this.apply({ type: "tick" }).obey();
  }

  /** Ends the living process of a task, which has used so much at most. */
  ends(task: string, exit: Exit = {}, peaks?: Peaks): this {
    this.#end(this.#living(task), exit, peaks);
    return this.obey();
  }

  /** Ends several processes at the same moment. */
  endTogether(...ends: [string, Exit][]): this {
    for (const [task, exit] of ends) this.#end(this.#living(task), exit);
    return this.obey();
  }

  /** The host no longer finds any trace of a task. */
  isLost(task: string): this {
    const { id } = this.#living(task);
    this.#host.set(id, { id, state: "gone" });
    return this.obey();
  }

  /** The command of a task cannot be started. */
  cannotStart(task: string, recoverable = false): this {
    const { id } = this.#living(task);
    const startError = { code: "command_not_found" as const, text: "no such command", recoverable };
    this.#host.set(id, { id, state: "exited", startError });
    return this.obey();
  }

  /** The tasks with a living process. */
  get living(): string[] {
    const live = [...this.#host.values()].filter(isAlive);
    return live.map(({ id }) => taskOf(id)).sort();
  }

  /** The current orders of the host. */
  get orders(): WantedAttempt[] {
    const epoch = openPlacement(this.state)?.epoch ?? 0;
    const answer = answerObserved(this.state, this.#observed(epoch), this.now);
    return answer.kind === "order" ? answer.attempts : [];
  }

  /** Passes reports and orders to and fro until neither changes any more. */
  obey(): this {
    for (let guard = 0; guard < 100; guard += 1) {
      const placement = openPlacement(this.state);
      if (placement === null) return this;
      const { record } = this.state;
      this.apply({ type: "observed", body: this.#observed(placement.epoch) });
      const did = this.orders.map((order) => this.#do(order));
      if (!did.includes(true) && this.state.record === record) return this;
    }
    throw new Error("the host and the allocation never agree");
  }

  #observed(epoch: number) {
    const attempts = [...this.#host.values()].filter(
      ({ id, state }) => parseAttemptId(id)?.epoch === epoch && !(this.#quiet && state === "running"),
    );
    return {
      run: RUN,
      epoch,
      worker: openPlacement(this.state)?.worker ?? this.worker,
      held: true,
      attempts,
      protocol: this.waits ? 1 : 0,
    };
  }

  /** Carries out the order for one attempt. Returns whether that changed anything. */
  #do(order: WantedAttempt): boolean {
    const known = this.#host.get(order.id);
    if (known === undefined && order.want === "run" && (order.startAt ?? 0) > this.now) return false;
    if (order.want === "run") {
      if (known !== undefined) return this.#isOutOfTime(known) && this.#stop(known, true);
      this.#deadlines.set(order.id, this.now + (order.timeoutMs ?? Number.POSITIVE_INFINITY));
      if (order.task !== undefined && this.living.includes(taskOf(order.id)))
        throw new Error(`${order.id} is started beside another attempt of its task`);
      const started = order.task !== undefined;
      this.#host.set(
        order.id,
        started ? { id: order.id, state: "running", startedAgoMs: 0 } : { id: order.id, state: "gone" },
      );
      if (started) this.log.push(`start ${taskOf(order.id)}`);
      return true;
    }
    if (known === undefined) this.#host.set(order.id, { id: order.id, state: "gone" });
    if (known === undefined || known.state !== "running") return known === undefined;
    return this.#stop(known, this.waits && order.timedOut === true, order.signal);
  }

  #isOutOfTime({ id, state }: AttemptReport): boolean {
    return this.waits && state === "running" && (this.#deadlines.get(id) ?? 0) <= this.now;
  }

  #stop(known: AttemptReport, timedOut: boolean, signal = "SIGTERM"): true {
    this.log.push(`stop ${taskOf(known.id)}`);
    const stopped = timedOut ? { ...known, timedOut } : known;
    if (this.stubborn.has(taskOf(known.id))) this.#host.set(known.id, { ...stopped, state: "stopping" });
    else this.#end(stopped, { code: null, signal });
    return true;
  }

  #living(task: string): AttemptReport {
    const found = [...this.#host.values()].find((one) => isAlive(one) && taskOf(one.id) === task);
    if (found === undefined) throw new Error(`no process of ${task} lives; ${this.living.join(", ")} do`);
    return found;
  }

  #end({ id, timedOut }: AttemptReport, exit: Exit, peaks?: Peaks): void {
    const more = { startedAgoMs: 0, endedAgoMs: 0, ...(peaks === undefined ? {} : { peaks }) };
    this.#host.set(id, { id, state: "exited", ...more, timedOut, exit: { ...EXIT, ...exit } });
    this.log.push(`end ${taskOf(id)}`);
  }
}

function isAlive({ state }: AttemptReport): boolean {
  return state === "running" || state === "stopping";
}

function taskOf(id: string): string {
  return parseAttemptId(id)?.task ?? "";
}

/** A task of the long form that is not started again, unless `more` says so. */
export function task(name: string, more: object = {}) {
  return { name, argv: [name], restart: { attempts: 0 }, ...more };
}

export const prestart = { lifecycle: { hook: "prestart" as const } };
export const poststart = { lifecycle: { hook: "poststart" as const } };
export const poststop = { lifecycle: { hook: "poststop" as const } };
export const presidecar = { lifecycle: { hook: "prestart" as const, sidecar: true } };
export const sidecar = { lifecycle: { hook: "poststart" as const, sidecar: true } };

/** A run that is never placed again. */
export function group(...tasks: object[]): RunSpecInput {
  return { tasks, reschedule: { attempts: 0 } } as RunSpecInput; // the tests write tasks as clients do
}
