import { formatDuration } from "../src/core/duration.ts";

/**
 * Characters that act on a terminal instead of being seen: C0, DEL and C1, and the marks that turn text
 * round.
 */
const UNSEEN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text from elsewhere, safe to show on a terminal, on one line: nothing in it can move the cursor or set a
 * title.
 */
export function printable(text: string): string {
  return text.replace(UNSEEN, (char) =>
    char === "\n" || char === "\t" ? " " : `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, "0")}`,
  );
}

/** A length of time at a glance, in at most two units: `850ms`, `4.2s`, `3m10s`, `2d4h`. */
export function briefDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole}ms`;
  if (whole < 10_000) return `${Math.floor(whole / 100) / 10}s`;
  const units = formatDuration(Math.floor(whole / 1_000) * 1_000).match(/\d+[a-z]+/g) ?? [];
  return units.slice(0, 2).join("");
}

/** The time from an instant (RFC 3339) to another, or to the server's now; empty if it has not begun. */
export function elapsed(from: string | null, to: string | number): string {
  if (from === null) return "";
  const end = typeof to === "number" ? to : Date.parse(to);
  return briefDuration(end - Date.parse(from));
}

/** Text that fits into so many columns; what is left out is marked. */
export function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}

/**
 * An amount by list prices, whose currency is that of whoever wrote them: at least two decimals, and enough
 * for two digits that count.
 */
export function money(amount: number): string {
  const digits = amount > 0 && amount < 1 ? Math.min(9, 1 - Math.floor(Math.log10(amount))) : 2;
  return amount.toFixed(Math.max(2, digits));
}

const GAP = "  ";

/**
 * Rows under their headings, in columns as wide as their widest cell. The last column is free: it is cut at
 * `columns`, which only a terminal has, so that what a program reads is whole.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string {
  const all = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, at) => Math.max(...all.map((row) => (row[at] ?? "").length)));
  const lines = all.map((row) =>
    row
      .map((cell, at) => (at === headings.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join(GAP)
      .trimEnd(),
  );
  return lines.map((line) => `${cut(line, columns)}\n`).join("");
}

/** Names and values below each other; what has no value is left out. */
export function fields(
  pairs: readonly (readonly [string, string])[],
  emphasis: (text: string) => string,
): string {
  const shown = pairs.filter(([, value]) => value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${emphasis(name.padEnd(width))}${GAP}${printable(value)}\n`).join("");
}
