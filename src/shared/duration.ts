// How is a duration written?
import type { Millis } from "./machine.ts";

const UNIT_MS: Record<string, Millis> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** The longest duration that is accepted: a hundred years. An instant plus this duration is still exact. */
export const MAX_DURATION_MS: Millis = 100 * 365 * 86_400_000;

/**
 * Parses a duration such as `250ms`, `10s`, `1h30m` or `0s` into milliseconds. Returns undefined for any
 * other text, for a negative duration, and for a duration over `MAX_DURATION_MS`.
 */
export function parseDuration(text: string): Millis | undefined {
  if (text.length > 32 || !WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) total += Number(amount) * (UNIT_MS[unit ?? ""] ?? 0);
  const ms = Math.round(total);
  return ms <= MAX_DURATION_MS ? ms : undefined;
}

/** Formats milliseconds: `90000` → `1m30s`. The inverse of `parseDuration` for whole milliseconds. */
export function formatDuration(ms: Millis): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  let rest = Math.round(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = UNIT_MS[unit] ?? 1;
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
}

/** Formats a duration, rounded to seconds unless it is shorter than a second: `1791725` → `29m52s`. */
export function formatSeconds(ms: Millis): string {
  return formatDuration(ms < 1_000 ? ms : Math.round(ms / 1_000) * 1_000);
}

/** So many durations are remembered: more than the configurations and runs of one object have. */
const MAX_REMEMBERED = 1_000;
const remembered = new Map<string, Millis>();

/**
 * The milliseconds of a duration that the schema has validated. It is remembered, since each step of an
 * object asks for the durations of its configuration.
 */
export function durationMs(text: string): Millis {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const ms = parseDuration(text) ?? 0;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(text, ms);
  return ms;
}
