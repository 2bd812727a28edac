// What does an extended header say (POSIX `pax`)?
import { damaged, type Extension } from "./decode.ts";

const [BLANK, NEWLINE] = [0x20, 0x0a];
const WHOLE = /^\d{1,16}$/;
const SECONDS = /^-?\d{1,12}(?:\.\d+)?$/;

/**
 * Adds what an extended header says to what others have said before. Its records have lengths, so that a name
 * may have any byte. Keys that nobody needs to place a file mean nothing. Throws an `ArchiveFault` for a
 * record that is damaged, and for a sparse file, whose holes are not in the archive.
 */
export function extendedBy(bytes: Buffer, before: Extension | undefined): Extension {
  const said: Extension = { ...before };
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const { key, value, end } = recordAt(bytes, at);
    if (key.startsWith("GNU.sparse.")) throw damaged("it is a sparse file");
    note(said, key, value);
    at = end;
  }
  return said;
}

/** A record: its length in bytes, a blank, `key=value` and a newline. */
function recordAt(bytes: Buffer, at: number): { key: string; value: string; end: number } {
  const blank = bytes.indexOf(BLANK, at);
  const length = bytes.toString("latin1", at, blank < 0 ? at : blank);
  const end = at + (WHOLE.test(length) ? Number(length) : 0);
  const equals = bytes.indexOf("=", blank);
  if (end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== NEWLINE)
    throw damaged("a record of its extended header has a wrong length");
  return {
    key: bytes.toString("utf8", blank + 1, equals),
    value: bytes.toString("utf8", equals + 1, end - 1),
    end,
  };
}

function note(said: Extension, key: string, value: string): void {
  if (key === "path" || key === "linkpath") said[key] = value;
  else if (key === "size") said.size = numberIn(key, value, WHOLE);
  else if (key === "mtime") said.mtime = new Date(numberIn(key, value, SECONDS) * 1_000);
}

function numberIn(key: string, value: string, form: RegExp): number {
  if (!form.test(value)) throw damaged(`its extended header has no number for "${key}"`);
  return Number(value);
}
