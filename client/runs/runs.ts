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
import { type LogWish, readLog } from "./logs.ts";
import { untilDone, WAIT_STEP_MS } from "./until-done.ts";

/** A submission that has been stored. */
export interface Submitted {
  run: RunStatus;
  /** The run was there before: this submission has been made earlier, with the same id or key. */
  replayed: boolean;
}

export interface SubmitOptions extends CallOptions {
  /** The `Idempotency-Key`: the same key finds the same runs again, also from another process. */
  key?: string;
}

/**
 * Submitting (api.md#submitting). Each call rejects with `ApiError` or `UnreachableError`.
 *
 * A submission always carries what tells its repetition from another one: the ids of its runs, or a key. So
 * it is tried again after a lost answer, and never makes two runs of one.
 */
export function submissionsOf(target: Target) {
  return {
    /** Submits one run. */
    async submit(spec: RunSpec, { key, ...options }: SubmitOptions = {}): Promise<Submitted> {
      const manner = { ...options, key: keyFor([spec], key) };
      const answer = await callJson<RunStatus>(target, callOf("submitRuns", { body: spec }, manner));
      const found = answer.headers.get("idempotency-replayed") === "true";
      return { run: answer.value, replayed: found && answer.tries === 1 };
    },

    /** Submits up to a thousand runs, all or none. Where some have ids, the others get some, too. */
    async submitBatch(
      specs: readonly RunSpec[],
      { key, ...options }: SubmitOptions = {},
    ): Promise<RunStatus[]> {
      const named = key === undefined && specs.some(({ id }) => id !== undefined);
      const runs = named ? specs.map((spec) => ({ ...spec, id: spec.id ?? newRunId() })) : [...specs];
      const manner = { ...options, key: keyFor(runs, key), answerWithinMs: MANY_TIMEOUT_MS };
      return (await callJson<RunBatch>(target, callOf("submitRuns", { body: { runs } }, manner))).value.items;
    },
  };
}

/** Ids and a key do not go together; that is for the server to say to who gives both. */
function keyFor(specs: readonly RunSpec[], key: string | undefined): string | null | undefined {
  return key === undefined && specs.some(({ id }) => id !== undefined) ? null : key;
}

/** An id that sorts by time, as the server's own do. */
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
    /** One run, whole. With `waitMs`: held until it is in a state of `until`, or the time is over. */
    get,

    /** Waits until the run has ended, however long that takes. */
    async wait(run: string, options: Omit<CallOptions, "waitMs"> = {}): Promise<EndedRun> {
      return await untilDone(options, async () => {
        const status = await get(run, { ...options, waitMs: WAIT_STEP_MS, until: "done" });
        return hasEnded(status) ? status : undefined;
      });
    },

    /** Deletes a run that has ended, with its logs; with `force` it is ended with force first. */
    async remove(run: string, options: CallOptions & { force?: boolean } = {}): Promise<void> {
      const { force = false, ...rest } = options;
      const query = { force: force ? ("1" as const) : undefined };
      await callStream(target, callOf("deleteRun", { path: { id: run }, query }, rest));
    },

    /**
     * Asks for the end of a run, and with `waitMs` waits that long for it. Asking twice does no harm. With
     * `force` whatever lives of it is killed at once, also in a stop that has begun.
     */
    async abort(
      run: string,
      options: CallOptions & { reason?: string; force?: boolean } = {},
    ): Promise<RunStatus> {
      const { reason, force, ...rest } = options;
      const input = { path: { id: run }, body: { reason, force } };
      return await ask(target, "abortRun", input, { ...rest, repeatable: true });
    },

    /** Starts tasks again: one, all that run, or with `all` those that have ended, too. */
    async restart(
      run: string,
      options: CallOptions & { task?: string; all?: boolean } = {},
    ): Promise<RunStatus> {
      const { task, all, ...rest } = options;
      return await ask(target, "restartRun", { path: { id: run }, body: { task, all } }, rest);
    },

    /** Sends a signal to the main process of a task, or of all that run. */
    async signal(
      run: string,
      signal: SignalName,
      options: CallOptions & { task?: string } = {},
    ): Promise<RunStatus> {
      const { task, ...rest } = options;
      return await ask(target, "signalRun", { path: { id: run }, body: { task, signal } }, rest);
    },

    /**
     * Changes its spec in place: `spec` is the new one, whole, and `specIndex` that of the run when it was
     * read. Rejects with `stale_index` if somebody else was faster.
     */
    async update(
      run: string,
      change: { specIndex: number; spec: RunSpec },
      options: CallOptions = {},
    ): Promise<RunStatus> {
      return await ask(target, "updateRun", { path: { id: run }, body: change }, options);
    },

    /**
     * Events as they happen, those above `after` first, until the run has ended and all are told. Each read
     * is held by the server, and one that breaks is tried again: no event is missed, and none comes twice.
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

    /** Events with a number above `after`; with `waitMs` held until there is one. */
    async events(run: string, options: CallOptions & { after?: number } = {}): Promise<EventList> {
      const { after, ...rest } = options;
      const query = { after: after?.toString() };
      return await ask(target, "listRunEvents", { path: { id: run }, query }, rest);
    },

    /** Why the run is as it is, and when Drover acts next. */
    async why(run: string, options: CallOptions = {}): Promise<Why> {
      return await ask(target, "explainRun", { path: { id: run } }, options);
    },

    /** What its tasks use, or one of them. */
    async stats(run: string, options: CallOptions & { task?: string } = {}): Promise<RunStats> {
      const { task, ...rest } = options;
      return await ask(target, "getRunStats", { path: { id: run }, query: { task } }, rest);
    },

    /** The bytes of one stream: of one attempt (`readLog`), or of all that come (`followTask`). */
    logs: (run: string, wish: LogWish): AsyncGenerator<Uint8Array> =>
      wish.follow && wish.attempt === undefined ? followTask(target, run, wish) : readLog(target, run, wish),
  };
}
