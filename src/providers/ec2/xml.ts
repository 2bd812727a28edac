// What does an XML answer say? Only well-formed, complete XML of a bounded size is read.

/** An element. `text`: its own characters, without those of its children. Attributes are left out. */
export interface XmlElement {
  name: string;
  text: string;
  children: XmlElement[];
}

/** A page of 100 instances has fewer than 20,000 elements. A tree of this many takes some 10 MB. */
export const MAX_ELEMENTS = 100_000;
export const MAX_DEPTH = 32;

/**
 * The longest tag, and the longest text between two tags. EC2's have hundreds, and some thousands; the 64 KiB
 * of a console have 87,384 as base64.
 */
export const MAX_TAG_CHARS = 1_024;
export const MAX_PART_CHARS = 131_072;

const CLOSING = /^<\/([\w.:-]+)\s*>/;
const OPENING = /^<([A-Za-z_][\w.:-]*)(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*(\/?)>/;
/** What is skipped: its first and its last characters. */
const SKIPPED: readonly [string, string][] = [
  ["<?", "?>"],
  ["<!--", "-->"],
];
const CDATA: [string, string] = ["<![CDATA[", "]]>"];
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** A fault of the text. Its message is the end of a sentence that begins with "it". */
class XmlFault extends Error {}

/**
 * Reads an XML document (clouds/ec2.md#answers). `fault` says why the text is none: it is a web page, or
 * empty, or ends in the middle. It never throws, and its time and memory are bounded for any text.
 */
export function readXml(source: string): { root: XmlElement } | { fault: string } {
  try {
    return { root: new XmlReader(source).read() };
  } catch (error) {
    if (error instanceof XmlFault) return { fault: error.message };
    throw error;
  }
}

class XmlReader {
  readonly #source: string;
  readonly #document: XmlElement = { name: "", text: "", children: [] };
  /** The elements that are open, from the document on. */
  readonly #open: XmlElement[] = [this.#document];
  #at = 0;
  #elements = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): XmlElement {
    for (;;) {
      const next = this.#source.indexOf("<", this.#at);
      this.#take(this.#source.slice(this.#at, next === -1 ? undefined : next));
      if (next === -1) break;
      this.#at = next;
      this.#markup();
    }
    const [root, ...others] = this.#document.children;
    if (root === undefined) throw new XmlFault(this.#source.trim() === "" ? "is empty" : "is not XML");
    if (this.#open.length > 1) throw new XmlFault("ends in the middle");
    if (others.length > 0) throw new XmlFault("is not XML");
    return root;
  }

  /** Takes the characters between two tags. */
  #take(raw: string): void {
    const isBlank = raw.trim() === "";
    if (isBlank && this.#current.text === "") return;
    if (!isBlank && this.#open.length === 1) throw new XmlFault("is not XML");
    this.#add(raw, decoded);
  }

  #add(raw: string, read = (text: string) => text): void {
    if (raw.length > MAX_PART_CHARS) throw new XmlFault("has too long a text");
    this.#current.text += read(raw);
  }

  get #current(): XmlElement {
    return this.#open.at(-1) ?? this.#document;
  }

  #markup(): void {
    for (const [first, last] of SKIPPED) if (this.#skip(first, last) !== undefined) return;
    const quoted = this.#open.length > 1 ? this.#skip(...CDATA) : undefined;
    if (quoted !== undefined) this.#add(quoted);
    else if (this.#source.startsWith("<!", this.#at)) throw new XmlFault("is a web page, not XML");
    else if (this.#source.startsWith("</", this.#at)) this.#close();
    else this.#begin();
  }

  /** Moves behind a part that begins and ends with these characters. Returns what is between. */
  #skip(first: string, last: string): string | undefined {
    if (!this.#source.startsWith(first, this.#at)) return undefined;
    const end = this.#source.indexOf(last, this.#at + first.length);
    if (end === -1) throw new XmlFault("ends in the middle");
    const between = this.#source.slice(this.#at + first.length, end);
    this.#at = end + last.length;
    return between;
  }

  #begin(): void {
    const [whole = "", name = "", isEmpty] = this.#match(OPENING);
    if (/^html$/i.test(name)) throw new XmlFault("is a web page, not XML");
    this.#elements += 1;
    if (this.#elements > MAX_ELEMENTS || this.#open.length > MAX_DEPTH) {
      throw new XmlFault("has too many elements");
    }
    const element: XmlElement = { name, text: "", children: [] };
    this.#current.children.push(element);
    if (isEmpty === "") this.#open.push(element);
    this.#at += whole.length;
  }

  #close(): void {
    const [whole = "", name = ""] = this.#match(CLOSING);
    if (this.#open.length === 1 || name !== this.#current.name) throw new XmlFault("is not XML");
    this.#open.pop();
    this.#at += whole.length;
  }

  #match(tag: RegExp): RegExpExecArray {
    const rest = this.#source.slice(this.#at, this.#at + MAX_TAG_CHARS);
    const match = tag.exec(rest);
    if (match !== null) return match;
    // A tag that nothing closes is the last one.
    const isCut = rest.length < MAX_TAG_CHARS && !rest.includes(">");
    throw new XmlFault(isCut ? "ends in the middle" : "is not XML");
  }
}

const ENTITY = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{1,8}));/gi;
const LONE_AMPERSAND = /&(?!(?:#x[0-9a-f]{1,6}|#\d{1,7}|\w{1,8});)/i;

function decoded(raw: string): string {
  if (!raw.includes("&")) return raw;
  if (LONE_AMPERSAND.test(raw)) throw new XmlFault("is not XML");
  return raw.replace(ENTITY, (_, hex, decimal, name) => {
    if (name !== undefined && Object.hasOwn(ENTITIES, name)) return ENTITIES[name] ?? "";
    const point = Number.parseInt(hex ?? decimal ?? "", hex === undefined ? 10 : 16);
    const isCharacter =
      point >= 0x20 ? point < 0xd800 || (point > 0xdfff && point < 0x110000) : isControl(point);
    if (!isCharacter) throw new XmlFault("is not XML");
    return String.fromCodePoint(point);
  });
}

/** Tab, line feed and carriage return: the only control characters that XML has. */
function isControl(point: number): boolean {
  return point === 9 || point === 10 || point === 13;
}

/** The element that this path leads to, by its first child of each name. */
export function elementAt(element: XmlElement, ...path: string[]): XmlElement | undefined {
  let found: XmlElement | undefined = element;
  for (const name of path) found = found?.children.find((child) => child.name === name);
  return found;
}

/** The characters of the element that this path leads to. Undefined: there is none, or it is empty. */
export function textAt(element: XmlElement, ...path: string[]): string | undefined {
  return elementAt(element, ...path)?.text.trim() || undefined;
}

/** The items of a list, which EC2 writes as `item` elements. Undefined: there is no such list. */
export function itemsAt(element: XmlElement, ...path: string[]): XmlElement[] | undefined {
  return elementAt(element, ...path)?.children.filter(({ name }) => name === "item");
}
