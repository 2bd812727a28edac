// How is zstd decompressed by a Node that has none, before 22.15?
import { ArchiveFault } from "../faults.ts";
import { MAX_BLOCK_BYTES } from "./frames.ts";

const IN_BYTES = 128 * 1024;
/** Three numbers that zstd reads and writes: where a buffer is, its size, and how much of it is used. */
const STRUCT_BYTES = 12;
const [SIZE_AT, USED_AT] = [4, 8];
/** A result of zstd from here on, as a number without a sign, is an error: its code below zero. */
const FIRST_ERROR = 2 ** 32 - 120;
/** The errors that have a cause of their own; after any other one, the archive is damaged. */
const ERRORS: { [code: number]: string } = {
  16: "it needs more memory to be unpacked than zstd takes by default (--long)",
  32: "it needs a dictionary to be unpacked",
  64: "there is not enough memory to unpack it",
};

/** What is used of the library's compiled zstd. Addresses are those of its own memory. */
interface Zstd {
  memory: { buffer: ArrayBuffer };
  malloc(bytes: number): number;
  ZSTD_createDCtx(): number;
  ZSTD_decompressStream(context: number, output: number, input: number): number;
}

/** The types of Node do not have it. */
declare const WebAssembly: { Instance: new (compiled: object, imports: object) => { exports: object } };

/**
 * Decompresses a zstd file, of which no part goes beyond a frame (`withinFrames`), with the window that zstd
 * allows by default, 128 MiB. The library is zstd itself as WebAssembly. Each file gets a memory of its own,
 * which is free afterwards, and errors are looked at: the library's own functions do neither
 * (decisions/files.md#reading-zstd). Throws an `ArchiveFault`.
 */
export async function* decompressedByLibrary(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const imports = { env: { emscripten_notify_memory_growth: () => undefined } };
  const { exports } = new WebAssembly.Instance(await compiledZstd(), imports);
  // What a compiled module exports has no types, and the version of the library is pinned.
  const decoder = new Decoder(exports as Zstd);
  for await (const part of parts) yield* decoder.decompress(part);
  if (!decoder.isAtEnd) throw new ArchiveFault("it is cut: it ends within a frame of zstd");
}

let compiled: Promise<object> | undefined;

/** Loads the library at the first use: most hosts and commands have a newer Node. */
function compiledZstd(): Promise<object> {
  compiled ??= import("zstddec/stream").then(({ ZSTDDecoder }) => {
    return new Promise<object>((resolve, reject) => {
      const library = new ZSTDDecoder();
      library._init = ({ module }) => resolve(module);
      library.init().catch(reject);
    });
  });
  return compiled;
}

class Decoder {
  readonly #zstd: Zstd;
  readonly #context: number;
  readonly #input: { struct: number; bytes: number };
  readonly #output: { struct: number; bytes: number };
  /** How many more bytes zstd would like to have: 0 at the end of a frame. */
  #wanted = 0;

  constructor(zstd: Zstd) {
    this.#zstd = zstd;
    this.#context = zstd.ZSTD_createDCtx();
    this.#input = { struct: zstd.malloc(STRUCT_BYTES), bytes: zstd.malloc(IN_BYTES) };
    this.#output = { struct: zstd.malloc(STRUCT_BYTES), bytes: zstd.malloc(MAX_BLOCK_BYTES) };
  }

  get isAtEnd(): boolean {
    return this.#wanted === 0;
  }

  *decompress(part: Buffer): Generator<Buffer> {
    for (let at = 0; at < part.length; at += IN_BYTES) yield* this.#step(part.subarray(at, at + IN_BYTES));
  }

  *#step(part: Buffer): Generator<Buffer> {
    const { bytes, struct } = this.#input;
    Buffer.from(this.#zstd.memory.buffer, bytes, IN_BYTES).set(part);
    this.#describe(struct, bytes, part.length);
    for (let isDone = false; !isDone; ) {
      const output = this.#next();
      if (output.length > 0) yield output;
      // A full output may mean that there is more, unless the frame is over.
      const hasMore = output.length === MAX_BLOCK_BYTES && this.#wanted > 0;
      isDone = this.#used(struct) === part.length && !hasMore;
    }
  }

  /** What comes out next, as a copy. */
  #next(): Buffer {
    const { bytes, struct } = this.#output;
    this.#describe(struct, bytes, MAX_BLOCK_BYTES);
    this.#wanted = this.#zstd.ZSTD_decompressStream(this.#context, struct, this.#input.struct) >>> 0;
    if (this.#wanted >= FIRST_ERROR) {
      const text = ERRORS[2 ** 32 - this.#wanted] ?? `it is damaged (zstd ${2 ** 32 - this.#wanted})`;
      throw new ArchiveFault(text);
    }
    return Buffer.from(Buffer.from(this.#zstd.memory.buffer, bytes, this.#used(struct)));
  }

  /** Its memory is another one after it has grown, so it is looked up each time. */
  #describe(struct: number, bytes: number, size: number): void {
    const view = new DataView(this.#zstd.memory.buffer);
    view.setUint32(struct, bytes, true);
    view.setUint32(struct + SIZE_AT, size, true);
    view.setUint32(struct + USED_AT, 0, true);
  }

  #used(struct: number): number {
    return new DataView(this.#zstd.memory.buffer).getUint32(struct + USED_AT, true);
  }
}
