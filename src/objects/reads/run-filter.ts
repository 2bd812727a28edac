// Which runs does a filter select?
import type { RunRow } from "../../core/pool/record.ts";
import { hasFailed, isTerminal } from "../../shared/run-state.ts";
import type { RunFilter } from "../rpc.ts";

/** Whether a run matches the states and labels of a filter. Callers look up runs by the filter's ids. */
export function isMatch(row: RunRow, filter: RunFilter): boolean {
  if (filter.failed === true && !hasFailed(row)) return false;
  if (filter.parked === true && (row.parked ?? null) === null) return false;
  return filter.states.includes(row.state) && isSelected(row, filter);
}

/** Whether a run is of the project and the array of a filter, has its labels, and is looked for. */
export function isSelected(row: RunRow, filter: RunFilter): boolean {
  const { labels, project = row.project, by = row.by, prefix = "", since = row.submittedAt } = filter;
  if (row.project !== project || row.by !== by || row.submittedAt < since) return false;
  if (filter.array !== undefined && row.array?.id !== filter.array) return false;
  if (!row.run.startsWith(prefix)) return false;
  for (const name in labels) if (row.labels[name] !== labels[name]) return false;
  return filter.text === undefined || hasText(row, filter.text);
}

/** Whether a run may still match: runs go from pending to running to an end, or from pending to an end. */
export function canMatch(row: RunRow, filter: RunFilter): boolean {
  if (isTerminal(row.state) || !isSelected(row, filter)) return false;
  return filter.states.some((state) => state === "running" || isTerminal(state));
}

/** Whether the command, the id or the value of a label has a text (api.md#finding). */
function hasText({ run, command, labels }: RunRow, text: string): boolean {
  const wanted = lowerCase(text);
  return [run, command, ...Object.values(labels)].some((place) => lowerCase(place).includes(wanted));
}

/** Only ASCII has cases here, as in SQLite: the same text finds the same runs in memory and in the table. */
export function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase());
}
