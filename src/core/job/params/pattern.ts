// Does a text match a pattern of a user, decided in a time that no pattern can make long?
import { errorText } from "../../../shared/words.ts";
import { type Node, treeOf } from "./pattern-tree.ts";

/** A pattern that can be compared with texts. */
export interface Pattern {
  /**
   * Whether the whole text matches. All ways to match are followed at once (Thompson's method), so the time
   * grows with the length of the text times `MAX_STATES` at most (jobs.md#patterns).
   */
  matches(text: string): boolean;
}

/** How many single characters, choices and repetitions a pattern has, once its counts are written out. */
export const MAX_STATES = 1_000;

/**
 * Reads a regular expression in JavaScript's notation (with the flag `u`), or says why it is refused: it is
 * none, it is too large, or it looks ahead, behind, back or for the edges of words, which cannot be decided
 * in bounded time or makes no sense for a whole text (jobs.md#patterns).
 */
export function patternOf(source: string): Pattern | string {
  try {
    new RegExp(source, "u");
  } catch (error) {
    return `is not a regular expression: ${errorText(error).replace(/^Invalid regular expression: /, "")}`;
  }
  const tree = treeOf(source);
  if (typeof tree === "string") return tree;
  const states: State[] = [{ kind: "end" }];
  const start = compile(tree, 0, states);
  if (start === undefined) return `is too large: written out, it must have at most ${MAX_STATES} parts`;
  return { matches: (text) => run(states, start, text) };
}

/** A state waits for a character, or leads on without one. */
type State =
  | { kind: "end" }
  | { kind: "character"; is: (character: string) => boolean; next: number }
  | { kind: "ways"; next: number[] };

/** Adds the states of a part that the state `next` follows. Its first state; undefined: they are too many. */
function compile(node: Node, next: number, states: State[]): number | undefined {
  const add = (state: State) => (states.length <= MAX_STATES ? states.push(state) - 1 : undefined);
  switch (node.kind) {
    case "character":
      return add({ kind: "character", is: node.is, next });
    case "sequence": {
      let first: number | undefined = next;
      for (const part of node.parts.toReversed()) {
        if (first === undefined) return undefined;
        first = compile(part, first, states);
      }
      return first;
    }
    case "choice": {
      const ways = node.ways.map((way) => compile(way, next, states));
      const found = ways.filter((way) => way !== undefined);
      return found.length === ways.length ? add({ kind: "ways", next: found }) : undefined;
    }
    case "repeat":
      return compileRepeat(node, next, states);
  }
}

function compileRepeat(
  { part, least, most }: Extract<Node, { kind: "repeat" }>,
  next: number,
  states: State[],
): number | undefined {
  const ways: State & { kind: "ways" } = { kind: "ways", next: [next] };
  if (least > MAX_STATES || states.length > MAX_STATES) return undefined;
  let first: number | undefined = next;
  if (most === Infinity) {
    first = states.push(ways) - 1;
    const body = compile(part, first, states);
    if (body === undefined) return undefined;
    ways.next.push(body);
  } else {
    for (let i = least; i < most; i += 1) {
      const body: number | undefined = first === undefined ? undefined : compile(part, first, states);
      if (body === undefined || states.length > MAX_STATES) return undefined;
      first = states.push({ kind: "ways", next: [next, body] }) - 1;
    }
  }
  for (let i = 0; i < least; i += 1) {
    if (first === undefined) return undefined;
    const after: number = first;
    first = compile(part, after, states);
    if (first === after) break; // the part is empty, however often
  }
  return first;
}

function run(states: State[], start: number, text: string): boolean {
  /** By state: the number of characters before the place where it was last reached. */
  const seen = new Int32Array(states.length).fill(-1);
  let here = reached(states, [start], seen, 0);
  let read = 0;
  for (const character of text) {
    read += 1;
    const next: number[] = [];
    for (const at of here) {
      const state = states[at];
      if (state?.kind === "character" && state.is(character)) next.push(state.next);
    }
    if (next.length === 0) return false;
    here = reached(states, next, seen, read);
  }
  return seen[0] === read;
}

/** The states that are reached from these without a character, each once. */
function reached(states: State[], from: readonly number[], seen: Int32Array, read: number): number[] {
  const all: number[] = [];
  const add = (at: number) => {
    if (seen[at] === read) return;
    seen[at] = read;
    all.push(at);
  };
  for (const at of from) add(at);
  for (let i = 0; i < all.length; i += 1) {
    const state = states[all[i] ?? 0];
    if (state?.kind === "ways") for (const next of state.next) add(next);
  }
  return all;
}
