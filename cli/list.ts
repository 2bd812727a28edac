// How verbs print a list: lines are cut to the width of a terminal, but not for programs.
import type { Io } from "./terminal/io.ts";
import { table } from "./terminal/text.ts";

/** Formats a list for stdout. `empty` is printed when there are no rows. */
export function listText(
  io: Pick<Io, "stdout">,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return `${empty}\n`;
  return table(headings, rows, io.stdout.isTerminal ? io.stdout.columns() : Number.POSITIVE_INFINITY);
}
