// How is text written in the language of manual pages?

/** Characters that the language, or a terminal that shows a page, would change. */
const SPECIAL: Record<string, string> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "~": "\\(ti",
  "^": "\\(ha",
};

/** Text as it is to be seen. A line of it never begins a request, even if it begins with a dot. */
export function roff(text: string): string {
  const plain = text.replace(/[\\'`~^-]|[^\n\x20-\x7e]/gu, (char) => SPECIAL[char] ?? unicode(char));
  return plain.replace(/^\./gm, "\\&.");
}

function unicode(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `\\[u${code.padStart(4, "0")}]`;
}

/** The argument of a request, as one word. */
export function quoted(text: string): string {
  return `"${roff(text).replaceAll('"', "\\(dq")}"`;
}

/** Lines that keep their ends and their columns. */
function verbatim(lines: readonly string[]): string {
  return `.nf\n${roff(lines.join("\n"))}\n.fi\n`;
}

/**
 * The text of a help: paragraphs, which are filled; indented lines, which stay as they are; and `Examples:`,
 * which becomes a section of its own. `section`: the request of a section, `SH` or `SS`.
 */
export function prose(text: string, section: "SH" | "SS"): string {
  if (text.trim() === "") return "";
  const title = (name: string) => `.${section} ${section === "SH" ? name.toUpperCase() : name}\n`;
  const blocks = text.replace(/^\n+|\n+$/g, "").split(/\n{2,}/);
  const pages = blocks.map((block, at) => {
    const [first = "", ...rest] = block.split("\n");
    if (first === "Examples:") return title("Examples") + verbatim(rest);
    return (at === 0 ? title("Notes") : ".PP\n") + paragraph([first, ...rest]);
  });
  return pages.join("");
}

function paragraph(lines: readonly string[]): string {
  const parts: { isKept: boolean; lines: string[] }[] = [];
  for (const line of lines) {
    const isKept = line.startsWith("  ");
    const last = parts.at(-1);
    if (last?.isKept === isKept) last.lines.push(line);
    else parts.push({ isKept, lines: [line] });
  }
  const pages = parts.map((part) =>
    part.isKept ? verbatim(part.lines) : `${roff(part.lines.join("\n"))}\n`,
  );
  return pages.join(".PP\n");
}
