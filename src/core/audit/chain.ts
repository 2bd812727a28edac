// How are the lines of an exported file chained, so that a missing or changed line is seen (audit.md#chain)?
import type { AuditEntry } from "../../schema/access/audit.ts";

/**
 * The lines of a file. Each names the digest of the line before it; the first line of all names an empty
 * text. `digest`: that of the last line, with which the next file goes on.
 */
export function chained(
  entries: readonly AuditEntry[],
  before: string,
  digestOf: (line: string) => string,
): { text: string; digest: string } {
  let digest = before;
  const lines = entries.map((entry) => {
    const line = JSON.stringify({ prev: digest, ...entry });
    digest = digestOf(line);
    return `${line}\n`;
  });
  return { text: lines.join(""), digest };
}

/** The name of a file. `part`: how many files of that day came before it. */
export function auditFileName(day: string, owner: string, part: number): string {
  return `audit/${day}/${owner}${part === 0 ? "" : `.${part + 1}`}.ndjson`;
}
