// How is the report of a check shown to a person, and to a program?
import { asJson, fields, table } from "../terminal/text.ts";
import type { Report } from "./checks.ts";
import { isFine } from "./finding.ts";

/** The findings as a table, and the worst bill below it. */
export function reportText({ findings, bill }: Report): string {
  const rows = findings.map(({ check, verdict, evidence, todo }) => [check, verdict, evidence, todo]);
  const shown = table(["CHECK", "VERDICT", "EVIDENCE", "WHAT TO DO"], rows, Infinity);
  if (bill === undefined) return shown;
  const below = fields(
    [
      ["Worst bill", bill.text],
      ["Bounded by", bill.bounds],
    ],
    (text) => text,
  );
  return `${shown}\n${below}`;
}

/** The same for a program, with what became of it. */
export function reportJson(report: Report, more: object = {}): string {
  return `${asJson({ ...report, ok: isFine(report.findings), ...more })}\n`;
}
