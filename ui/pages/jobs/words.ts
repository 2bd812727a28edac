// What does a schedule say in words? Common expressions in English; any other one as it is written.
import type { JobSchedule } from "../../../src/generated/api.ts";

/** A schedule that is there. */
export type Schedule = NonNullable<JobSchedule>;

const NICKNAMES: Record<string, string> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];
const MINUTES_OF_HOUR = 60;
const HOURS_OF_DAY = 24;

/** When a job has ticks, with the zone: `daily at 02:30, Europe/Berlin`. */
export function scheduleWords(schedule: Schedule): string {
  return `${cronsOf(schedule).map(cronWords).join("; ")}, ${schedule.zone}`;
}

/** The cron expressions of a schedule. */
export function cronsOf({ cron }: Pick<Schedule, "cron">): string[] {
  return typeof cron === "string" ? [cron] : cron;
}

/** One expression in words, or as it is written if it is not one of the common ones. */
export function cronWords(cron: string): string {
  const text = cron.trim();
  const fields = (NICKNAMES[text.toLowerCase()] ?? text).split(/\s+/);
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  const words = hour === "*" || hour.startsWith("*/") ? oftenWords(minute, hour) : timesWords(minute, hour);
  const dates = datesWords(day, month, weekday);
  if (fields.length !== 5 || words === undefined || dates === undefined) return text;
  if (dates === "") return words.startsWith("at ") ? `daily ${words}` : words;
  return `${dates} ${words}`;
}

/** What happens several times a day. */
function oftenWords(minute: string, hour: string): string | undefined {
  const hours = stepOf(hour, HOURS_OF_DAY);
  if (hours === 1) {
    const minutes = stepOf(minute, MINUTES_OF_HOUR);
    if (minutes !== undefined) return minutes === 1 ? "every minute" : `every ${minutes} minutes`;
  }
  const at = numberIn(minute, MINUTES_OF_HOUR - 1);
  if (hours === undefined || at === undefined) return undefined;
  const every = hours === 1 ? "every hour" : `every ${hours} hours`;
  return at === 0 ? every : `${every}, ${at} min. past`;
}

/** Times of the day that are written out: `at 02:30 and 14:30`. */
function timesWords(minute: string, hour: string): string | undefined {
  const at = numberIn(minute, MINUTES_OF_HOUR - 1);
  const hours = hour.split(",").map((one) => numberIn(one, HOURS_OF_DAY - 1));
  if (at === undefined || hours.includes(undefined)) return undefined;
  return `at ${listed(hours.map((one) => `${twoDigits(one ?? 0)}:${twoDigits(at)}`))}`;
}

/** The days; empty: each of them. */
function datesWords(day: string, month: string, weekday: string): string | undefined {
  if (day === "*" && month === "*") return weekday === "*" ? "" : weekdayWords(weekday);
  const date = numberIn(day, 31);
  if (date === undefined || date === 0 || weekday !== "*") return undefined;
  if (month === "*") return `monthly on day ${date}`;
  const name = MONTHS[(numberIn(month, 12) ?? 0) - 1];
  return name === undefined ? undefined : `yearly on ${date} ${name}`;
}

/** Weekdays by their numbers, alone, in a list, or from one to another. */
function weekdayWords(weekday: string): string | undefined {
  const [, from, to] = /^([0-6])-([1-7])$/.exec(weekday) ?? [];
  if (from !== undefined && to !== undefined)
    return from < to ? `${DAYS[Number(from)]} to ${DAYS[Number(to)]}` : undefined;
  const names = weekday.split(",").map((one) => DAYS[numberIn(one, 7) ?? -1]);
  return names.includes(undefined) ? undefined : listed(names.map(String));
}

/** The step of a field: `*` is 1. Undefined: it has another form, or its steps are not the same all round. */
function stepOf(field: string, size: number): number | undefined {
  if (field === "*") return 1;
  const step = Number(/^\*\/(\d+)$/.exec(field)?.[1]);
  return step > 0 && step < size && size % step === 0 ? step : undefined;
}

function numberIn(text: string, most: number): number | undefined {
  return /^\d{1,2}$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

const twoDigits = (value: number) => String(value).padStart(2, "0");

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
