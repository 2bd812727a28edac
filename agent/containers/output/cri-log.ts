// What did a container write, by the log file of an engine such as podman (containers.md#output)?
import type { Frame } from "../../engine/types.ts";

const NEWLINE = 0x0a;
const SPACE = 0x20;

/**
 * Reads the lines of such a file in pieces of any length: `<time> <stream> <tag> <bytes>`. The bytes of a
 * line with the tag `F` end with a newline that the container has written; those with the tag `P` do not.
 */
export class CriLog {
  /** The beginning of a line whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);

  /** What is complete after one more piece. The frames of one stream are in order. */
  feed(piece: Buffer): Frame[] {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const frames: Frame[] = [];
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE, from); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const frame = frameOf(bytes.subarray(from, end + 1));
      if (frame !== undefined) frames.push(frame);
      from = end + 1;
    }
    this.#rest = Buffer.from(bytes.subarray(from));
    return frames;
  }
}

/** The frame of one line, which ends with its newline; undefined: the line is no output of a container. */
function frameOf(line: Buffer): Frame | undefined {
  const afterTime = line.indexOf(SPACE) + 1;
  const afterStream = line.indexOf(SPACE, afterTime) + 1;
  const afterTag = line.indexOf(SPACE, afterStream) + 1;
  if (afterTime === 0 || afterStream === 0 || afterTag === 0) return undefined;
  const stream = line.toString("latin1", afterTime, afterStream - 1);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const isWhole = line.toString("latin1", afterStream, afterTag - 1).split(":")[0] === "F";
  return { stream, data: line.subarray(afterTag, isWhole ? line.length : line.length - 1) };
}
