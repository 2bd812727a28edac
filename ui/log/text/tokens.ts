// What does a row of a log consist of: text, colors, links, and moves within the row?

/** A piece of a row. */
export type Token =
  | { kind: "text"; text: string }
  /** Select Graphic Rendition: the parameters between `ESC [` and `m`. */
  | { kind: "style"; parameters: string }
  /** A link begins, or ends if it has no address. */
  | { kind: "link"; href: string | undefined }
  /** The cursor goes back to the beginning of the row, or by one character. */
  | { kind: "return" }
  | { kind: "back" }
  /** Text is erased: from the cursor on, up to it, or all. */
  | { kind: "erase"; what: "after" | "before" | "all" };

const ESC = "\u001b";
/** `ESC [` parameters, intermediates, final. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CSI = /\u001b\[([0-?]{0,64})[ -/]{0,8}([@-~])/y;
/** Strings for the terminal: OSC, DCS, SOS, PM and APC, up to BEL or ST. Longer ones are shown as text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const STRING = /\u001b([\]PX^_])([^\u0007\u001b]{0,4096})(?:\u0007|\u001b\\)/y;
/** Other escape sequences: character sets, keypad, save and restore. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const OTHER = /\u001b[ -/]{0,4}[0-OQ-WYZ\\a-~]/y;
/** What interrupts plain text. */
const SPECIAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/**
 * Splits the text of a row (ui.md#log-text). Colors and links become tokens of their own. Other commands for
 * a terminal are left out if they are complete; an incomplete one is shown, so that nothing hides what
 * follows. Controls, and characters that reorder text or have no width, are shown by symbols.
 */
export function tokensOf(row: string): Token[] {
  const tokens: Token[] = [];
  let text = "";
  let at = 0;
  const flush = () => {
    if (text !== "") tokens.push({ kind: "text", text });
    text = "";
  };
  while (at < row.length) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(row);
    const next = found?.index ?? row.length;
    text += row.slice(at, next);
    if (found === null) break;
    const { length, token } = specialAt(row, next);
    if (typeof token === "string") text += token;
    else if (token !== undefined) {
      flush();
      tokens.push(token);
    }
    at = next + length;
  }
  flush();
  return tokens;
}

interface Special {
  length: number;
  /** A text is shown in its place; undefined: nothing is. */
  token: Token | string | undefined;
}

function specialAt(row: string, at: number): Special {
  const character = row.charAt(at);
  if (character === ESC) return sequenceAt(row, at);
  if (character === "\r") return { length: 1, token: { kind: "return" } };
  if (character === "\b") return { length: 1, token: { kind: "back" } };
  return { length: 1, token: symbolOf(character) };
}

function sequenceAt(row: string, at: number): Special {
  const csi = matchAt(CSI, row, at);
  if (csi !== null) return { length: csi[0].length, token: commandOf(csi[1] ?? "", csi[2] ?? "") };
  const string = matchAt(STRING, row, at);
  if (string !== null) {
    const [whole, introducer, content = ""] = string;
    return { length: whole.length, token: introducer === "]" ? linkOf(content) : undefined };
  }
  const other = matchAt(OTHER, row, at);
  if (other !== null) return { length: other[0].length, token: undefined };
  return { length: 1, token: symbolOf(ESC) };
}

function commandOf(parameters: string, final: string): Token | undefined {
  if (final === "m" && /^[\d;:]*$/.test(parameters)) return { kind: "style", parameters };
  if (final !== "K") return undefined;
  if (parameters === "1") return { kind: "erase", what: "before" };
  if (parameters === "2") return { kind: "erase", what: "all" };
  return { kind: "erase", what: "after" };
}

/**
 * OSC 8 is `8;parameters;address`. Only web addresses become links: others could run code or open programs.
 */
function linkOf(content: string): Token | undefined {
  const link = /^8;[^;]*;(.*)$/s.exec(content);
  if (link === null) return undefined;
  const address = link[1] ?? "";
  if (!URL.canParse(address)) return { kind: "link", href: undefined };
  const { protocol, href } = new URL(address);
  return { kind: "link", href: protocol === "http:" || protocol === "https:" ? href : undefined };
}

/** What is shown for a character that has no picture: that of Unicode, else its number. */
function symbolOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u2039${code.toString(16).toUpperCase().padStart(4, "0")}\u203a`;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
