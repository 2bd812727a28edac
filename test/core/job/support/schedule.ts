import { localText, offsetAt } from "../../../../src/core/job/schedule/zone.ts";
import { JobSchedule, type JobScheduleInput } from "../../../../src/schema/job/schedule.ts";

/** A schedule with its defaults, in UTC unless it says otherwise. */
export function schedule(cron: string | string[], more: Partial<JobScheduleInput> = {}): JobSchedule {
  return JobSchedule.parse({ cron, zone: "UTC", ...more });
}

/** Zones with every odd rule that there is: half hours, changes at midnight, changes twice in a month. */
export const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/Lisbon",
  "America/New_York",
  "America/Santiago",
  "America/Sao_Paulo",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "Asia/Tehran",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Africa/Casablanca",
];

/** The two years of the tables. */
export const FROM = Date.parse("2026-01-01T00:00:00Z");
export const TO = Date.parse("2028-01-01T00:00:00Z");

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

const changes = new Map<string, { at: number; by: number }[]>();

/** Each instant of the two years at which a zone moves its clocks, to the minute, and by how much. */
export function changesOf(zone: string): { at: number; by: number }[] {
  const known = changes.get(zone) ?? findChanges(zone);
  changes.set(zone, known);
  return known;
}

function findChanges(zone: string): { at: number; by: number }[] {
  const found: { at: number; by: number }[] = [];
  for (let day = FROM; day < TO; day += DAY) {
    const offset = offsetAt(zone, day);
    const by = offsetAt(zone, day + DAY) - offset;
    if (by === 0) continue;
    let [before, at] = [day, day + DAY];
    while (at - before > 60_000) {
      const middle = before + Math.floor((at - before) / 120_000) * 60_000;
      if (offsetAt(zone, middle) === offset) before = middle;
      else at = middle;
    }
    found.push({ at, by });
  }
  return found;
}

/** The local dates of a zone that lie as a whole between two instants: `2026-11-22`. */
export function datesOf(zone: string, from: number, to: number): string[] {
  const first = Date.parse(localText(zone, from).slice(0, 10)) + DAY;
  const end = Date.parse(localText(zone, to).slice(0, 10));
  const count = Math.round((end - first) / DAY);
  return Array.from({ length: count }, (_, i) => new Date(first + i * DAY).toISOString().slice(0, 10));
}
