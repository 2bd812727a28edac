// How verbs print a list: lines are cut to the width of a terminal, but not for programs; failures are red.
import { colorsFor, type Io } from "./terminal/io.ts";
import { type Cell, table } from "./terminal/text.ts";

/** Formats a list for stdout (cli.md#color). `empty` is printed when there are no rows. */
export function listText(
  io: Pick<Io, "stdout">,
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty: string,
): string {
  if (rows.length === 0) return `${empty}\n`;
  const columns = io.stdout.isTerminal ? io.stdout.columns() : Number.POSITIVE_INFINITY;
  return table(headings, rows, columns, colorsFor(io.stdout).red);
}
