// How is a backup written whole or not at all, and read as a whole before anything is believed?
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, createGzip } from "node:zlib";
import { TEMPORARY_ENDING } from "../../disk/atomic.ts";
import { errorText } from "../../src/shared/words.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";
import {
  BackupFault,
  type Contents,
  type Counts,
  type Head,
  type Line,
  noCounts,
  Reader,
  Seal,
} from "./format.ts";

/** It has digests of tokens, and who did what: for its owner alone. */
const PRIVATE_FILE = 0o600;

/** No line of a backup is as long. What else is read must not fill the memory. */
const MAX_LINE_CHARS = 16 * 2 ** 20;

/** Writes a backup (backup.md#archive). Returns how many lines of each kind it has. */
export async function writeBackup(path: string, head: Head, lines: AsyncIterable<Line>): Promise<Counts> {
  const counts = noCounts();
  async function* text() {
    const seal = new Seal();
    const sealed = (line: object) => {
      const json = JSON.stringify(line);
      seal.add(json);
      return `${json}\n`;
    };
    yield sealed(head);
    for await (const line of lines) {
      counts[line.kind] += 1;
      yield sealed(line);
    }
    yield `${seal.line()}\n`;
  }
  const temporary = path + TEMPORARY_ENDING;
  await rm(temporary, { force: true });
  try {
    const file = await open(temporary, "wx", PRIVATE_FILE);
    await pipeline(Readable.from(text()), createGzip(), file.createWriteStream({ flush: true }));
    await rename(temporary, path);
    return counts;
  } catch (error) {
    await rm(temporary, { force: true });
    if (!isOfDisk(error)) throw error;
    throw new CliError(`Cannot write ${printable(path)}: ${errorText(error)}`, [
      "No backup was made. Name a file in a directory that you can write to.",
    ]);
  }
}

/**
 * Reads a backup to its end, and what it can restore. Throws a `CliError` for a file that is no backup, is
 * cut off or changed, or is of a newer version.
 */
export async function readBackup(path: string): Promise<Contents> {
  const reader = new Reader();
  try {
    await pipeline(createReadStream(path), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      for await (const line of linesOf(chunks)) reader.read(line);
    });
    return reader.contents();
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The lines of a text that comes in pieces. A piece can end in the middle of a character. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_CHARS) throw new BackupFault("it is no backup of Drover: a line has no end");
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function unreadable(path: string, error: unknown): unknown {
  const nothing = "Nothing has been changed.";
  if (error instanceof BackupFault) {
    return new CliError(`${printable(path)} cannot be restored: ${error.message}.`, [
      `${nothing} Name a file that \`drover backup\` has written, as it was.`,
    ]);
  }
  const code = codeOf(error);
  if (code?.startsWith("Z_") === true) {
    const isCut = code === "Z_BUF_ERROR";
    const why = isCut ? "its end is missing: it was cut off" : "it is no backup of Drover, or is damaged";
    return new CliError(`${printable(path)} cannot be restored: ${why}.`, [
      `${nothing} Name a file that \`drover backup\` has written, as it was.`,
    ]);
  }
  if (!isOfDisk(error)) return error;
  return new CliError(`Cannot read ${printable(path)}: ${errorText(error)}`, [nothing]);
}

function isOfDisk(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "path" in error;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
