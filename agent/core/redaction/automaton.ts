// At which places in a stretch of bytes do needles end, and how many of its last bytes may begin a needle?

/** The length of a window: the consecutive bytes that are looked up in the table together. */
const WINDOW_BYTES = 3;
/**
 * The greatest distance between two look-ups. Each needle has as many windows in the table, so a greater one
 * would find more places that are none.
 */
const MAX_STRIDE = 8;

/** A window's place in the table: the first `TABLE_BITS` bits of the window times (2^32 / golden ratio). */
const TABLE_BITS = 16;
const SPREAD = 0x9e3779b1;

/** The root, which stands for no bytes. */
const ROOT = 0;
/** No chain: chains are numbered from 1. As the start of chain 0 is the root, it leads to no child. */
const NO_CHAIN = 0;
/** The `fail` of the root, which is not the end of any other bytes. */
const OUTSIDE = -1;

/** A node with more chains than this below it gets a table of them. */
const MOST_BESIDE = 8;

/** How many bytes of each needle are added together. */
const BLOCK_BYTES = 64;

/**
 * A tree of all needles (Aho-Corasick). Each node stands for the first bytes of a needle. It also knows the
 * longest other node whose bytes are the end of its own bytes. A step costs the same for any output, so no
 * task can slow its host down with output that nearly matches. A table of windows tells at which places the
 * tree must be searched.
 *
 * The tree consists of chains: what a needle adds to the tree is a chain of nodes, in which each node is the
 * child of the node before it. So a long needle is copied as a whole, and most nodes need no other child. The
 * tree grows by blocks of `BLOCK_BYTES` bytes of all needles: nodes that are linked together lie together, or
 * memory would be slower than the work.
 */
export class Automaton {
  /** The length of the longest needle in bytes. */
  readonly longest: number;
  /** For each node: the byte that leads to it. A node that is not used stands behind each chain. */
  readonly #byte: Uint8Array;
  /** For each node: the longest other node whose bytes are the end of its own bytes. */
  readonly #fail: Int32Array;
  /** For each node: how many bytes it has, and the length of the longest needle that its bytes end with. */
  readonly #depth: Uint16Array;
  readonly #ends: Uint16Array;
  /**
   * For each node: the first of the chains that begin with a child of it; `NO_CHAIN` if there is none. A
   * negative number is the complement of a place in `#wide`.
   */
  readonly #branch: Int32Array;
  /** For each chain: its first node and that node's byte, and the next chain at the same parent. */
  readonly #start: Int32Array;
  readonly #startByte: Uint8Array;
  readonly #beside: Int32Array;
  /** For nodes with many children besides the one in their chain: the child for each byte. */
  readonly #wide: Int32Array[] = [];
  /** The child of the root for each byte. */
  readonly #first = new Int32Array(256);
  #nodes = 1;
  #chains = 0;
  /**
   * The distance between two look-ups. Wherever a needle lies, one look-up reads a window that begins in the
   * first `#stride` bytes of the needle, and lies within the needle.
   */
  readonly #stride: number;
  /** Whether a window with this place in the table begins at one of the first `#stride` bytes of a needle. */
  readonly #windows = new Uint8Array(1 << TABLE_BITS);

