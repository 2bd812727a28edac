// Does a JSON body have a field name that JavaScript objects lose? The edge checks this before parsing.
import type { FieldError } from "../shared/errors.ts";
import { escapedPart } from "./field-errors.ts";
import { jsonOf } from "./json.ts";

/** The name that JSON allows and a JavaScript object loses. */
const LOST = "__proto__";
/** Matches every JSON text that may contain the name, whether plain or written with escapes. */
const MAYBE_LOST = /__proto__|\\u/;

/**
 * Finds each `__proto__` in a JSON text. Schemas of free maps (`env`, `labels`, `tags`) would lose it
 * silently, but input must be accepted or refused, never ignored. Invalid JSON yields no faults here, since
 * the parser reports it.
 */
export function lostNames(text: string): FieldError[] {
  if (!MAYBE_LOST.test(text)) return [];
  const faults: FieldError[] = [];
  // A loop instead of recursion, since the value may be nested deeper than the stack allows.
  const open: { at: string; value: unknown }[] = [{ at: "", value: jsonOf(text) }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, value } = next;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      const pointer = at + escapedPart(name);
      if (name === LOST) faults.push({ pointer, detail: "is a reserved name; choose another" });
      else if (typeof inner === "object") open.push({ at: pointer, value: inner });
    }
  }
  return faults;
}
