// How are times and durations shown? Relative to now, with the exact time in UTC on hover and in copies.
import { formatSeconds } from "../../src/shared/duration.ts";
import { now } from "../store/clock.ts";

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** A time in words, relative to `nowMs`: `5 min. ago`, `in 3 hr.` */
export function relative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  const [unit, size] = UNITS.find(([, one]) => Math.abs(ms) >= one) ?? ["second", 1_000];
  return RELATIVE.format(Math.trunc(ms / size), unit);
}

/** A moment: relative, and in UTC on hover. Nothing if there is none. */
export function Moment({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return <span class="none">–</span>;
  return (
    <time dateTime={at} title={utc(at)}>
      {relative(Date.parse(at), now.value)}
    </time>
  );
}

/** How long something has taken from `from` to `to`, or until now. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  if (from === null) return <span class="none">–</span>;
  const endMs = to === null ? now.value : Date.parse(to);
  return <span title={`from ${utc(from)}`}>{took(endMs - Date.parse(from))}</span>;
}

/** A duration in its two largest units: `3h12m`. */
export function took(ms: number): string {
  const parts = formatSeconds(Math.max(0, ms)).match(/\d+[a-z]+/g) ?? [];
  return parts.slice(0, 2).join("");
}

/** An instant as people read it, in UTC. */
export function utc(at: string): string {
  return `${at.replace("T", " ").replace(/(?:\.\d+)?Z$/, "")} UTC`;
}
