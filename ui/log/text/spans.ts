// Which text does a row show, after its returns and erasures, and in which styles?
import { type Token, tokensOf } from "./tokens.ts";

/** Text in one style. */
export interface Span {
  text: string;
  /** The sequences that give its style, as `nextStyle` collects them. */
  style: string;
  href: string | undefined;
}

/** A row as it is shown, and the style in which the next row begins. */
export interface ShownRow {
  spans: Span[];
  style: string;
}

/** A style is forgotten from its beginning once it has this many characters. */
const MAX_STYLE_LENGTH = 256;
const ESC = "\u001b";
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const STYLES = /\u001b\[([\d;:]{0,64})m/g;

/**
 * The style after a sequence: all sequences since the last reset, because each may add to the others.
 * `parameters` are those of the sequence.
 */
export function nextStyle(style: string, parameters: string): string {
  if (/^[0;]*$/.test(parameters)) return "";
  const sequence = `${ESC}[${parameters}m`;
  const next = /^0+;/.test(parameters) ? sequence : style + sequence;
  if (next.length <= MAX_STYLE_LENGTH) return next;
  const kept = next.indexOf(ESC, next.length - MAX_STYLE_LENGTH);
  return next.slice(kept);
}

/** The style at the end of a text that began in `style`. Looks for colors only. */
export function styleAfter(style: string, text: string): string {
  let after = style;
  for (const [, parameters = ""] of text.matchAll(STYLES)) {
    after = nextStyle(after, parameters);
  }
  return after;
}

/**
 * The spans of a row that begins in `style` (ui.md#log-text). A carriage return lets what follows overwrite
 * what stands there, as in a terminal: of a progress bar only its last state is shown. Moves beyond the row
 * do nothing.
 */
export function spansOf(row: string, style = ""): ShownRow {
  const line = new Line(style);
  for (const token of tokensOf(row.replace(/\r?\n$/, ""))) line.take(token);
  return { spans: line.spans(), style: line.style };
}

/** A row of a terminal: characters in cells, and a cursor. */
class Line {
  style: string;
  #href: string | undefined;
  readonly #cells: Span[] = [];
  #cursor = 0;

  constructor(style: string) {
    this.style = style;
  }

  take(token: Token): void {
    switch (token.kind) {
      case "text":
        this.#write(token.text);
        return;
      case "style":
        this.style = nextStyle(this.style, token.parameters);
        return;
      case "link":
        this.#href = token.href;
        return;
      case "return":
        this.#cursor = 0;
        return;
      case "back":
        this.#cursor = Math.max(0, this.#cursor - 1);
        return;
      case "erase":
        this.#erase(token.what);
        return;
    }
  }

  /** Neighbors of the same style, joined. */
  spans(): Span[] {
    const spans: Span[] = [];
    for (const { text, style, href } of this.#cells) {
      const last = spans.at(-1);
      if (last !== undefined && last.style === style && last.href === href) last.text += text;
      else spans.push({ text, style, href });
    }
    return spans;
  }

  #write(text: string): void {
    const { style } = this;
    for (const character of text) {
      this.#cells[this.#cursor] = { text: character, style, href: this.#href };
      this.#cursor += 1;
    }
  }

  #erase(what: "after" | "before" | "all"): void {
    const blank: Span = { text: " ", style: "", href: undefined };
    if (what !== "after") this.#cells.fill(blank, 0, what === "all" ? this.#cells.length : this.#cursor + 1);
    if (what !== "before") this.#cells.length = Math.min(this.#cells.length, this.#cursor);
  }
}
