// The client's calls that submit runs, and its calls about one run.
import { hasEnded } from "../states.ts";
import {
  type CallOptions,
  callJson,
  callStream,
  callValue,
  MANY_TIMEOUT_MS,
  type Target,
} from "../transport/http.ts";
import { ask, callOf, flag } from "../transport/operations.ts";
import type { EndedRun, RunBatch, RunEvent, RunSpec, RunStatus, SignalName, StateFilter } from "../types.ts";
import { followTask } from "./follow.ts";
import { type LogSelection, readLog } from "./logs.ts";
import { type OutputPiece, type OutputSelection, readOutput } from "./output.ts";
import { untilDone, WAIT_STEP_MS } from "./until-done.ts";

/** The result of a submission. */
export interface SubmitResult {
  run: RunStatus;
  /** The run existed already: an earlier submission had the same id or key. */
  replayed: boolean;
}

export interface SubmitOptions extends CallOptions {
  /** The `Idempotency-Key`: the same key finds the same runs again, even from another process. */
  key?: string;
}

/**
 * Submitting (api.md#submitting). Each call rejects with `ApiError` or `UnreachableError`.
 *
 * A submission always carries the ids of its runs, or a key. So a retry after a lost answer does not make a
 * second run.
 */
export function submissionsOf(target: Target) {
  return {
    /** Submits one run. */
    async submit(spec: RunSpec, { key, ...options }: SubmitOptions = {}): Promise<SubmitResult> {
      const requestOptions = { ...options, key: keyFor([spec], key) };
      const answer = await callJson<RunStatus>(target, callOf("submitRuns", { body: spec }, requestOptions));
      const found = answer.headers.get("idempotency-replayed") === "true";
      return { run: answer.value, replayed: found && answer.tries === 1 };
    },

    /**
     * Submits up to a thousand runs, all or none. If some runs have ids, the other runs get ids, too. For
     * more, such as a large array, call it for each of `batchesOf(runs)`, one after the other, with ids.
     */
    async submitBatch(specs: readonly RunSpec[], { key, ...options }: SubmitOptions = {}) {
      const sentKey = keyFor(specs, key);
      const runs = specs.map((spec) => (sentKey === null ? { ...spec, id: spec.id ?? newRunId() } : spec));
      const requestOptions = { ...options, key: sentKey, answerWithinMs: MANY_TIMEOUT_MS };
      const call = callOf("submitRuns", { body: { runs } }, requestOptions);
      return (await callValue<RunBatch>(target, call)).items;
    },
  };
}

/**
 * The key to send. Null: no key, since runs have ids. If the caller gives both, the server refuses the
 * request.
 */
function keyFor(specs: readonly RunSpec[], key: string | undefined): string | null | undefined {
  return key === undefined && specs.some(({ id }) => id !== undefined) ? null : key;
}

/** An id that sorts by time, like the ids that the server chooses. */
export function newRunId(): string {
  const random = crypto.randomUUID().replaceAll("-", "").slice(0, 10);
  return `r${Date.now().toString(36).padStart(9, "0")}${random}`;
}

/** What `line` asks for. `attempt`: the end of its id; absent: the latest. */
type LineOptions = CallOptions & { attempt?: string; offset?: number; line?: number };

/** What a read of a run waits for with `waitMs`, and what it has besides. */
type GetOptions = CallOptions & { until?: StateFilter; healthy?: boolean; boot?: boolean };

