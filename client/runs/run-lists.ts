// The client's calls about many runs: lists, queries, waits, and aborts by filter.
import type { Operations } from "../../src/generated/api.ts";
import { type CallOptions, MANY_TIMEOUT_MS, type Target } from "../transport/http.ts";
import { ask } from "../transport/operations.ts";
import type { StateFilter } from "../types.ts";
import { untilDone, WAIT_STEP_MS } from "./until-done.ts";

export interface RunFilter {
  ids?: readonly string[];
  states?: readonly StateFilter[];
  labels?: Record<string, string>;
  /** Only the runs of this array. */
  array?: string;
  pool?: string;
  /** Only runs whose id begins like this. */
  prefix?: string;
  /** Only runs that this client's token has submitted. */
  mine?: boolean;
  /**
   * Only runs that have failed, to people: `failed`, `timedout`, `unknown`, and `complete` with an exit code
   * other than 0.
   */
  failed?: boolean;
  /** Only runs that are parked: they have failed for good, and wait for somebody. */
  parked?: boolean;
  /** Only runs that were submitted at this instant (RFC 3339, in UTC) or later. */
  since?: string;
  /** Only runs with this text in the command, in the id or in the value of a label. Case is ignored. */
  search?: string;
  /** With `waitMs`: wait until all selected runs are in one of the states. Default: wait for one such run. */
  all?: boolean;
  /** The most runs in one page: 1 to 1000. */
  limit?: number;
  cursor?: string;
}

/** The body of a query. The options of the call say how long the query waits. */
export type RunQueryInput = Omit<Operations["queryRuns"]["body"], "wait">;

/** Which runs to abort: those that a filter selects or, with an explicit `all`, all runs. */
export type AbortManyInput = Operations["abortRuns"]["body"];

/** Lists of runs (api.md#query). Each call rejects with `ApiError` or `UnreachableError`. */
export function runListsOf(target: Target) {
  const list = (filter: RunFilter = {}, options?: CallOptions) => {
    const { ids, states, labels = {}, all, mine, failed, parked, ...rest } = filter;
    const label = Object.entries(labels).map(([name, value]) => `${name}:${value}`);
    const flags = { all: flag(all), mine: flag(mine), failed: flag(failed), parked: flag(parked) };
    const query = { id: ids, state: states, label, ...flags, ...rest };
    return ask(target, "listRuns", { query }, options);
  };
  const query = (body: RunQueryInput, options?: CallOptions) =>
    ask(target, "queryRuns", { body }, { ...options, repeatable: true });
  const checkAll = (filter: Omit<RunFilter, "all" | "cursor">, options?: CallOptions) => {
    const { ids, states = ["done"], limit: _limit, ...others } = filter;
    // Many ids do not fit into a URL. `query` sends ids in the body, but it supports no other filter.
    const byIds = ids !== undefined && Object.values(others).every((value) => value === undefined);
    return byIds
      ? query({ runs: [...ids], states: [...states], all: true }, options)
      : list({ ...filter, states, all: true }, options);
  };

  return {
    /**
     * Waits until all runs selected by ids, labels, array and pool have ended or, with `states`, are in one
     * of the `states`. The wait has no time limit. Resolves with one page of these runs. If only ids select
     * the runs, resolves with all of them (up to 10,000). If a run has ended in another state, the condition
     * can never be met: the wait ends, and `all.holds` is false.
     */
    waitAll(filter: Omit<RunFilter, "all" | "cursor"> = {}, options: Omit<CallOptions, "waitMs"> = {}) {
      return untilDone(options, async () => {
        const page = await checkAll(filter, { ...options, waitMs: WAIT_STEP_MS });
        return page.all === undefined || page.all.holds || !page.all.possible ? page : undefined;
      });
    },

    /**
     * Whether all runs selected by ids, labels, array and pool have ended or, with `states`, are in one of
     * the `states`, as `all` in the answer. With `waitMs`, the answer is held until they are, or until one of
     * them cannot be.
     */
    checkAll,

    /** Asks the selected runs to end, one page at a time (`next`). Repeating the call is harmless. */
    abortMany: (which: AbortManyInput, options?: CallOptions) =>
      ask(
        target,
        "abortRuns",
        { body: which },
        { ...options, repeatable: true, answerWithinMs: MANY_TIMEOUT_MS },
      ),

    /** One page, newest first. With `waitMs`, waits until at least one run matches. */
    list,

    /** Looks up at most 10,000 runs by id. The answer is in the order of the ids. */
    query,
  };
}

function flag(isOn: boolean | undefined): "true" | undefined {
  return isOn ? "true" : undefined;
}
