// Which runs does a filter select?
import type { RunRow } from "../../core/pool/record.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { RunFilter } from "../rpc.ts";

/** Whether a run matches the states and labels of a filter. Callers look up runs by the filter's ids. */
export function isMatch(row: RunRow, filter: RunFilter): boolean {
  return filter.states.includes(row.state) && isSelected(row, filter);
}

/** Whether a run is of the project and the array of a filter and has its labels. Labels may change. */
export function isSelected(row: RunRow, { labels, array, project = row.project }: RunFilter): boolean {
  if (row.project !== project || (array !== undefined && row.array?.id !== array)) return false;
  for (const name in labels) if (row.labels[name] !== labels[name]) return false;
  return true;
}

/** Whether a run may still match: runs go from pending to running to an end, or from pending to an end. */
export function canMatch(row: RunRow, filter: RunFilter): boolean {
  if (isTerminal(row.state) || !isSelected(row, filter)) return false;
  return filter.states.some((state) => state === "running" || isTerminal(state));
}
