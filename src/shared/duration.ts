import type { Millis } from "./machine.ts";

const UNIT_MS: Record<string, Millis> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/**
 * The longest duration that is accepted anywhere: a hundred years. Above it sums of instants stop being
 * exact.
 */
export const MAX_DURATION_MS: Millis = 100 * 365 * 86_400_000;

/**
 * Reads a duration such as `250ms`, `10s`, `1h30m` or `0s`. Returns milliseconds, or undefined if the text is
 * no duration, is negative, or is longer than `MAX_DURATION_MS`.
 */
export function parseDuration(text: string): Millis | undefined {
  if (text.length > 32 || !WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) total += Number(amount) * (UNIT_MS[unit ?? ""] ?? 0);
  const ms = Math.round(total);
  return ms <= MAX_DURATION_MS ? ms : undefined;
}

/**
 * Writes milliseconds as people do: `90000` → `1m30s`. The inverse of `parseDuration` for whole milliseconds.
 */
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

/** Writes a duration for a reader who does not care for fractions of a second: `1791725` → `29m52s`. */
export function formatSeconds(ms: Millis): string {
  return formatDuration(ms < 1_000 ? ms : Math.round(ms / 1_000) * 1_000);
}

/** Milliseconds of a duration that the schema has already let through. */
export function durationMs(text: string): number {
  return parseDuration(text) ?? 0;
}
