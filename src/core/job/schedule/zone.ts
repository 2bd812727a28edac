// Which offset from UTC does a time zone have at an instant, and is there such a zone?
import type { Instant, Millis } from "../../../shared/machine.ts";

/** The form of names in the time zone database. Offsets such as `+01:00` are no zones. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
/** How many names are offered in place of an unknown one. */
const MAX_OFFERED = 3;

/** Formatters by zone, cached: making one takes longer than using it. There are some hundred zones. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether the time zone database of this runtime knows the zone (jobs.md#zones). */
export function isZone(zone: string): boolean {
  if (!ZONE_NAME.test(zone)) return false;
  try {
    formatterOf(zone);
    return true;
  } catch {
    return false;
  }
}

/**
 * Zones that somebody may have meant who wrote this name: those of the same place, then those whose names
 * differ least, at most three (jobs.md#zones).
 */
export function zonesLike(name: string): string[] {
  const wanted = plain(name);
  const place = placeOf(wanted);
  const ranked = Intl.supportedValuesOf("timeZone").flatMap((zone) => {
    const known = plain(zone);
    const far = placeOf(known) === place ? 0 : distance(known, wanted);
    return far <= Math.max(1, Math.floor(wanted.length / 5)) ? [{ zone, far }] : [];
  });
  ranked.sort((a, b) => a.far - b.far || (a.zone < b.zone ? -1 : 1));
  return ranked.slice(0, MAX_OFFERED).map(({ zone }) => zone);
}

/** What is to be added to UTC to get the local time of the zone. Throws for a zone that does not exist. */
export function offsetAt(zone: string, at: Instant): Millis {
  const second = Math.floor(at / 1_000) * 1_000;
  const fields = new Map<string, number>();
  for (const { type, value } of formatterOf(zone).formatToParts(second)) fields.set(type, Number(value));
  const field = (name: string) => fields.get(name) ?? 0;
  const month = field("month") - 1;
  const time = [field("hour"), field("minute"), field("second")] as const;
  return Date.UTC(field("year"), month, field("day"), ...time) - second;
}

/** An instant on the clocks of the zone: `2026-11-22T02:30:00+01:00` (RFC 3339). */
export function localText(zone: string, at: Instant): string {
  const offset = offsetAt(zone, at);
  const clock = new Date(at + offset).toISOString().slice(0, 19);
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const digits = (count: number) => String(count).padStart(2, "0");
  return `${clock}${offset < 0 ? "-" : "+"}${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}

/** The offset that the text of `localText` names. */
export function offsetIn(local: string): Millis {
  const [, sign, hours, minutes] = /([+-])(\d{2}):(\d{2})$/.exec(local) ?? [];
  const size = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === "-" ? -size : size;
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formatters.set(zone, formatter);
  return formatter;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[\s-]+/g, "_");
}

function placeOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** How many characters are to be changed, added or removed to get from one text to the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
