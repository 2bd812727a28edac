// The client's calls about one run, and its submission.
import { hasEnded } from "../states.ts";
import { type CallOptions, callJson, callStream, MANY_TIMEOUT_MS, type Target } from "../transport/http.ts";
import { ask, callOf } from "../transport/operations.ts";
import type {
  EndedRun,
  EventList,
  RunBatch,
  RunEvent,
  RunSpec,
  RunStats,
  RunStatus,
  SignalName,
  StateFilter,
  Why,
} from "../types.ts";
import { followTask } from "./follow.ts";
import { type LogSelection, readLog } from "./logs.ts";
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
 * A submission always carries the ids of its runs, or a key. So it can be retried after a lost answer without
 * making two runs.
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

    /** Submits up to a thousand runs, all or none. If some have ids, the others get one, too. */
    async submitBatch(
      specs: readonly RunSpec[],
      { key, ...options }: SubmitOptions = {},
    ): Promise<RunStatus[]> {
      const named = key === undefined && specs.some(({ id }) => id !== undefined);
      const runs = named ? specs.map((spec) => ({ ...spec, id: spec.id ?? newRunId() })) : [...specs];
      const requestOptions = { ...options, key: keyFor(runs, key), answerWithinMs: MANY_TIMEOUT_MS };
      return (await callJson<RunBatch>(target, callOf("submitRuns", { body: { runs } }, requestOptions)))
        .value.items;
    },
  };
}

/** The key to send. Null: none, since runs have ids. A caller that gives both gets the server's error. */
function keyFor(specs: readonly RunSpec[], key: string | undefined): string | null | undefined {
  return key === undefined && specs.some(({ id }) => id !== undefined) ? null : key;
}

/** An id that sorts by time, like those that the server chooses. */
export function newRunId(): string {
  const random = crypto.randomUUID().replaceAll("-", "").slice(0, 10);
  return `r${Date.now().toString(36).padStart(9, "0")}${random}`;
}

/** One run (api.md#one-run). Each call rejects with `ApiError` or `UnreachableError`. */
export function singleRunsOf(target: Target) {
  async function get(run: string, options: CallOptions & { until?: StateFilter } = {}): Promise<RunStatus> {
    const { until, ...rest } = options;
    const query = { state: until === undefined ? undefined : [until] };
    return await ask(target, "getRun", { path: { id: run }, query }, rest);
  }

  return {
    /** The whole status of a run. With `waitMs`, waits for a state of `until`, at most that long. */
    get,

    /** Waits until the run has ended, however long that takes. */
    async wait(run: string, options: Omit<CallOptions, "waitMs"> = {}): Promise<EndedRun> {
      return await untilDone(options, async () => {
        const status = await get(run, { ...options, waitMs: WAIT_STEP_MS, until: "done" });
        return hasEnded(status) ? status : undefined;
      });
    },

    /** Deletes an ended run with its logs; with `force`, ends it by force first. */
    async remove(run: string, options: CallOptions & { force?: boolean } = {}): Promise<void> {
      const { force = false, ...rest } = options;
      const query = { force: force ? ("1" as const) : undefined };
      await callStream(target, callOf("deleteRun", { path: { id: run }, query }, rest));
    },

    /**
     * Asks a run to end; with `waitMs`, waits that long for it. Repeating it is harmless. With `force`, kills
     * it at once, even if a graceful stop has begun.
     */
    async abort(
      run: string,
      options: CallOptions & { reason?: string; force?: boolean } = {},
    ): Promise<RunStatus> {
      const { reason, force, ...rest } = options;
      const input = { path: { id: run }, body: { reason, force } };
      return await ask(target, "abortRun", input, { ...rest, repeatable: true });
    },

    /** Restarts tasks: one, all running ones, or with `all` also those that have ended. */
    async restart(
      run: string,
      options: CallOptions & { task?: string; all?: boolean } = {},
    ): Promise<RunStatus> {
      const { task, all, ...rest } = options;
      return await ask(target, "restartRun", { path: { id: run }, body: { task, all } }, rest);
    },

    /** Sends a signal to the main process of one task, or of all running tasks. */
    async signal(
      run: string,
      signal: SignalName,
      options: CallOptions & { task?: string } = {},
    ): Promise<RunStatus> {
      const { task, ...rest } = options;
      return await ask(target, "signalRun", { path: { id: run }, body: { task, signal } }, rest);
    },

    /**
     * Replaces the run's spec. `spec` is the complete new spec, and `specIndex` the index that was read.
     * Rejects with `stale_index` if another change came first.
     */
    async update(
      run: string,
      change: { specIndex: number; spec: RunSpec },
      options: CallOptions = {},
    ): Promise<RunStatus> {
      return await ask(target, "updateRun", { path: { id: run }, body: change }, options);
    },

    /**
     * Yields events with a number above `after` as they happen, until the run has ended. Broken requests are
     * retried: no event is missed, and none comes twice.
     */
    async *watch(
      run: string,
      { after = 0, ...options }: Omit<CallOptions, "waitMs"> & { after?: number } = {},
    ): AsyncGenerator<RunEvent> {
      for (let last = after, isOver = false; !isOver; ) {
        const input = { path: { id: run }, query: { after: String(last) } };
        const { items, ended } = await ask(target, "listRunEvents", input, {
          ...options,
          waitMs: WAIT_STEP_MS,
        });
        yield* items;
        last = items.at(-1)?.seq ?? last;
        isOver = ended;
      }
    },

    /** Events with a number above `after`; with `waitMs`, waits until there is one. */
    async events(run: string, options: CallOptions & { after?: number } = {}): Promise<EventList> {
      const { after, ...rest } = options;
      const query = { after: after?.toString() };
      return await ask(target, "listRunEvents", { path: { id: run }, query }, rest);
    },

    /** Why the run is in its state, and when Drover acts next. */
    async why(run: string, options: CallOptions = {}): Promise<Why> {
      return await ask(target, "explainRun", { path: { id: run } }, options);
    },

    /** The resource usage of the run's tasks, or of one task. */
    async stats(run: string, options: CallOptions & { task?: string } = {}): Promise<RunStats> {
      const { task, ...rest } = options;
      return await ask(target, "getRunStats", { path: { id: run }, query: { task } }, rest);
    },

    /** The bytes of one stream: of one attempt (`readLog`), or of each attempt to come (`followTask`). */
    logs: (run: string, selection: LogSelection): AsyncGenerator<Uint8Array> =>
      selection.follow && selection.attempt === undefined
        ? followTask(target, run, selection)
        : readLog(target, run, selection),
  };
}
