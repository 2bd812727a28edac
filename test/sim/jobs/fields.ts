import { JobFields, type JobFieldsInput } from "../../../src/schema/job/job.ts";
import type { JobScheduleInput } from "../../../src/schema/job/schedule.ts";
import type { FakeScript } from "../../../src/schema/run/task.ts";
import type { Chance } from "../rng.ts";

/** When a story with jobs begins, and in which zone: some minutes before the clocks there move. */
export const BEGINNINGS = [
  { at: "2026-11-22T23:53:00Z", zone: "UTC", daily: "0 0 * * *" },
  { at: "2027-03-28T00:52:30Z", zone: "Europe/Berlin", daily: "2 2 * * *" },
  { at: "2026-10-25T00:51:20Z", zone: "Europe/Berlin", daily: "56 2 * * *" },
  { at: "2026-11-01T05:53:00Z", zone: "America/New_York", daily: "58 1 * * *" },
  { at: "2026-10-03T15:22:00Z", zone: "Australia/Lord_Howe", daily: "10 2 * * *" },
] as const;
export type Beginning = (typeof BEGINNINGS)[number];

const CRONS = ["* * * * *", "*/2 * * * *", "*/3 * * * *", "*/5 * * * *", "0 * * * *"];

/** What a version of a job says: another one each time. */
export function anyFields(chance: Chance, { zone, daily }: Beginning, n: number): JobFields {
  const script: FakeScript = {
    runForMs: chance.chance(0.7) ? chance.between(1, 20_000) : chance.between(20_000, 150_000),
    exitCode: chance.chance(0.8) ? 0 : 1,
    ignoreSignals: chance.chance(0.1),
    dieWithAgent: false,
    blockStartMs: 0,
    output: [],
  };
  const input: JobFieldsInput = {
    description: `text ${n}`,
    spec: {
      ...{ pool: "default", argv: ["play"], env: { SCRIPT: JSON.stringify(script) }, killTimeout: "5s" },
      ...(n % 2 === 0 ? { retry: { park: true } } : {}),
    },
    ...(chance.chance(0.9) ? { schedule: anySchedule(chance, zone, daily) } : {}),
  };
  return JobFields.parse(input);
}

function anySchedule(chance: Chance, zone: string, daily: string): JobScheduleInput {
  const one = chance.pick(CRONS) ?? "* * * * *";
  return {
    cron: chance.chance(0.2) ? [one, daily, "*/7 * * * *"] : one,
    zone,
    jitter: chance.pick(["0s", "0s", "20s", "50s", "4m"]) ?? "0s",
    overlap: chance.pick(["skip", "queue-one", "queue-all", "cancel", "allow"]) ?? "skip",
    missed: chance.pick(["skip", "one", "all"]) ?? "one",
    catchUp: chance.pick(["0s", "2m", "5m", "1h"]) ?? "1h",
  };
}
