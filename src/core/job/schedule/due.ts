// Which ticks of a job are due at a look at the clock, and what becomes of each of them (jobs.md#missed)?
import type { JobSchedule } from "../../../schema/job/schedule.ts";
import { durationMs } from "../../../shared/duration.ts";
import { MADE_UP_SPACING_MS, MAX_MADE_UP, ON_TIME_MS } from "../../../shared/jobs/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { fraction } from "../../jitter.ts";
import { nextStarts, type StartingTick, startOf } from "./start.ts";
import { instantsAfter, type Since, type Tick, tickAt } from "./ticks.ts";

/** One look at the clock. */
export interface Look {
  /** Up to where the ticks are handled. */
  since: Since;
  now: Instant;
  /** The name of the job, on which the jitter depends. */
  job: string;
  /** The job is paused: its due ticks are skipped. Absent: it is not. */
  paused?: boolean;
}

/** A tick that gets a run. */
export interface TickRun extends StartingTick {
  /** `on-time`: its start has come. `missed`: its time has passed, and it is made up at `startAt`. */
  cause: "on-time" | "missed";
}

/** Why ticks get no run (jobs.md#skips). */
export type SkipReason = "paused" | "missed" | "too_old" | "superseded" | "over_cap";

/** Ticks one after the other that get no run, for one reason. */
export interface TickSkip {
  from: Tick;
  to: Tick;
  count: number;
  reason: SkipReason;
}

/** What a look has found. A job stores all of it in one commit, or nothing of it. */
export interface Due {
  /** Oldest tick first. A `startAt` that has not come yet is waited for by the job. */
  runs: TickRun[];
  /** Oldest tick first. */
  skips: TickSkip[];
  /** Up to where the ticks are handled now. */
  since: Since;
  /** More ticks are due than one look handles: look again at once. */
  more: boolean;
}

/** How many due ticks one look handles: a day and a half of minutes, in a fifth of a second. */
export const MAX_TICKS_A_LOOK = 2_000;
/** The latest ticks of a full look are left to the next one, since they may be among those that run. */
const LEFT_TO_NEXT = MAX_MADE_UP + 10;
/**
 * How long before a distant tick a job looks at the clock once more, so that rules of its zone that have
 * changed in the meantime are noticed. No zone moves its clocks by more.
 */
const LOOK_AGAIN_MS: Millis = 26 * 3_600_000;

/**
 * Decides about each tick whose start has come at `now` and that is not handled yet: it gets a run, or it is
 * skipped for a reason, and nothing else (jobs.md#ticks). Each tick is handled once, whatever the sequence of
 * looks: a repeated look and a clock that went back find nothing.
 */
export function dueTicks(schedule: JobSchedule, look: Look): Due {
  const { since, now, job } = look;
  const { due, next, more } = dueStarts(schedule, since, now, job);
  const latest = due.at(-1);
  if (latest === undefined) return { runs: [], skips: [], since, more: false };
  const fates = fatesOf(schedule, due, look, more);
  const runs: TickRun[] = [];
  let madeUp = now + spreadMs(schedule, now, next, job);
  for (const [i, { at, startAt }] of due.entries()) {
    if (fates[i] === "on-time") runs.push({ tick: tickAt(schedule, at), startAt, cause: "on-time" });
    if (fates[i] !== "make-up") continue;
    runs.push({ tick: tickAt(schedule, at), startAt: madeUp, cause: "missed" });
    madeUp += MADE_UP_SPACING_MS;
  }
  return { runs, skips: skipsOf(schedule, due, fates), since: tickAt(schedule, latest.at), more };
}

/**
 * The instant of the next look: the start of the next tick, or a day before it, so that new rules of its zone
 * are noticed (jobs.md#zones). Undefined: there is no tick to come. It may have passed.
 */
export function nextLookAt(
  schedule: JobSchedule,
  since: Since,
  now: Instant,
  job: string,
): Instant | undefined {
  const startAt = nextStarts(schedule, since, 1, job)[0]?.startAt;
  if (startAt === undefined || schedule.zone === "UTC") return startAt;
  const early = startAt - LOOK_AGAIN_MS;
  return early > now ? early : startAt;
}

