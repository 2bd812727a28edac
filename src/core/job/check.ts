// Which invariants must every step of a job keep?
import type { Invariant } from "../../shared/machine.ts";
import { grows, ofRecord } from "../invariants.ts";
import type { JobRecord, JobState } from "./record.ts";

const ofJob = ofRecord<JobRecord>;

/** The invariants of a job, for `check` (shell.md#assertions). */
export const jobInvariants: readonly Invariant<JobState>[] = [
  ofJob("rules.md#r1", grows("revision", "version", "listed")),
  ofJob("jobs.md#tick-2", (before, { since }) =>
    since.at < before.since.at ? `handled ticks went back from ${before.since.at} to ${since.at}` : undefined,
  ),
  ofJob("jobs.md#tick-1", (_, { owed }) => {
    const ticks = new Set(owed.map(({ tick }) => tick.at));
    return ticks.size < owed.length ? "a tick is owed twice" : undefined;
  }),
];