/** One run (api.md#one-run). Each call rejects with `ApiError` or `UnreachableError`. */
export function singleRunsOf(target: Target) {
  const get = (run: string, { until, healthy, boot, ...options }: GetOptions = {}) => {
    const include = boot ? ("boot" as const) : undefined;
    const health = healthy ? ("healthy" as const) : undefined;
    const query = { state: until === undefined ? undefined : [until], health, include };
    return ask(target, "getRun", { path: { id: run }, query }, options);
  };
  const events = (run: string, { after, ...options }: CallOptions & { after?: number } = {}) =>
    ask(target, "listRunEvents", { path: { id: run }, query: { after: after?.toString() } }, options);

  return {
    /**
     * The full status of a run. With `waitMs`, waits at most that long for a state that `until` selects or,
     * with `healthy`, until all its checks pass. With `boot`, also says how its machine became ready.
     */
    get,

    /** Waits until the run has ended, however long that takes. */
    wait: (run: string, options: Omit<CallOptions, "waitMs"> = {}): Promise<EndedRun> =>
      untilDone(options, async () => {
        const status = await get(run, { ...options, waitMs: WAIT_STEP_MS, until: "done" });
        return hasEnded(status) ? status : undefined;
      }),

    /**
     * Waits until all checks of the run pass, however long that takes. Resolves without `health` if it has
     * ended, or has no checks.
     */
    waitHealthy: (run: string, options: Omit<CallOptions, "waitMs"> = {}): Promise<RunStatus> =>
      untilDone(options, async () => {
        const status = await get(run, { ...options, waitMs: WAIT_STEP_MS, healthy: true });
        return status.health === undefined || status.health === "healthy" ? status : undefined;
      }),

    /** Deletes an ended run with its logs. With `force`, first ends the run by force. */
    async remove(run: string, { force, ...options }: CallOptions & { force?: boolean } = {}): Promise<void> {
      const input = { path: { id: run }, query: { force: flag(force) } };
      await callStream(target, callOf("deleteRun", input, options));
    },

    /**
     * Asks a run to end; with `waitMs`, waits at most that long for the end. Repeating the call is harmless.
     * With `force`, kills the run at once, even if a graceful stop has begun.
     */
    abort(
      run: string,
      { reason, force, ...options }: CallOptions & { reason?: string; force?: boolean } = {},
    ) {
      const input = { path: { id: run }, body: { reason, force } };
      return ask(target, "abortRun", input, { ...options, repeatable: true });
    },

    /**
     * Lets the machine of a kept run go; with `waitMs`, waits at most that long until nothing of the run is
     * left there (`kept` is absent then). Repeating the call is harmless.
     */
    release(run: string, options: CallOptions = {}) {
      return ask(target, "releaseRun", { path: { id: run } }, { ...options, repeatable: true });
    },

    /**
     * Has a parked run run again, as another run, which is the answer. However often it is called, there is
     * one such run.
     */
    redrive(run: string, options: CallOptions = {}) {
      return ask(target, "redriveRun", { path: { id: run } }, { ...options, repeatable: true });
    },

    /** Restarts one task, or all running tasks; with `all`, also tasks that have ended. */
    restart: (run: string, { task, all, ...options }: CallOptions & { task?: string; all?: boolean } = {}) =>
      ask(target, "restartRun", { path: { id: run }, body: { task, all } }, options),

    /** Sends a signal to the main process of one task, or of all running tasks. */
    signal: (run: string, signal: SignalName, { task, ...options }: CallOptions & { task?: string } = {}) =>
      ask(target, "signalRun", { path: { id: run }, body: { task, signal } }, options),

    /**
     * Replaces the run's spec. `spec` is the complete new spec, and `specIndex` is the index that was read
     * with the old spec. Rejects with `stale_index` if another change came first.
     */
    update: (run: string, change: { specIndex: number; spec: RunSpec }, options?: CallOptions) =>
      ask(target, "updateRun", { path: { id: run }, body: change }, options),

    /**
     * Yields events with a number above `after` as they happen, until the run has ended. Broken requests are
     * retried: no event is missed, and no event comes twice.
     */
    async *watch(
      run: string,
      { after = 0, ...options }: Omit<CallOptions, "waitMs"> & { after?: number } = {},
    ): AsyncGenerator<RunEvent> {
      for (let last = after, isOver = false; !isOver; ) {
        const { items, ended } = await events(run, { ...options, after: last, waitMs: WAIT_STEP_MS });
        yield* items;
        last = items.at(-1)?.seq ?? last;
        isOver = ended;
      }
    },

    /** Events with a number above `after`; with `waitMs`, waits until there is such an event. */
    events,

    /** Why the run is in its state, and when Drover acts next. */
    /**
     * A part of a log, of at most 4 MiB, and the number of the line at its first byte: the part with the byte
     * at `offset`, or the part in which the line number `line` begins.
     */
    line: (
      run: string,
      { task, stream, ...where }: { task: string; stream: "stdout" | "stderr" } & LineOptions,
    ) => {
      const { attempt, offset, line, ...options } = where;
      const input = { path: { id: run, task, stream }, query: { attempt, offset, line } };
      return ask(target, "getLogLine", input, options);
    },

    why: (run: string, options?: CallOptions) => ask(target, "explainRun", { path: { id: run } }, options),

    /** The resource usage of the run's tasks, or of one task. */
    stats: (run: string, { task, ...options }: CallOptions & { task?: string } = {}) =>
      ask(target, "getRunStats", { path: { id: run }, query: { task } }, options),

    /**
     * The bytes of one stream, of one attempt (`readLog`) or of one attempt after the other (`followTask`).
     */
    logs: (run: string, selection: LogSelection): AsyncGenerator<Uint8Array> =>
      selection.follow && selection.attempt === undefined
        ? followTask(target, run, selection)
        : readLog(target, run, selection),

    /** Both streams, piece by piece in the order in which they arrived, with the times (`readOutput`). */
    output: (run: string, selection: OutputSelection): AsyncGenerator<OutputPiece> =>
      readOutput(target, run, selection),
  };
}
