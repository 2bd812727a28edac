// In which fields do two values differ, for the audit log (audit.md#entries)?
import type { AuditDiff } from "../../schema/access/audit.ts";
import { ownValue } from "../own-value.ts";

/** The most fields that a diff names. */
export const MAX_DIFF_FIELDS = 50;
/** The most characters of a value in a diff. */
export const MAX_DIFF_VALUE_CHARS = 200;
/** Stands for a value that must not be shown. */
export const SECRET = "[secret]";

/**
 * The fields that differ, by their JSON pointers. `isSecret`: whether this value of a field is left out; the
 * diff then says only that it differs.
 */
export function diffOf(
  before: unknown,
  after: unknown,
  isSecret: (pointer: string, value: unknown) => boolean = () => false,
): AuditDiff[] {
  const found: AuditDiff[] = [];
  const look = (a: unknown, b: unknown, pointer: string): void => {
    if (found.length >= MAX_DIFF_FIELDS || JSON.stringify(a) === JSON.stringify(b)) return;
    if (isPlain(a) && isPlain(b)) {
      for (const key of Object.keys({ ...a, ...b }).sort())
        look(ownValue(a, key), ownValue(b, key), `${pointer}/${escaped(key)}`);
      return;
    }
    const shown = (value: unknown) => {
      if (value === undefined) return null;
      return isSecret(pointer, value) ? SECRET : JSON.stringify(value).slice(0, MAX_DIFF_VALUE_CHARS);
    };
    found.push({ field: pointer === "" ? "/" : pointer, from: shown(a), to: shown(b) });
  };
  look(before, after, "");
  return found;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
