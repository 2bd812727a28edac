// Where do the lines of a log match a regular expression?
import { withoutEscapes } from "./escapes.ts";
import type { Needle } from "./needle.ts";
import { unitStarts } from "./unit-starts.ts";

const NEWLINE = 0x0a;
/** It replaces what is not UTF-8, as the view does. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Makes the search for a regular expression (ui.md#searches). It is held against each line by itself, without
 * colors and the end of the line, so a result does not depend on how bytes are parted. A match of nothing is
 * no hit. Throws `SyntaxError` if the text is no expression (`faultOf`). A search can take for ever.
 */
export function patternOf(expression: string, { matchCase }: { matchCase: boolean }): Needle {
  const pattern = compiled(expression, matchCase);
  return function* (bytes, offset) {
    for (let from = 0; from < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, from);
      const to = newline < 0 ? bytes.length : newline;
      const line = bytes.subarray(from, to);
      for (const hit of hitsIn(line, pattern)) {
        yield { from: offset + from + hit.from, to: offset + from + hit.to };
      }
      from = to + 1;
    }
  };
}

/** Why a text is no regular expression, in the words of the browser. Undefined if it is one. */
export function faultOf(expression: string): string | undefined {
  try {
    compiled(expression, true);
    return undefined;
  } catch (error) {
    // Some browsers repeat the whole expression before they say what is wrong with it.
    return String(Object(error).message).replace(/^Invalid regular expression: .*\/[a-z]*: /s, "");
  }
}

function compiled(expression: string, matchCase: boolean): RegExp {
  return new RegExp(expression, matchCase ? "gu" : "giu");
}

function* hitsIn(line: Uint8Array, pattern: RegExp) {
  const text = UTF8.decode(line);
  const { shown, originOf } = withoutEscapes(text.endsWith("\r") ? text.slice(0, -1) : text);
  /** Where each character begins: only wanted if there is a hit. */
  let starts: readonly number[] | undefined;
  for (const { 0: match, index } of shown.matchAll(pattern)) {
    if (match === "") continue;
    starts ??= unitStarts(text, line);
    const first = originOf(index);
    const last = originOf(index + match.length - 1);
    yield { from: starts[first] ?? 0, to: starts[last + 1] ?? line.length };
  }
}
