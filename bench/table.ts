// How are measurements printed?

/** One line of the table. */
export interface Row {
  what: string;
  n: number;
  p50: string;
  p95: string;
  max: string;
  budget: string;
  /** The least value, and all of them for other programs, where a figure has them. */
  least?: string;
  values?: { unit: string; numbers: number[] };
}

/** The percentile of some measurements, as a share from 0 to 1 (nearest rank). */
export function percentile(numbers: number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The line of some measurements, each in this unit, with three digits that count. */
export function rowOf(what: string, unit: string, numbers: number[], budget = ""): Row {
  const at = (share: number) => `${shortened(percentile(numbers, share))} ${unit}`;
  const spread = { least: at(0), p50: at(0.5), p95: at(0.95), max: at(1) };
  return { what, n: numbers.length, ...spread, budget, values: { unit, numbers } };
}

/** The rows as a table of Markdown. */
export function tableOf(rows: Row[]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", "n", "p50", "p95", "max", "budget", "least"]),
    line(["---", "---", "---", "---", "---", "---", "---"]),
    ...rows.map(({ what, n, p50, p95, max, budget, least = "" }) =>
      line([what, n, p50, p95, max, budget, least]),
    ),
  ].join("\n");
}

function shortened(number: number): string {
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(number) || 1)) + 1);
  return number.toFixed(Math.max(0, 3 - whole));
}
