// At which places in a stretch of bytes do needles end, and how many of its last bytes may begin a needle?
import { SHORTEST_NEEDLE_BYTES } from "./needles.ts";

/** The length of a window: the consecutive bytes that are looked up in the table together. */
const WINDOW_BYTES = 3;
/**
 * The distance between two look-ups. Wherever a needle lies, one look-up reads a window that begins in the
 * first `STRIDE` bytes of the needle.
 */
const STRIDE = SHORTEST_NEEDLE_BYTES - WINDOW_BYTES + 1;

/** A window's place in the table: the first `TABLE_BITS` bits of the window times (2^32 / golden ratio). */
const TABLE_BITS = 16;
const SPREAD = 0x9e3779b1;

/** The root, which stands for no bytes. */
const ROOT = 0;

/**
 * A tree of all needles (Aho-Corasick). Each node stands for the first bytes of a needle. It also knows the
 * longest other node whose bytes are the end of its own bytes. A step costs the same for any output, so no
 * task can slow its host down with output that nearly matches. A table of windows tells at which places the
 * tree must be searched.
 */
export class Automaton {
  /** The length of the longest needle in bytes. */
  readonly longest: number;
  /** For each node: its first child, its next sibling, and the byte that leads to the node. */
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  /** For each node: the longest other node whose bytes are the end of its own bytes. */
  readonly #fail: Int32Array;
  /** For each node: how many bytes it has, and the length of the longest needle that its bytes end with. */
  readonly #depth: Uint16Array;
  readonly #ends: Uint16Array;
  /** The child of the root for each byte. */
  readonly #first = new Int32Array(256);
  /** Whether a window with this place in the table begins at one of the first `STRIDE` bytes of a needle. */
  readonly #windows = new Uint8Array(1 << TABLE_BITS);
  #nodes = 1;

  constructor(needles: readonly Uint8Array[]) {
    const most = needles.reduce((sum, { length }) => sum + length, 1);
    this.longest = needles.reduce((most, { length }) => Math.max(most, length), 0);
    this.#child = new Int32Array(most);
    this.#sibling = new Int32Array(most);
    this.#byte = new Uint8Array(most);
    this.#fail = new Int32Array(most);
    this.#depth = new Uint16Array(most);
    this.#ends = new Uint16Array(most);
    for (const needle of needles) this.#add(needle);
    this.#link();
  }

  /**
   * Calls `found` for each place at which a needle ends, in the order of these places. Its arguments are the
   * place and the length of the longest needle that ends there.
   */
  scan(bytes: Uint8Array, found: (end: number, length: number) => void): void {
    const windows = this.#windows;
    const { length } = bytes;
    let at = STRIDE - 1;
    while (at + WINDOW_BYTES <= length) {
      if (windows[windowAt(bytes, at)] === 0) at += STRIDE;
      else at = this.#walk(bytes, at - STRIDE + 1, at, found) + STRIDE - 1;
    }
  }

  /** How many of the last bytes may be the beginning of a needle that is not complete. */
  openBytes(bytes: Uint8Array): number {
    let node = ROOT;
    for (const byte of bytes) node = this.#next(node, byte);
    while (node !== ROOT && this.#child[node] === 0) node = this.#fail[node] ?? ROOT;
    return this.#depth[node] ?? 0;
  }

  /**
   * Walks the tree from `from` until beyond `to`, and further while at least `STRIDE` bytes match. Returns
   * the first place at which a needle that is not found yet may begin.
   */
  #walk(bytes: Uint8Array, from: number, to: number, found: (end: number, length: number) => void): number {
    const [ends, depth] = [this.#ends, this.#depth];
    const { length } = bytes;
    let node = ROOT;
    let at = from;
    for (; at < length && (at <= to || (depth[node] ?? 0) >= STRIDE); at += 1) {
      node = this.#next(node, bytes[at] ?? 0);
      const needle = ends[node] ?? 0;
      if (needle > 0) found(at + 1, needle);
    }
    return at - Math.min(depth[node] ?? 0, STRIDE - 1);
  }

  /** The node that one more byte leads to. */
  #next(from: number, byte: number): number {
    for (let node = from; node !== ROOT; node = this.#fail[node] ?? ROOT) {
      const next = this.#childOf(node, byte);
      if (next !== ROOT) return next;
    }
    return this.#first[byte] ?? ROOT;
  }

  /** The child of a node other than the root; `ROOT` if it has none for this byte. */
  #childOf(node: number, byte: number): number {
    let child = this.#child[node] ?? ROOT;
    while (child !== ROOT && this.#byte[child] !== byte) child = this.#sibling[child] ?? ROOT;
    return child;
  }

  #add(needle: Uint8Array): void {
    let node = ROOT;
    needle.forEach((byte, index) => {
      const known = node === ROOT ? (this.#first[byte] ?? ROOT) : this.#childOf(node, byte);
      node = known === ROOT ? this.#grow(node, byte, index + 1) : known;
    });
    this.#ends[node] = needle.length;
    for (let at = 0; at < STRIDE; at += 1) this.#windows[windowAt(needle, at)] = 1;
  }

  #grow(parent: number, byte: number, depth: number): number {
    const node = this.#nodes;
    this.#nodes += 1;
    this.#byte[node] = byte;
    this.#depth[node] = depth;
    this.#sibling[node] = this.#child[parent] ?? ROOT;
    this.#child[parent] = node;
    if (parent === ROOT) this.#first[byte] = node;
    return node;
  }

  /** Sets `#fail` and `#ends` of each node. Shorter nodes come first, because longer nodes end with them. */
  #link(): void {
    const queue = new Int32Array(this.#nodes);
    let filled = 1;
    for (let done = 0; done < filled; done += 1) {
      const parent = queue[done] ?? ROOT;
      for (let node = this.#child[parent] ?? ROOT; node !== ROOT; node = this.#sibling[node] ?? ROOT) {
        queue[filled] = node;
        filled += 1;
        const fail = parent === ROOT ? ROOT : this.#next(this.#fail[parent] ?? ROOT, this.#byte[node] ?? 0);
        this.#fail[node] = fail;
        if (this.#ends[node] === 0) this.#ends[node] = this.#ends[fail] ?? 0;
      }
    }
  }
}

/** The place of a window in the table. Several windows may share a place. */
function windowAt(bytes: Uint8Array, at: number): number {
  const window = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return Math.imul(window, SPREAD) >>> (32 - TABLE_BITS);
}
