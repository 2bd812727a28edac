// When are the ticks of a schedule? Everything that shows or handles ticks takes them from here.
import { Cron } from "croner";
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import type { Instant } from "../../../shared/machine.ts";
import { localText, offsetAt, offsetIn } from "./zone.ts";

/** An instant at which a job is to run. */
export interface Tick {
  at: Instant;
  /** The same instant on the clocks of the schedule's zone: `2026-11-22T02:30:00+01:00`. */
  local: string;
}

/**
 * Up to where the ticks of a job are handled: its last handled tick, or an instant from which on ticks count,
 * such as that at which the job was made. A job stores it with what it has decided (jobs.md#ticks).
 */
export interface Since {
  at: Instant;
  /** The local time of a tick, by the rules under which it was handled (jobs.md#zones). */
  local?: string;
}

/**
 * The next ticks of a schedule, at most `count` of them, oldest first. They are those that `dueTicks` will
 * handle, in this order, if nothing changes (jobs.md#ticks).
 */
export function nextTicks(schedule: JobSchedule, since: Since, count: number): Tick[] {
  const ticks: Tick[] = [];
  if (count < 1) return ticks;
  for (const at of instantsAfter(schedule, since)) if (ticks.push(tickAt(schedule, at)) >= count) break;
  return ticks;
}

/** The tick at this instant, which is one of `instantsAfter`. */
export function tickAt({ zone }: Pick<JobSchedule, "zone">, at: Instant): Tick {
  return { at, local: localText(zone, at) };
}

/** The instants of all ticks after `since`, oldest first; each is computed when it is asked for. */
export function* instantsAfter(schedule: JobSchedule, since: Since): Generator<Instant, void> {
  const { zone } = schedule;
  const from = schedule.from === undefined ? -Infinity : Date.parse(schedule.from);
  const until = schedule.until === undefined ? Infinity : Date.parse(schedule.until);
  const crons = cronsOf(schedule).map((cron) => cronOf(cron, zone));
  let after = Math.max(handledUntil(zone, since), from - 1);
  const heads = crons.map((cron) => nextOf(cron, after));
  for (;;) {
    const at = Math.min(...heads.map((head) => head ?? Infinity));
    if (at >= until || at === Infinity) return;
    after = at;
    for (const [i, cron] of crons.entries()) if (heads[i] === at) heads[i] = nextOf(cron, after);
    yield at;
  }
}

/** The cron expressions of a schedule. */
export function cronsOf({ cron }: Pick<JobSchedule, "cron">): string[] {
  return typeof cron === "string" ? [cron] : cron;
}

/**
 * The instant up to which ticks are handled by the present rules of the zone. If the rules for the last
 * handled tick have changed since, no later tick with the same local time or an earlier one counts: that
 * would be the same tick again (jobs.md#zones).
 */
function handledUntil(zone: string, { at, local }: Since): Instant {
  if (local === undefined) return at;
  const before = offsetIn(local);
  if (offsetAt(zone, at) === before) return at;
  const clock = at + before;
  const guess = clock - offsetAt(zone, at);
  return Math.max(at, clock - offsetAt(zone, guess));
}

function nextOf(cron: Cron, after: Instant): Instant | undefined {
  return cron.nextRuns(1, new Date(after))[0]?.getTime();
}

/** So many expressions are remembered: reading one takes longer than its next tick, and each has 80 kB. */
const MAX_REMEMBERED = 50;
const remembered = new Map<string, Cron>();

/**
 * Reads an expression for a zone. Times that are written out, such as `30 2,14 * * *`, happen once on each
 * day; those with `*` or a step happen as clocks really go (jobs.md#daylight-saving). It throws if the
 * expression cannot be read.
 */
export function cronOf(expression: string, zone: string): Cron {
  const key = `${zone} ${expression}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const options = { timezone: zone, mode: "5-part", fixedTimeRule: "no-wildcard", paused: true } as const;
  const cron = new Cron(expression, options);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(key, cron);
  return cron;
}
