import type { FieldError } from "../shared/errors.ts";
import { escapedPart } from "./field-errors.ts";

/** The name that JSON may have and a JavaScript object does not keep. */
const LOST = "__proto__";
/** A text without this has no such name: it stands there as it is, or with escapes. */
const MAYBE_LOST = /__proto__|\\u/;

/**
 * Where something in a JSON text is called `__proto__`. Schemas of maps whose names are free (`env`,
 * `labels`, `tags`) lose it without a word, and what is sent is taken or refused, but never ignored. A text
 * that is no JSON has none: whoever reads it says so.
 */
export function lostNames(text: string): FieldError[] {
  if (!MAYBE_LOST.test(text)) return [];
  const faults: FieldError[] = [];
  // The value may be nested deeper than calls can be.
  const open: { at: string; value: unknown }[] = [{ at: "", value: parsed(text) }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, value } = next;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      const pointer = at + escapedPart(name);
      if (name === LOST) faults.push({ pointer, detail: "is a name that nothing can have" });
      else if (typeof inner === "object") open.push({ at: pointer, value: inner });
    }
  }
  return faults;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
