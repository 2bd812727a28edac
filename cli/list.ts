import type { Io } from "./terminal/io.ts";
import { table } from "./terminal/text.ts";

/** A list for stdout, cut to the width of a terminal and whole for a program; `empty` if it has no rows. */
export function listText(
  io: Pick<Io, "stdout">,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): string {
  if (rows.length === 0) return `${empty}\n`;
  return table(headings, rows, io.stdout.isTerminal ? io.stdout.columns() : Number.POSITIVE_INFINITY);
}
