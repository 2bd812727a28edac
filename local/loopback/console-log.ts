// Where is what an instance of the loopback cloud writes, and how is the end of it read?
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";

/** The file with all that the processes of an instance write to their standard streams. */
export function consoleLogIn(dir: string): string {
  return join(dir, "console.log");
}

/** The end of a file as text. Undefined: it cannot be read, because it is gone. */
export function readTail(file: string, mostBytes: number): { text: string; truncated: boolean } | undefined {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(handle);
    const from = Math.max(0, size - mostBytes);
    const bytes = Buffer.alloc(size - from);
    const length = readSync(handle, bytes, 0, bytes.length, from);
    return { text: bytes.subarray(0, length).toString("utf8"), truncated: from > 0 };
  } finally {
    closeSync(handle);
  }
}
