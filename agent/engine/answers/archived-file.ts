// What is in the archive by which an engine sends one file of a container?

const BLOCK = 512;
/** The fields of a header (`tar(5)`): the size in octal digits, and the kind of the entry. */
const SIZE = { from: 124, to: 136 };
const KIND = 156;
/** A regular file, in new archives and in old ones. */
const FILES = ["0", "\0"];

/** The text of the first regular file; undefined: there is none, such as where the path is a link. */
export function archivedFile(tar: Buffer): string | undefined {
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const size = Number.parseInt(tar.toString("latin1", at + SIZE.from, at + SIZE.to).trim(), 8);
    if (!(size >= 0)) return undefined;
    const from = at + BLOCK;
    if (FILES.includes(tar.toString("latin1", at + KIND, at + KIND + 1)))
      return tar.toString("utf8", from, from + size);
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return undefined;
}
