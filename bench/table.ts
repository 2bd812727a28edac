// How are measurements printed?

/** One line of the table. */
export interface Row {
  what: string;
  n: number;
  p50: string;
  p95: string;
  max: string;
  budget: string;
}

/** The percentile of some measurements, as a share from 0 to 1 (nearest rank). */
export function percentile(numbers: number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The rows as a table of Markdown. */
export function tableOf(rows: Row[]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", "n", "p50", "p95", "max", "budget"]),
    line(["---", "---", "---", "---", "---", "---"]),
    ...rows.map(({ what, n, p50, p95, max, budget }) => line([what, n, p50, p95, max, budget])),
  ].join("\n");
}
