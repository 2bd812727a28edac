// What a query asks.
import type { RunState } from "../../schema/run/run.ts";
import type { Position } from "./cursor.ts";

/** What a query asks, in whichever way it came (api.md#query). */
export interface RunQuestion {
  /** Absent: all runs. */
  ids?: string[] | undefined;
  states: RunState[];
  labels: Record<string, string>;
  /** The names of the pools to ask. */
  pools: readonly string[];
  /** Whether only runs of these pools can match. */
  onlyThesePools: boolean;
  /** Wait until all that are selected are in one of the states, and not only one. */
  all: boolean;
  waitMs: number;
  limit: number;
  position?: Position | undefined;
}
