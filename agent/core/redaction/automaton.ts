// Where in a stretch of bytes do needles end, and which end of it may be the beginning of one?
import { SHORTEST_NEEDLE_BYTES } from "./needles.ts";

/** A window of so many bytes is looked up at once. */
const WINDOW_BYTES = 3;
/** Each needle has a window at one of every so many places, however it lies. */
const STRIDE = SHORTEST_NEEDLE_BYTES - WINDOW_BYTES + 1;

/** Windows are spread over a table of so many bits by multiplying: with 2^32 through the golden ratio. */
const TABLE_BITS = 16;
const SPREAD = 0x9e3779b1;

/** The node of no bytes. */
const ROOT = 0;

/**
 * A tree of all needles, in which each node also knows the longest other one that it ends with
 * (Aho-Corasick). A step costs the same whatever the output is: no task can make its host slow by writing
 * what nearly matches. A table of windows finds the places at which the tree is worth asking.
 */
export class Automaton {
  /** The needles' longest length in bytes. */
  readonly longest: number;
  /** Of each node: its first child, its next sibling, and the byte that leads to it. */
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  /** Of each node: the longest other node that it ends with. */
  readonly #fail: Int32Array;
  /** Of each node: its bytes, and the bytes of the longest needle that it ends with. */
  readonly #depth: Uint16Array;
  readonly #ends: Uint16Array;
  /** Where the root leads by each byte. */
  readonly #first = new Int32Array(256);
  /** Whether a window may lie in one of the first places of a needle. */
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
   * Calls `found` with the end and the length of the longest needle that ends there, for each place at which
   * one ends, in their order.
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

  /** The length of the longest end of these bytes with which a needle begins that is not complete. */
  openBytes(bytes: Uint8Array): number {
    let node = ROOT;
    for (const byte of bytes) node = this.#next(node, byte);
    while (node !== ROOT && this.#child[node] === 0) node = this.#fail[node] ?? ROOT;
    return this.#depth[node] ?? 0;
  }

  /**
   * Walks the tree from `from` until beyond `to`, and on while more than the bytes before a window have
   * matched. Returns where the first needle may begin that is not found yet.
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

  /** The node after one more byte. */
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

  /** Finds what each node ends with, the shorter nodes first: they are what the longer ones end with. */
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

/** The place of a window in the table; windows may share one. */
function windowAt(bytes: Uint8Array, at: number): number {
  const window = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return Math.imul(window, SPREAD) >>> (32 - TABLE_BITS);
}
