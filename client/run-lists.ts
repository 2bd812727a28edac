import type { z } from "zod";
import type { RunList, RunQuery } from "../src/schema/run.ts";
import { type CallOptions, callValue, type Target } from "./http.ts";
import type { StateFilter } from "./runs.ts";

export interface RunFilter {
  ids?: readonly string[];
  states?: readonly StateFilter[];
  labels?: Record<string, string>;
  pool?: string;
  /** Runs in one page: 1 to 1000. */
  limit?: number;
  cursor?: string;
}

/** What a query by body may say; how long it waits stands in the options of the call. */
export type RunQueryInput = Omit<z.input<typeof RunQuery>, "wait">;

/** Lists of runs (`api.md`, Query semantics). Each call rejects with `ApiError` or `UnreachableError`. */
export function runListsOf(target: Target) {
  async function list(filter: RunFilter = {}, options: CallOptions = {}): Promise<RunList> {
    const { ids, states, labels, ...rest } = filter;
    const label = Object.entries(labels ?? {}).map(([name, value]) => `${name}:${value}`);
    const query = { id: ids, state: states?.map(String), label, ...rest };
    return await callValue(target, { ...options, method: "GET", path: "/v1/runs", query, repeatable: true });
  }

  return {
    /** One page, newest first. With `waitMs`: held until at least one run matches. */
    list,

    /** The same by a long list of ids (up to 10,000), in the order of the ids. */
    async query(query: RunQueryInput, options: CallOptions = {}): Promise<RunList> {
      const wait = options.waitMs === undefined ? undefined : `${options.waitMs}ms`;
      return await callValue(target, {
        ...options,
        method: "POST",
        path: "/v1/runs/query",
        body: { ...query, wait },
        waitIn: "body",
        repeatable: true,
      });
    },
  };
}
