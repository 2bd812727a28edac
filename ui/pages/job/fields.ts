// What does a version of a job say, and in what do two of them differ?
import type { JobFields } from "../../../src/generated/api.ts";

const NAMES = ["description", "spec", "params", "payload", "payloadFile", "meta", "schedule"] as const;

/** What was stored, without what Drover says besides. */
export function fieldsOf(job: JobFields): JobFields {
  const pairs = NAMES.map((name) => [name, job[name]]).filter(([, value]) => value !== undefined);
  // The names are those of its fields.
  return Object.fromEntries(pairs) as JobFields;
}

/** The fields that differ, by their paths of one or two words: `schedule.cron`. */
export function differing(one: JobFields, other: JobFields): string[] {
  return NAMES.flatMap((name) => {
    const [before, after]: unknown[] = [one[name], other[name]];
    if (!isObject(before) || !isObject(after)) return isSame(before, after) ? [] : [name];
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].filter((key) => !isSame(before[key], after[key])).map((key) => `${name}.${key}`);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two values are the same as JSON, in whatever order their keys are. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const pairs = Object.entries(value).map(([key, part]): [string, unknown] => [key, sorted(part)]);
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}
