import type { Operations } from "../../src/generated/api.ts";
import { type CallOptions, MANY_TIMEOUT_MS, type Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";
import type { AbortedList, RunList, StateFilter } from "../types.ts";
import { untilDone, WAIT_STEP_MS } from "./until-done.ts";

export interface RunFilter {
  ids?: readonly string[];
  states?: readonly StateFilter[];
  labels?: Record<string, string>;
  pool?: string;
  /** With `waitMs`: held until all that are selected are in one of the states, and not only one. */
  all?: boolean;
  /** Runs in one page: 1 to 1000. */
  limit?: number;
  cursor?: string;
}

/** What a query by body may say; how long it waits stands in the options of the call. */
export type RunQueryInput = Omit<Operations["queryRuns"]["body"], "wait">;

/** Which runs are aborted: what does not say which must say `all`. */
export type AbortManyInput = Operations["abortRuns"]["body"];

/** Lists of runs (api.md#query). Each call rejects with `ApiError` or `UnreachableError`. */
export function runListsOf(target: Target) {
  async function list(filter: RunFilter = {}, options: CallOptions = {}): Promise<RunList> {
    const { ids, states, labels, all, ...rest } = filter;
    const label = Object.entries(labels ?? {}).map(([name, value]) => `${name}:${value}`);
    const query = {
      id: ids,
      state: states,
      label,
      ...(all ? { all: "true" as const } : {}),
      ...rest,
    };
    return await ask(target, "listRuns", { query }, options);
  }

  async function query(wanted: RunQueryInput, options: CallOptions = {}): Promise<RunList> {
    return await ask(target, "queryRuns", { body: wanted }, { ...options, repeatable: true });
  }

  return {
    /**
     * Waits until all runs that the ids, labels and pool select have ended, or are in one of the `states`,
     * however long that takes. The answer is a page of them; its `all.holds` is false if one has ended in
     * another state, so that waiting is of no use. Of ids it has all, and there may be up to 10,000 of them.
     */
    async waitAll(
      filter: Omit<RunFilter, "all" | "cursor"> = {},
      options: Omit<CallOptions, "waitMs"> = {},
    ): Promise<RunList> {
      const { ids, labels, pool, states = ["done"] } = filter;
      // Many ids are too long for a URL. A body takes them, and nothing beside them.
      const byIds = ids !== undefined && labels === undefined && pool === undefined;
      const look = (held: CallOptions) =>
        byIds
          ? query({ runs: [...ids], states: [...states], all: true }, held)
          : list({ ...filter, states, all: true }, held);
      return await untilDone(options, async () => {
        const page = await look({ ...options, waitMs: WAIT_STEP_MS });
        return page.all === undefined || page.all.holds || !page.all.possible ? page : undefined;
      });
    },

    /** Asks all that are selected to end: one page, as `next` says. Asking twice does no harm. */
    async abortMany(which: AbortManyInput, options: CallOptions = {}): Promise<AbortedList> {
      const manner = { repeatable: true, answerWithinMs: MANY_TIMEOUT_MS };
      return await ask(target, "abortRuns", { body: which }, { ...options, ...manner });
    },

    /** One page, newest first. With `waitMs`: held until at least one run matches. */
    list,

    /** The same by a long list of ids (up to 10,000), in the order of the ids. */
    query,
  };
}
