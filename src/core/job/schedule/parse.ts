// Is there anything in a schedule that nobody can have meant? It is refused when the job is stored.
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import type { FieldError } from "../../../shared/errors.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { errorText } from "../../../shared/words.ts";
import { cronOf, cronsOf, nextTicks } from "./ticks.ts";
import { isZone, zonesLike } from "./zone.ts";

/** A cron expression must have a tick within this time (jobs.md#schedule). A leap day comes in time. */
const MUST_FIRE_WITHIN_MS: Millis = (5 * 366 + 1) * 86_400_000;
const NICKNAMES = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/** The fields of an expression, with the numbers that may stand there. */
const FIELDS = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day", least: 1, most: 31 },
  { name: "month", least: 1, most: 12 },
  { name: "weekday", least: 0, most: 7 },
];

/**
 * What is wrong with a schedule whose single fields are valid, each with its pointer below the schedule
 * (`/cron/1`, `/zone`). Empty: nothing. `at`: the present instant. It matters only for expressions that never
 * fire, so a schedule that was accepted once is accepted again, even after its `until` (jobs.md#schedule).
 */
export function scheduleProblems(schedule: JobSchedule, at: Instant): FieldError[] {
  const { zone, from, until } = schedule;
  const zoneFault = zoneProblem(zone);
  const crons = cronsOf(schedule);
  const faults = crons.flatMap((cron, i): FieldError[] => {
    const pointer = typeof schedule.cron === "string" ? "/cron" : `/cron/${i}`;
    // A calendar does not depend on the zone: what never fires there, fires nowhere.
    const detail = cronProblem(cron, zoneFault === undefined ? zone : "UTC", at);
    return detail === undefined ? [] : [{ pointer, detail }];
  });
  if (zoneFault !== undefined) faults.push({ pointer: "/zone", detail: zoneFault });
  if (from === undefined || until === undefined || faults.length > 0) return faults;
  if (Date.parse(until) <= Date.parse(from))
    return [{ pointer: "/until", detail: "must be later than `from`" }];
  return nextTicks(schedule, { at: Date.parse(from) - 1 }, 1).length === 0
    ? [{ pointer: "/until", detail: "leaves no tick between `from` and `until`: choose a later instant" }]
    : [];
}

function zoneProblem(zone: string): string | undefined {
  if (isZone(zone)) return undefined;
  const near = zonesLike(zone).map((one) => `"${one}"`);
  const hint =
    near.length === 0
      ? 'write a name of the IANA time zone database, such as "Europe/Berlin", or "UTC"'
      : `did you mean ${near.join(" or ")}?`;
  return `is not a time zone: ${hint}`;
}

function cronProblem(cron: string, zone: string, at: Instant): string | undefined {
  const text = cron.trim();
  if (text.startsWith("@")) {
    if (!NICKNAMES.includes(text.toLowerCase()))
      return `is no nickname that Drover knows: use one of ${NICKNAMES.join(", ")}, or five fields`;
    return undefined;
  }
  const fields = text.split(/\s+/);
  if (fields.length === 6 || fields.length === 7)
    return (
      `has ${fields.length} fields, and a schedule has five (minute, hour, day, month, weekday): ` +
      "leave out seconds and years; for what happens more often than each minute, use a service"
    );
  if (fields.length !== FIELDS.length)
    return 'must have five fields (minute, hour, day, month, weekday), such as "30 2 * * *"';
  const range = rangeProblem(fields);
  if (range !== undefined) return range;
  return fireProblem(text, zone, at);
}

/** A number that is none of its field. The library would name it wrongly, since it counts from 0. */
function rangeProblem(fields: string[]): string | undefined {
  for (const [i, { name, least, most }] of FIELDS.entries())
    for (const [digits] of (fields[i] ?? "").replaceAll(/[/#]\d+/g, "").matchAll(/\d+/g))
      if (Number(digits) < least || Number(digits) > most)
        return `has the ${name} ${digits}, but a ${name} is from ${least} to ${most}`;
  return undefined;
}

function fireProblem(cron: string, zone: string, at: Instant): string | undefined {
  try {
    const next = cronOf(cron, zone).nextRuns(1, new Date(at))[0]?.getTime();
    return next !== undefined && next <= at + MUST_FIRE_WITHIN_MS
      ? undefined
      : "has no tick within the next five years: check day, month and weekday";
  } catch (error) {
    return `is not a cron expression: ${errorText(error).replace(/^CronPattern: /, "")}`;
  }
}
