import type {
  EventList,
  RunBatch,
  RunSpecInput,
  RunState,
  RunStatus,
  SignalName,
  Why,
} from "../src/schema/run.ts";
import type { RunStats } from "../src/schema/stats.ts";
import { type CallOptions, callJson, callStream, callValue, pause, type Target } from "./http.ts";
import { type LogWish, readLog } from "./logs.ts";
import { hasEnded } from "./states.ts";

/** What the state filter of a query takes (`api.md`, States). */
export type StateFilter = RunState | "done" | "all" | number;

/** A submission that has been stored. */
export interface Submitted {
  run: RunStatus;
  /** The run was there before: this submission has been made earlier, with the same id or key. */
  replayed: boolean;
}

/** An `Idempotency-Key` makes a submission safe to repeat, as does an id of its own in each run. */
export interface SubmitOptions extends CallOptions {
  key?: string;
}

/** How long one read is held by the server while a wait goes on. */
const WAIT_STEP_MS = 30_000;
/** A server that answers a wait at once, though nothing has changed, is not asked more often than this. */
const LEAST_STEP_MS = 500;

/** Submitting (`api.md`, Submitting). Each call rejects with `ApiError` or `UnreachableError`. */
export function submissionsOf(target: Target) {
  async function post<T>(body: unknown, named: boolean, { key, ...options }: SubmitOptions) {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const repeatable = named || key !== undefined;
    return await callJson<T>(target, {
      ...options,
      method: "POST",
      path: "/v1/runs",
      headers,
      body,
      repeatable,
    });
  }

  return {
    /** Submits one run. It is tried again after a lost answer only if it has an id or a key. */
    async submit(spec: RunSpecInput, options: SubmitOptions = {}): Promise<Submitted> {
      const answer = await post<RunStatus>(spec, spec.id !== undefined, options);
      const found = answer.headers.get("idempotency-replayed") === "true";
      return { run: answer.value, replayed: found && answer.tries === 1 };
    },

    /**
     * Submits up to a thousand runs, all or none. Tried again only if there is a key, or each run has an id.
     */
    async submitBatch(specs: readonly RunSpecInput[], options: SubmitOptions = {}): Promise<RunStatus[]> {
      const named = specs.every((spec) => spec.id !== undefined);
      return (await post<RunBatch>({ runs: specs }, named, options)).value.items;
    },
  };
}

/** One run (`api.md`, Runs). Each call rejects with `ApiError` or `UnreachableError`. */
export function singleRunsOf(target: Target) {
  const path = (run: string, rest = "") => `/v1/runs/${encodeURIComponent(run)}${rest}`;
  const reading = { method: "GET", repeatable: true } as const;

  /** Each call has a key of its own: tried again after a lost answer, it acts once. */
  async function ask(to: string, body: object, options: CallOptions): Promise<RunStatus> {
    const headers = { "idempotency-key": crypto.randomUUID() };
    return await callValue(target, {
      ...options,
      method: "POST",
      path: to,
      headers,
      body,
      repeatable: true,
    });
  }

  async function get(run: string, options: CallOptions & { until?: StateFilter } = {}): Promise<RunStatus> {
    const { until, ...rest } = options;
    return await callValue(target, { ...rest, ...reading, path: path(run), query: { state: until } });
  }

  return {
    /** One run, whole. With `waitMs`: held until it is in a state of `until`, or the time is over. */
    get,

    /** Waits until the run has ended, however long that takes. */
    async wait(run: string, options: Omit<CallOptions, "waitMs"> = {}): Promise<RunStatus> {
      for (;;) {
        const askedAt = performance.now();
        const status = await get(run, { ...options, waitMs: WAIT_STEP_MS, until: "done" });
        if (hasEnded(status.state)) return status;
        const earlyMs = LEAST_STEP_MS - (performance.now() - askedAt);
        if (earlyMs > 0) await pause(earlyMs, options.signal);
      }
    },

    /** Deletes a run that has ended, with its logs. */
    async remove(run: string, options: CallOptions = {}): Promise<void> {
      await callStream(target, { ...options, method: "DELETE", path: path(run), repeatable: false });
    },

    /** Asks for the end of a run, and with `waitMs` waits that long for it. Asking twice does no harm. */
    async abort(run: string, options: CallOptions & { reason?: string } = {}): Promise<RunStatus> {
      const { reason, ...rest } = options;
      const body = reason === undefined ? {} : { reason };
      return await callValue(target, {
        ...rest,
        method: "POST",
        path: path(run, "/abort"),
        body,
        repeatable: true,
      });
    },

    /** Starts tasks again: one, all that run, or with `all` those that have ended, too. */
    async restart(
      run: string,
      options: CallOptions & { task?: string; all?: boolean } = {},
    ): Promise<RunStatus> {
      const { task, all, ...rest } = options;
      return await ask(path(run, "/restart"), { task, all }, rest);
    },

    /** Sends a signal to the main process of a task, or of all that run. */
    async signal(
      run: string,
      signal: SignalName,
      options: CallOptions & { task?: string } = {},
    ): Promise<RunStatus> {
      const { task, ...rest } = options;
      return await ask(path(run, "/signal"), { task, signal }, rest);
    },

    /** Events with a number above `after`; with `waitMs` held until there is one. */
    async events(run: string, options: CallOptions & { after?: number } = {}): Promise<EventList> {
      const { after, ...rest } = options;
      return await callValue(target, { ...rest, ...reading, path: path(run, "/events"), query: { after } });
    },

    /** Why the run is as it is, and when Drover acts next. */
    async why(run: string, options: CallOptions = {}): Promise<Why> {
      return await callValue(target, { ...options, ...reading, path: path(run, "/why") });
    },

    /** What its tasks use, or one of them. */
    async stats(run: string, options: CallOptions & { task?: string } = {}): Promise<RunStats> {
      const { task, ...rest } = options;
      return await callValue(target, { ...rest, ...reading, path: path(run, "/stats"), query: { task } });
    },

    /** The bytes of one stream: see `readLog`. */
    logs: (run: string, wish: LogWish): AsyncGenerator<Uint8Array> => readLog(target, run, wish),
  };
}
