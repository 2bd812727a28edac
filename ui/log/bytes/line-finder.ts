// At which bytes do lines begin and end whose numbers a link names?
const NEWLINE = 0x0a;

/** Finds lines in bytes that come piece by piece from the beginning of a log. */
export interface LineFinder {
  /** How many bytes have been looked at. */
  readonly searched: number;
  /**
   * Looks at the next bytes. Returns the bytes of the lines as soon as they are known: `to` is the offset
   * after the last line.
   */
  take(bytes: Uint8Array): { from: number; to: number } | undefined;
  /** The bytes of those lines that there are, if the log ends here. Undefined if it has no such line. */
  end(): { from: number; to: number } | undefined;
}

/** Looks for the lines `first` to `last`, counted from 1 (ui.md#d8). */
export function lineFinder(first: number, last: number): LineFinder {
  let searched = 0;
  let line = 1;
  let from = first === 1 ? 0 : undefined;
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