  constructor(needles: readonly Uint8Array[]) {
    this.longest = needles.reduce((most, { length }) => Math.max(most, length), 0);
    const shortest = needles.reduce((least, { length }) => Math.min(least, length), this.longest);
    this.#stride = Math.max(1, Math.min(MAX_STRIDE, shortest - WINDOW_BYTES + 1));
    const chains = needles.reduce((sum, { length }) => sum + Math.ceil(length / BLOCK_BYTES), 1);
    const nodes = needles.reduce((sum, { length }) => sum + length, chains);
    this.#byte = new Uint8Array(nodes);
    this.#fail = new Int32Array(nodes);
    this.#depth = new Uint16Array(nodes);
    this.#ends = new Uint16Array(nodes);
    this.#branch = new Int32Array(nodes);
    this.#start = new Int32Array(chains);
    this.#startByte = new Uint8Array(chains);
    this.#beside = new Int32Array(chains);
    const reached = new Int32Array(needles.length);
    for (let from = 0; from < this.longest; from += BLOCK_BYTES) {
      this.#link(this.#grow(needles, reached, from), from + 1);
    }
    for (const needle of needles) {
      for (let at = 0; at < this.#stride; at += 1) this.#windows[windowAt(needle, at)] = 1;
    }
  }

  /**
   * Calls `found` for each place at which a needle ends, in the order of these places. Its arguments are the
   * place and the length of the longest needle that ends there.
   */
  scan(bytes: Uint8Array, found: (end: number, length: number) => void): void {
    const windows = this.#windows;
    const { length } = bytes;
    const stride = this.#stride;
    let at = stride - 1;
    while (at + WINDOW_BYTES <= length) {
      if (windows[windowAt(bytes, at)] === 0) at += stride;
      else at = this.#walk(bytes, at - stride + 1, at, found) + stride - 1;
    }
  }

  /** How many of the last bytes may be the beginning of a needle that is not complete. */
  openBytes(bytes: Uint8Array): number {
    let node = ROOT;
    for (const byte of bytes) node = this.#next(node, byte);
    while (node !== ROOT && !this.#hasChild(node)) node = this.#fail[node] ?? ROOT;
    return this.#depth[node] ?? 0;
  }

  /**
   * Walks the tree from `from` until beyond `to`, and further while at least `#stride` bytes match. Returns
   * the first place at which a needle that is not found yet may begin.
   */
  #walk(bytes: Uint8Array, from: number, to: number, found: (end: number, length: number) => void): number {
    const [ends, depth, stride] = [this.#ends, this.#depth, this.#stride];
    const { length } = bytes;
    let node = ROOT;
    let at = from;
    for (; at < length && (at <= to || (depth[node] ?? 0) >= stride); at += 1) {
      node = this.#next(node, bytes[at] ?? 0);
      const needle = ends[node] ?? 0;
      if (needle > 0) found(at + 1, needle);
    }
    return at - Math.min(depth[node] ?? 0, stride - 1);
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
    if (this.#byte[node + 1] === byte && this.#isInside(node)) return node + 1;
    let chain = this.#branch[node] ?? NO_CHAIN;
    if (chain < NO_CHAIN) return this.#wide[~chain]?.[byte] ?? ROOT;
    while (chain !== NO_CHAIN && this.#startByte[chain] !== byte) chain = this.#beside[chain] ?? NO_CHAIN;
    return this.#start[chain] ?? ROOT;
  }

  #hasChild(node: number): boolean {
    return this.#isInside(node) || this.#branch[node] !== NO_CHAIN;
  }

  /** Whether the chain of this node goes on behind it. The node behind a chain has no depth. */
  #isInside(node: number): boolean {
    return this.#depth[node + 1] === (this.#depth[node] ?? 0) + 1;
  }

  /**
   * Adds a block of each needle: the bytes from `from` on. `reached` has the node of each needle before that,
   * and then behind it. Returns what was added.
   */
  #grow(needles: readonly Uint8Array[], reached: Int32Array, from: number): Chain[] {
    const chains: Chain[] = [];
    needles.forEach((needle, index) => {
      const end = Math.min(needle.length, from + BLOCK_BYTES);
      if (end <= from) return;
      let node = reached[index] ?? ROOT;
      let at = from;
      for (; at < end; at += 1) {
        const byte = needle[at] ?? 0;
        const next = node === ROOT ? (this.#first[byte] ?? ROOT) : this.#childOf(node, byte);
        if (next === ROOT) break;
        node = next;
      }
      if (at < end) {
        const chain = this.#addChain(node, needle.subarray(at, end), at + 1);
        chains.push(chain);
        node = chain.to - 1;
      }
      reached[index] = node;
      if (end === needle.length) this.#ends[node] = end;
    });
    return chains;
  }

  /** Adds a chain with these bytes below a node. `depth`: of its first node. */
  #addChain(parent: number, bytes: Uint8Array, depth: number): Chain {
    const from = this.#nodes;
    const to = from + bytes.length;
    this.#nodes = to + 1;
    this.#byte.set(bytes, from);
    for (let node = from; node < to; node += 1) this.#depth[node] = depth + node - from;
    if (parent === ROOT) this.#first[bytes[0] ?? 0] = from;
    else this.#branchOff(parent, from, bytes[0] ?? 0);
    return { parent, depth, from, to };
  }

  /** Makes `start` a child of another node. */
  #branchOff(parent: number, start: number, byte: number): void {
    const next = this.#branch[parent] ?? NO_CHAIN;
    if (next < NO_CHAIN) {
      this.#wide[~next]?.fill(start, byte, byte + 1);
      return;
    }
    this.#chains += 1;
    this.#start[this.#chains] = start;
    this.#startByte[this.#chains] = byte;
    this.#beside[this.#chains] = next;
    this.#branch[parent] = this.#chains;
    const chains: number[] = [];
    for (let chain = this.#chains; chain !== NO_CHAIN; chain = this.#beside[chain] ?? NO_CHAIN) {
      chains.push(chain);
    }
    if (chains.length <= MOST_BESIDE) return;
    const children = new Int32Array(256);
    for (const chain of chains) children[this.#startByte[chain] ?? 0] = this.#start[chain] ?? ROOT;
    this.#branch[parent] = ~(this.#wide.push(children) - 1);
  }

  /**
   * Sets `#fail` and `#ends` of the nodes of a block. Its shortest node has `depth` bytes. Shorter nodes come
   * first, because longer nodes end with them: the chains are walked side by side.
   */
  #link(chains: Chain[], depth: number): void {
    const [byte, fail, ends] = [this.#byte, this.#fail, this.#ends];
    const waiting = chains.sort((one, other) => other.depth - one.depth);
    const walked: Walk[] = [];
    for (let at = depth; waiting.length > 0 || walked.length > 0; at += 1) {
      while (waiting.at(-1)?.depth === at) {
        const { parent, from, to } = waiting.pop() as Chain; // the line above has seen it
        walked.push({ node: from, to, fail: parent === ROOT ? OUTSIDE : (fail[parent] ?? ROOT) });
      }
      for (let n = walked.length - 1; n >= 0; n -= 1) {
        const one = walked[n] as Walk; // `n` is within its bounds
        const { node } = one;
        one.fail = one.fail === OUTSIDE ? ROOT : this.#next(one.fail, byte[node] ?? 0);
        fail[node] = one.fail;
        if (ends[node] === 0) ends[node] = ends[one.fail] ?? 0;
        one.node = node + 1;
        if (one.node < one.to) continue;
        const last = walked.pop();
        if (last !== undefined && last !== one) walked[n] = last;
      }
    }
  }
}

/** What a needle has added to the tree. `depth`: of its first node; `to`: behind its last node. */
interface Chain {
  parent: number;
  depth: number;
  from: number;
  to: number;
}

/** A chain that is being walked: its next node, and the `fail` of the node before that. */
interface Walk {
  node: number;
  to: number;
  fail: number;
}

/** The place of a window in the table. Several windows may share a place. */
function windowAt(bytes: Uint8Array, at: number): number {
  const window = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return Math.imul(window, SPREAD) >>> (32 - TABLE_BITS);
}