/**
 * From where ticks count after a job was made, resumed, or given another schedule at `now`. No tick that is
 * handled is handled again. `isSameZone`: whether the zone of the latest handled tick is still that of the
 * schedule; in another one its local time says nothing.
 */
export function sinceFrom(handled: Since | null, now: Instant, isSameZone: boolean): Since {
  if (handled === null || handled.at < now) return { at: now };
  return isSameZone ? handled : { at: handled.at };
}

/** A tick whose start has come. Its local time is not needed for a decision, and takes time to compute. */
interface DueStart {
  at: Instant;
  startAt: Instant;
}

/** The ticks whose start has come, and the first one whose start has not. */
function dueStarts(
  schedule: JobSchedule,
  since: Since,
  now: Instant,
  job: string,
): { due: DueStart[]; next: Instant | undefined; more: boolean } {
  const due: DueStart[] = [];
  let at: Instant | undefined;
  for (const next of instantsAfter(schedule, since)) {
    if (at !== undefined) {
      const startAt = startOf(schedule, { at }, { at: next }, job);
      if (startAt > now) return { due, next: at, more: false };
      due.push({ at, startAt });
    }
    if (next > now) return { due, next, more: false };
    if (due.length > MAX_TICKS_A_LOOK) return { due: due.slice(0, -LEFT_TO_NEXT), next, more: true };
    at = next;
  }
  if (at === undefined) return { due, next: undefined, more: false };
  const startAt = startOf(schedule, { at }, undefined, job);
  if (startAt > now) return { due, next: at, more: false };
  return { due: [...due, { at, startAt }], next: undefined, more: false };
}

type Fate = "on-time" | "make-up" | SkipReason;

/** What becomes of each due tick. `more`: later ticks are due as well, so none of these is the latest. */
function fatesOf(schedule: JobSchedule, due: DueStart[], look: Look, more: boolean): Fate[] {
  const { missed } = schedule;
  const catchUpMs = durationMs(schedule.catchUp);
  const lateMs = ({ startAt }: DueStart) => look.now - startAt;
  const isOnTime = (one: DueStart) => lateMs(one) <= ON_TIME_MS;
  const inTime = due.filter((one) => !isOnTime(one) && lateMs(one) <= catchUpMs);
  const some = missed === "all" ? MAX_MADE_UP : missed === "one" && !due.some(isOnTime) ? 1 : 0;
  const chosen = new Set(more || some === 0 ? [] : inTime.slice(-some));
  return due.map((one): Fate => {
    if (look.paused === true) return "paused";
    if (isOnTime(one)) return "on-time";
    if (chosen.has(one)) return "make-up";
    if (missed === "skip") return "missed";
    if (lateMs(one) > catchUpMs) return "too_old";
    return missed === "one" ? "superseded" : "over_cap";
  });
}

/** How long after the look the first missed tick runs: many jobs may have missed theirs at once. */
function spreadMs({ jitter }: JobSchedule, now: Instant, next: Instant | undefined, job: string): Millis {
  const room = Math.min(durationMs(jitter), Math.max(0, (next ?? Infinity) - now));
  return Math.floor(Math.max(room, MADE_UP_SPACING_MS) * fraction(job));
}

/** The ticks that get no run, those with one reason together. */
function skipsOf(schedule: JobSchedule, due: DueStart[], fates: Fate[]): TickSkip[] {
  const skips: TickSkip[] = [];
  let first = 0;
  for (const [i, fate] of fates.entries()) {
    if (fate !== fates[i - 1]) first = i;
    const [from, to] = [due[first], due[i]];
    if (fate === fates[i + 1] || fate === "on-time" || fate === "make-up") continue;
    if (from === undefined || to === undefined) continue;
    const ends = { from: tickAt(schedule, from.at), to: tickAt(schedule, to.at) };
    skips.push({ ...ends, count: i - first + 1, reason: fate });
  }
  return skips;
}
