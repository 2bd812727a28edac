// `drover audit verify`: are exported files of the audit log complete and unchanged (audit.md#verification)?
import type { Command } from "commander";
import { type Verdict, verifyChain } from "../audit/chain.ts";
import { type DayFile, dayFiles } from "../audit/day-files.ts";
import { EXIT } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, counted, printable } from "../terminal/text.ts";

const HELP = `
Asks nobody: it reads copies of the files that Drover has exported to its bucket,
DAY/OWNER.ndjson, and follows the digests from line to line and from day to day.
It names the first line of each owner that does not follow the line before it.
What was cut off at the end of the newest file does not show: compare the digest
of the last line with what an earlier call has printed.

The exit code is ${EXIT.no} if a chain is broken.

Examples:
  drover audit verify audit/
  drover audit verify 2026-11-24/registry.ndjson 2026-11-25/registry.ndjson`;

/** `drover audit verify`: verifies the chain of exported files (audit.md#verification). */
export function addAuditVerify(audit: Command, io: Io, exitWith: (code: number) => void): void {
  audit
    .command("verify")
    .summary("verify exported files of the log")
    .description("Verifies that no line of exported files was changed, removed, put in or moved.")
    .argument("<file-or-directory...>", "exported files, or directories with such files")
    .option("--json", "print a JSON object on each line, one for each owner")
    // `drover audit` has a flag of this name, too, and its parser would take this one.
    .addHelpText("after", HELP)
    .action(async (paths: string[], _flags: unknown, command: Command) => {
      const { json }: { json?: boolean } = command.optsWithGlobals();
      for (const [owner, files] of await dayFiles(paths)) {
        const verdict = await verifyChain(files);
        const text = json === true ? asJson(viewOf(owner, files, verdict), 0) : textOf(owner, files, verdict);
        await io.stdout.write(`${text}\n`);
        if (verdict.fault !== null) exitWith(EXIT.no);
      }
    });
}

function viewOf(owner: string, files: readonly DayFile[], { fault, ...verdict }: Verdict) {
  const { from, to } = daysOf(files);
  const { file, line, text } = fault ?? {};
  const shown = fault === null ? null : { file: file?.path, line, text };
  return { owner, files: files.length, from, to, ...verdict, fault: shown };
}

function textOf(owner: string, files: readonly DayFile[], verdict: Verdict): string {
  const { lines, isFromStart, digest, fault } = verdict;
  if (fault !== null) {
    const place = `${printable(fault.file.path)}, line ${fault.line}`;
    return `${owner}: broken at ${place}: ${fault.text}`;
  }
  const { from, to } = daysOf(files);
  const days = from === to ? `of ${from}` : `of ${from} to ${to}`;
  const start = isFromStart ? "from the first entry on" : `what came before ${from} is not here`;
  const count = counted(lines, "line");
  return `${owner}: whole, ${count} ${days}, ${start}; the last has the digest ${digest}`;
}

function daysOf(files: readonly DayFile[]) {
  return { from: files[0]?.day ?? "", to: files.at(-1)?.day ?? "" };
}
