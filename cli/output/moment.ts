// Which instant does an option such as `--since` name?
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../src/shared/duration.ts";

const INSTANT = /^(\d{4}-\d\d-\d\d)T(?!24)\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

/** What an option for a time means, once it is known when now is. `isDaily`: it is a time of day. */
export interface Moment {
  at(now: number): number;
  isDaily?: true;
}

/** Reads the time of an option: how long ago, a time of day in UTC, or an instant. */
export function moment(text: string): Moment {
  const ms = parseDuration(text);
  if (ms !== undefined) return { at: (now) => now - ms };
  const [, hours, minutes, seconds = "0"] = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  if (hours !== undefined) {
    const ofDay = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
    return { at: (now) => Math.floor((now - ofDay) / DAY_MS) * DAY_MS + ofDay, isDaily: true };
  }
  const at = instantMs(text);
  if (at !== undefined) return { at: () => at };
  throw new InvalidArgumentError(
    "It must be a duration such as 2h, a time of day in UTC such as 03:00, or 2026-11-21T03:00:00Z.",
  );
}

/** Reads an instant with its offset, in ms. Undefined: it is none, or a date that does not exist. */
export function instantMs(text: string): number | undefined {
  const [, date = ""] = INSTANT.exec(text) ?? [];
  const [day, at] = [new Date(`${date}T00:00:00Z`), Date.parse(text)];
  if (Number.isNaN(at) || Number.isNaN(day.getTime())) return undefined;
  // The 30th of February would be read as a day of March.
  return day.toISOString().startsWith(date) ? at : undefined;
}
