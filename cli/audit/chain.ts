// Is the chain of an owner's exported files whole, and if not, where is it broken (audit.md#verification)?
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";
import type { DayFile } from "./day-files.ts";

/** Where a chain is broken, and what was done there, in words. */
export interface Fault {
  file: DayFile;
  /** The first line of a file is 1. */
  line: number;
  text: string;
}

/** What is known of an owner's chain. */
export interface Verdict {
  /** How many lines follow each other, from the first one on. */
  lines: number;
  /** Whether the first of these lines is the first of the whole chain. */
  isFromStart: boolean;
  /** The SHA-256 of the last line that is part of the chain. */
  digest: string;
  /** The first fault; null: the chain is whole. */
  fault: Fault | null;
}

const NEWLINE = 0x0a;
const SHA256 = /^[0-9a-f]{64}$/;

/** A line of a file. `digest`: its SHA-256. `prev`: what it says of the line before it; null: nothing. */
interface Line {
  file: DayFile;
  line: number;
  digest: string;
  prev: string | null;
  isCutOff: boolean;
}

/** Follows the chain through these files, which are in order. Throws a `CliError` if one cannot be read. */
export async function verifyChain(files: readonly DayFile[]): Promise<Verdict> {
  let before: Line | undefined;
  let verdict: Verdict = { lines: 0, isFromStart: false, digest: "", fault: null };
  for (const file of files) {
    const lines = await linesOf(file);
    if (lines.length === 0) return { ...verdict, fault: { file, line: 1, text: "the file is empty" } };
    for (const line of lines) {
      const text = malformed(line) ?? (await misplaced(line, before, files));
      if (text !== undefined) return { ...verdict, fault: { file, line: line.line, text } };
      const isFromStart = before === undefined ? line.prev === "" : verdict.isFromStart;
      verdict = { ...verdict, lines: verdict.lines + 1, isFromStart, digest: line.digest };
      before = line;
    }
  }
  return verdict;
}

async function linesOf(file: DayFile): Promise<Line[]> {
  const bytes = await readFile(file.path).catch((error) => {
    throw new CliError(`Cannot read ${printable(file.path)}: ${errorText(error)}`);
  });
  const found: Line[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    const content = bytes.subarray(start, end);
    const digest = createHash("sha256").update(content).digest("hex");
    const line = { file, line: found.length + 1, digest, prev: prevOf(content), isCutOff: newline === -1 };
    found.push(line);
    start = end + 1;
  }
  return found;
}

/** What a line says of the line before it. Null: it is not a line of the export. */
function prevOf(content: Buffer): string | null {
  try {
    const { prev }: { prev?: unknown } = JSON.parse(content.toString("utf8")) ?? {};
    return typeof prev === "string" && (prev === "" || SHA256.test(prev)) ? prev : null;
  } catch {
    return null;
  }
}

function malformed({ prev, isCutOff }: Line): string | undefined {
  if (isCutOff) return "the line is cut off: it has no end of line";
  if (prev === null)
    return "this is not an entry of the log: an entry is a JSON object with the digest `prev`";
  return undefined;
}

/** What is wrong with the place of a line, in words. Undefined: it follows the line before it. */
async function misplaced(
  line: Line,
  before: Line | undefined,
  files: readonly DayFile[],
): Promise<string | undefined> {
  if (before === undefined || line.prev === before.digest) return undefined;
  if (line.prev === "") return `a chain begins here, although ${placeOf(before, line)} comes before it`;
  const named = await lineWith(line.prev ?? "", files);
  if (named !== undefined) return disorder(line, before, named);
  const place = placeOf(before, line);
  const why =
    line.file === before.file
      ? `${place} was changed, a line between them was removed, or this line was changed`
      : missing(before, line);
  return `it does not follow ${place}: ${why}`;
}

/** `line` names a line that is there, but not right before it. */
function disorder(line: Line, before: Line, named: Line): string {
  const place = placeOf(named, line);
  if (isLater(named, line)) return `the lines are in another order: this one belongs behind ${place}`;
  if (line.digest === before.digest) return `it is a copy of ${placeOf(before, line)}`;
  return `it belongs right behind ${place}: lines were put in between, or are in another order`;
}

/** What is missing between two files. */
function missing(before: Line, { file }: Line): string {
  const { day, part, path } = before.file;
  const end = `lines at the end of ${printable(path)} were changed or removed`;
  const first = file.day === day ? part + 1 : 1;
  if (file.part > first) return `part ${file.part - 1} of ${file.day} is missing`;
  const days = file.day === day ? [] : daysBetween(day, file.day);
  if (days.length === 0) return end;
  const which = days.length === 1 ? `the file of ${days[0]}` : `a file of ${days[0]} to ${days.at(-1)}`;
  return `${which} is missing, or ${end}`;
}

const DAY_MS = 24 * 3_600_000;

/** The days between two days, without these. */
function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from) + DAY_MS; at < Date.parse(to); at += DAY_MS) {
    days.push(new Date(at).toISOString().slice(0, from.length));
  }
  return days;
}

/** The line with this digest, wherever it is. Undefined: there is none. */
async function lineWith(digest: string, files: readonly DayFile[]): Promise<Line | undefined> {
  for (const file of files) {
    const found = (await linesOf(file)).find((line) => line.digest === digest);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isLater(one: Line, other: Line): boolean {
  if (one.file.day !== other.file.day) return one.file.day > other.file.day;
  return one.file.part === other.file.part ? one.line > other.line : one.file.part > other.file.part;
}

/** How a line is called in a sentence about another line. */
function placeOf({ file, line }: Line, from: Line): string {
  return file.path === from.file.path ? `line ${line}` : `line ${line} of ${printable(file.path)}`;
}
