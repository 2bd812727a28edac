// How text, JSON, durations, money and tables are formatted for a terminal, safely.
import { formatDuration } from "../../src/shared/duration.ts";

/**
 * Invisible characters that act on a terminal: controls, line ends, and Unicode format characters, which
 * reverse, join or hide text.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes foreign text safe to show on one line: it cannot move the cursor, set a title, or hide itself. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (char) => (char === "\n" || char === "\t" ? " " : escaped(char)));
}

function escaped(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, "0")}`;
}

/** A value as JSON. Characters that would act on a terminal are escaped. */
export function asJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(UNSEEN, (char) =>
    char === "\n" ? char : unitsOf(char),
  );
}

/** A character as JSON escapes, one for each of its UTF-16 code units. */
function unitsOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** A duration in at most two units: `850ms`, `4.2s`, `3m10s`, `2d4h`. */
export function briefDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole}ms`;
  if (whole < 10_000) return `${Math.floor(whole / 100) / 10}s`;
  const units = formatDuration(Math.floor(whole / 1_000) * 1_000).match(/\d+[a-z]+/g) ?? [];
  return units.slice(0, 2).join("");
}

/** The time from one instant (RFC 3339) to another, or to the server's current time; empty without `from`. */
export function elapsed(from: string | null, to: string | number): string {
  if (from === null) return "";
  const end = typeof to === "number" ? to : Date.parse(to);
  return briefDuration(end - Date.parse(from));
}

/** Cuts text to a number of columns, and marks the cut. */
export function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}

/** Wraps text to a number of columns, between words where possible. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let rest = text.trimEnd();
  while (rest.length > columns) {
    const space = rest.lastIndexOf(" ", columns);
    const end = space > 0 ? space : columns;
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest];
}

const GAP = "  ";

/** A cell of a table; `failed`: what it says is a failure, which is shown in `emphasis`. */
export type Cell = string | { failed: string };

/**
 * Rows under headings, in columns as wide as their widest cell. Lines are cut at `columns`, which is infinite
 * for a program.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  emphasis: (text: string) => string = (text) => text,
): string {
  const all = [headings, ...rows.map((row) => row.map((cell) => printable(textOf(cell))))];
  const widths = headings.map((_, at) => Math.max(...all.map((row) => (row[at] ?? "").length)));
  const lines = all.map((row) =>
    cut(
      row
        .map((cell, at) => (at === headings.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join(GAP)
        .trimEnd(),
      columns,
    ),
  );
  const [first, ...rest] = lines;
  return [first, ...rest.map((line, at) => emphasized(line, rows[at] ?? [], widths, emphasis))]
    .map((line) => `${line}\n`)
    .join("");
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.failed;
}

/** A line with its failures in emphasis, which has no width: so it comes last, from right to left. */
function emphasized(
  line: string,
  row: readonly Cell[],
  widths: readonly number[],
  emphasis: (text: string) => string,
): string {
  let shown = line;
  for (const [at, cell] of [...row.entries()].reverse()) {
    if (typeof cell === "string") continue;
    const start = widths.slice(0, at).reduce((sum, width) => sum + width + GAP.length, 0);
    const text = line.slice(start, start + printable(cell.failed).length);
    if (text !== "") shown = shown.slice(0, start) + emphasis(text) + shown.slice(start + text.length);
  }
  return shown;
}

/** Names and values, one pair per line; pairs with an empty value are left out. */
export function fields(
  pairs: readonly (readonly [string, string])[],
  emphasis: (text: string) => string,
): string {
  const shown = pairs.filter(([, value]) => value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${emphasis(name.padEnd(width))}${GAP}${printable(value)}\n`).join("");
}

/** A number of things in words: `1 run`, `2 runs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
