// At which bytes do lines begin and end whose numbers a link names?
const NEWLINE = 0x0a;
/** The beginning of a log. */
const LOG_START: LineStart = { from: 0, line: 1 };

/** Where looking begins: a byte, and the number of the line that it is in, from 1. */
export interface LineStart {
  from: number;
  line: number;
}

/** Finds lines in bytes that come piece by piece from the start on. */
export interface LineFinder {
  /** The offset after the bytes that have been looked at. */
  readonly searched: number;
  /**
   * Looks at the next bytes. Returns the bytes of the lines as soon as they are known: `to` is the offset
   * after the last line.
   */
  take(bytes: Uint8Array): { from: number; to: number } | undefined;
  /** The bytes of those lines that there are, if the log ends here. Undefined if it has no such line. */
  end(): { from: number; to: number } | undefined;
}

/** Looks for the lines `first` to `last` (ui.md#d8). The first one must not begin before the start. */
export function lineFinder(first: number, last: number, start: LineStart = LOG_START): LineFinder {
  let searched = start.from;
  let line = start.line;
  // Only the first line of a log begins without a newline before it.
  let from = first === 1 && searched === 0 ? 0 : undefined;
  return {
    get searched() {
      return searched;
    },
    take(bytes) {
      for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
        line += 1;
        if (line === first) from = searched + at + 1;
        if (line === last + 1 && from !== undefined) return { from, to: searched + at + 1 };
      }
      searched += bytes.length;
      return undefined;
    },
    end: () => (from === undefined || from >= searched ? undefined : { from, to: searched }),
  };
}
