// Which entries does a tar archive have, in whatever parts its bytes arrive?
import type { ArchiveEntry } from "../entries.ts";
import { ArchiveFault } from "../faults.ts";
import { type Decoded, damaged, decodeHeader, type Extension } from "./decode.ts";
import { extendedBy } from "./extended.ts";
import { BLOCK_BYTES } from "./fields.ts";

/** The longest extended header that is read. It has a path, a target and a few numbers. */
const MAX_EXTENDED_BYTES = 1024 * 1024;
/** Entries without a file: the name of a volume, the access rights of Solaris. */
const WITHOUT_FILE = new Set(["TapeVolumeHeader", "SolarisACL"]);
const EXTENDED = new Set(["ExtendedHeader", "OldExtendedHeader", "GlobalExtendedHeader"]);
const LONG_PATHS = new Set(["NextFileHasLongPath", "OldGnuLongPath"]);
const LONG_TARGET = "NextFileHasLongLinkpath";

/** An entry of an archive, before its content. */
export interface TarEntry extends ArchiveEntry {
  /** Bytes of the content. Links and directories may have some, too: these mean nothing. */
  size: number;
  mode?: number | undefined;
  mtime?: Date | undefined;
}

/** Takes the entries of an archive, one after the other. What it throws ends the reading. */
export interface TarSink {
  begin(entry: TarEntry): void;
  /** A part of the content. It is valid until the call ends. */
  content(bytes: Buffer): void;
  end(): void;
}

/** What the content of the present entry is for. */
type Content = "of the archive" | "skipped" | { extends: string; parts: Buffer[] };

/**
 * Reads a tar archive: the formats of POSIX, GNU and before both. Passes its entries to a sink, as they come.
 * Throws an `ArchiveFault` if it is damaged: nothing is guessed, since two readers would then see different
 * files.
 */
export class TarReader {
  readonly #sink: TarSink;
  /** A header of which only the first bytes have arrived. */
  readonly #begun = Buffer.alloc(BLOCK_BYTES);
  #begunBytes = 0;
  #content: Content = "skipped";
  #contentLeft = 0;
  #paddingLeft = 0;
  /** What extended headers say of the next entry, and of all that follow. */
  #next: Extension | undefined;
  #all: Extension | undefined;
  #hasEntries = false;
  #zeroBlocks = 0;

  constructor(sink: TarSink) {
    this.#sink = sink;
  }

  /** Reads more bytes. Bytes behind the end mark mean nothing. */
  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#zeroBlocks < 2; ) {
      if (this.#contentLeft > 0) at += this.#takeContent(bytes, at);
      else if (this.#paddingLeft > 0) at += this.#skipPadding(bytes.length - at);
      else at += this.#takeHeader(bytes, at);
    }
  }

  /** The bytes are over. Throws an `ArchiveFault` if they end within an entry, or have none. */
  end(): void {
    const isCut = this.#contentLeft + this.#paddingLeft + this.#begunBytes > 0;
    if (isCut) throw new ArchiveFault("it ends too early: it is truncated");
    if (!this.#hasEntries) throw new ArchiveFault("it is no tar archive");
  }

  #takeContent(bytes: Buffer, at: number): number {
    const part = bytes.subarray(at, at + this.#contentLeft);
    this.#contentLeft -= part.length;
    const to = this.#content;
    if (to === "of the archive") this.#sink.content(part);
    else if (to !== "skipped") to.parts.push(Buffer.from(part));
    if (this.#contentLeft === 0) this.#endContent();
    return part.length;
  }

  #endContent(): void {
    const to = this.#content;
    if (to === "of the archive") this.#sink.end();
    else if (to !== "skipped") this.#extend(to.extends, Buffer.concat(to.parts));
  }

  #skipPadding(there: number): number {
    const skipped = Math.min(there, this.#paddingLeft);
    this.#paddingLeft -= skipped;
    return skipped;
  }

  #takeHeader(bytes: Buffer, at: number): number {
    if (this.#begunBytes === 0 && bytes.length - at >= BLOCK_BYTES) {
      this.#header(bytes, at);
      return BLOCK_BYTES;
    }
    const copied = bytes.copy(this.#begun, this.#begunBytes, at);
    this.#begunBytes += copied;
    if (this.#begunBytes === BLOCK_BYTES) {
      this.#begunBytes = 0;
      this.#header(this.#begun, 0);
    }
    return copied;
  }

  #header(bytes: Buffer, at: number): void {
    const header = decodeHeader(bytes, at, this.#next, this.#all);
    if (header === "zeros") {
      this.#zeroBlocks += 1;
      return;
    }
    this.#zeroBlocks = 0;
    const { type, path = "", linkpath, size = 0, mode, mtime } = header;
    checkHeader(header);
    this.#contentLeft = size;
    this.#paddingLeft = -size & (BLOCK_BYTES - 1);
    if (EXTENDED.has(type) || LONG_PATHS.has(type) || type === LONG_TARGET) {
      if (size > MAX_EXTENDED_BYTES) throw new ArchiveFault(`an extended header has ${size} bytes`);
      this.#content = { extends: type, parts: [] };
      return;
    }
    this.#hasEntries = true;
    this.#next = undefined;
    if (WITHOUT_FILE.has(type)) {
      this.#content = "skipped";
      return;
    }
    this.#content = "of the archive";
    this.#sink.begin({ path, type, linkpath, size, mode, mtime });
    if (size === 0) this.#sink.end();
  }

  #extend(type: string, bytes: Buffer): void {
    if (type === "GlobalExtendedHeader") this.#all = extendedBy(bytes, this.#all);
    else if (EXTENDED.has(type)) this.#next = extendedBy(bytes, this.#next);
    else if (type === LONG_TARGET) this.#next = { ...this.#next, linkpath: beforeNul(bytes) };
    else this.#next = { ...this.#next, path: beforeNul(bytes) };
  }
}

function checkHeader({ type, path, linkpath, size = 0 }: Decoded): void {
  if (path === undefined || path === "") throw damaged("it has no path");
  const isLink = type === "Link" || type === "SymbolicLink";
  if (isLink && !linkpath) throw damaged(`"${path}" is a link without a target`);
  if (!isLink && !EXTENDED.has(type) && linkpath) throw damaged(`"${path}" is no link, but has a target`);
  if (!Number.isSafeInteger(size)) throw damaged(`"${path}" has a size that is no number of bytes`);
}

function beforeNul(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}
