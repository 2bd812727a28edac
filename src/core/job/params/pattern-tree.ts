// Of which parts does the pattern of a user consist?

/** A pattern as a tree. */
export type Node =
  | { kind: "character"; is: (character: string) => boolean }
  | { kind: "sequence"; parts: Node[] }
  | { kind: "choice"; ways: Node[] }
  | { kind: "repeat"; part: Node; least: number; most: number };

/**
 * Reads a regular expression that JavaScript has accepted, so nothing in it can be malformed. A text: why it
 * is refused, since it has something that is not supported (jobs.md#patterns).
 */
export function treeOf(source: string): Node | string {
  const parser = new Parser(source);
  const tree = parser.whole();
  return parser.refusal ?? tree;
}

class Parser {
  /** The first construct that is not supported. */
  refusal: string | undefined;
  private readonly characters: string[];
  private at = 0;

  constructor(source: string) {
    this.characters = [...source];
  }

  whole(): Node {
    return this.choice(0);
  }

  private choice(depth: number): Node {
    const ways = [this.sequence(depth)];
    while (this.take("|")) ways.push(this.sequence(depth));
    return ways.length === 1 && ways[0] !== undefined ? ways[0] : { kind: "choice", ways };
  }

  private sequence(depth: number): Node {
    const parts: Node[] = [];
    if (depth === 0) this.take("^");
    while (this.at < this.characters.length && !this.sees("|") && !this.sees(")")) {
      if (depth === 0 && this.sees("$") && ["|", undefined].includes(this.characters[this.at + 1])) {
        this.at += 1;
        continue;
      }
      parts.push(this.repeated(this.atom(depth)));
    }
    return { kind: "sequence", parts };
  }

  private atom(depth: number): Node {
    const first = this.next();
    if (first === "(") return this.group(depth);
    if (first === "[") return this.characterClass();
    if (first === "\\") return this.escape();
    if (first === ".") return oneOf(".");
    if (first === "^" || first === "$")
      this.refuse(`has \`${first}\` in the middle: a pattern is always about the whole text`);
    return { kind: "character", is: (character) => character === first };
  }

  private group(depth: number): Node {
    if (this.take("?")) {
      const kind = this.next();
      const isName = kind === "<" && !this.sees("=") && !this.sees("!");
      if (isName) while (this.next() !== ">");
      else if (kind !== ":") this.refuse("looks ahead or behind, or changes flags, which is not supported");
    }
    const inside = this.choice(depth + 1);
    this.take(")");
    return inside;
  }

  private characterClass(): Node {
    let source = "[";
    for (let one = this.next(); ; one = this.next()) {
      source += one === "\\" ? one + this.next() : one;
      if (one === "]" || one === "") return oneOf(source);
    }
  }

  private escape(): Node {
    const kind = this.next();
    if (/[1-9k]/.test(kind)) return this.refuse("refers back to a group, which is not supported");
    if (/[bB]/.test(kind)) return this.refuse("has `\\b`, the edge of a word, which is not supported");
    let source = `\\${kind}`;
    const take = (count: number) => {
      for (let i = 0; i < count; i += 1) source += this.next();
    };
    if (/[pPu]/.test(kind) && this.sees("{")) while (!source.endsWith("}")) take(1);
    else take(kind === "x" ? 2 : kind === "c" ? 1 : kind === "u" ? 4 : 0);
    // The first half of a character that is written as two.
    if (/^\\u[dD][89abAB]/.test(source) && this.sees("\\") && this.characters[this.at + 1] === "u") take(6);
    return oneOf(source);
  }

  private repeated(part: Node): Node {
    const [least, most] = this.counts() ?? [1, 1];
    if (least === 1 && most === 1) return part;
    this.take("?");
    return { kind: "repeat", part, least, most };
  }

  private counts(): [number, number] | undefined {
    if (this.take("*")) return [0, Infinity];
    if (this.take("+")) return [1, Infinity];
    if (this.take("?")) return [0, 1];
    if (!this.take("{")) return undefined;
    let text = "";
    for (let one = this.next(); one !== "}" && one !== ""; one = this.next()) text += one;
    const [least = "", most = least] = text.split(",");
    return [Number(least), most === "" ? Infinity : Number(most)];
  }

  private refuse(refusal: string): Node {
    this.refusal ??= refusal;
    return { kind: "sequence", parts: [] };
  }

  private sees(character: string): boolean {
    return this.characters[this.at] === character;
  }

  private take(character: string): boolean {
    if (!this.sees(character)) return false;
    this.at += 1;
    return true;
  }

  private next(): string {
    const character = this.characters[this.at] ?? "";
    this.at += 1;
    return character;
  }
}

/** JavaScript itself decides about one character: that has nothing to repeat. */
function oneOf(source: string): Node {
  const single = new RegExp(`^${source}$`, "u");
  return { kind: "character", is: (character) => single.test(character) };
}
