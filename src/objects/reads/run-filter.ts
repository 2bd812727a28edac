import type { RunRow } from "../../core/pool/record.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { RunFilter } from "../rpc.ts";

/** Whether a run is one that a filter asks for. Whoever uses ids looks rows up by them. */
export function isMatch(row: RunRow, filter: RunFilter): boolean {
  return filter.states.includes(row.state) && isSelected(row, filter);
}

/** Whether the labels of a run fit. They may change; the ids of a filter are not looked at. */
export function isSelected(row: RunRow, { labels }: RunFilter): boolean {
  for (const name in labels) if (row.labels[name] !== labels[name]) return false;
  return true;
}

/** Whether a run may still come to match. A path is pending, running, end, or pending, end. */
export function canMatch(row: RunRow, filter: RunFilter): boolean {
  if (isTerminal(row.state) || !isSelected(row, filter)) return false;
  return filter.states.some((state) => state === "running" || isTerminal(state));
}
