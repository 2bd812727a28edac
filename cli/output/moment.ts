// Which instant does an option such as `--since` name?
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../src/shared/duration.ts";

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
  const at = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return { at: () => at };
  throw new InvalidArgumentError(
    "It must be a duration such as 2h, a time of day in UTC such as 03:00, or 2026-11-21T03:00:00Z.",
  );
}
