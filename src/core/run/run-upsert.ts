// What does an allocation tell its pool about its run?

import type { Resources } from "../../schema/common.ts";
import type { RunArray } from "../../schema/run/array.ts";
import type { ContainerNeeds } from "../../schema/run/container.ts";
import type { MachineAsks } from "../../schema/run/machine-asks.ts";
import type { RunState } from "../../schema/run/run.ts";
import type { Concurrency } from "../../schema/run/start/concurrency.ts";
import type { AwaitedArray } from "../../shared/after/entries.ts";
import type { FailureCode } from "../../shared/errors.ts";
import type { CheckStatus, Health } from "../../shared/health/words.ts";
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import type { Via } from "../audit/via.ts";
import type { Paid } from "./cost.ts";
import type { Mishaps } from "./mishaps.ts";

/** What the placed runs of one payer may cost per hour together (projects.md#budgets-of-tokens). */
export interface Budget {
  /** The id of the token whose budget it is. */
  payer: string;
  perHour: number;
}

/** Since when a run is parked, how it has failed, and after how many tries (absent: an earlier version). */
export interface Parked {
  since: Instant;
  reason: string;
  tries?: number;
}

/** What a pool tells a run that has been tried before of its next try. */
export interface NextTryTerms {
  /** What an hour of it costs on the cheapest machine. Absent: unknown, or there was no try before. */
  offeredRate?: number;
  /** Why no machine of the pool can hold it (retry.md#out-of-reach). Absent: one can. */
  outOfReach?: string;
}

/** What a placement of a run needs. */
export interface Needs {
  resources: Resources;
  /** What it asks of its machine besides room. Absent: nothing. */
  asks?: MachineAsks;
}

/** Allocation → Pool: the run as its allocation sees it, and what the run wants. */
export interface RunUpsert extends Mishaps {
  run: string;
  submittedAt: Instant;
  /** Who submitted it. */
  by: string;
  /** By which request, for the audit log. Absent: unknown. */
  via?: Via;
  /** The project to which it belongs (projects.md#runs). */
  project: string;
  /** The budget from which it is paid. Null: none (projects.md#budgets-of-tokens). */
  budget: Budget | null;
  /** The bytes of output that are stored of it. 0 until it has ended (projects.md#stored-bytes). */
  storedBytes: number;
  version: number;
  state: RunState;
  priority: number;
  labels: Record<string, string>;
  /** The beginning of the command line, for display. */
  command: string;
  /** The run that it repeats. Absent: none. */
  rerunOf?: string;
  /** Its place in an array (api.md#arrays). Absent: it belongs to none. */
  array?: RunArray;
  /** It replaces earlier runs with the same key (pool.md#replacing). Absent: it replaces none. */
  replace?: string;
  /** The key whose slots it shares with other runs (pool.md#concurrency-keys). Absent: it has none. */
  concurrency?: Concurrency;
  /** Until when its machine is kept (tasks.md#kept); null: it is not. Absent: it never will be. */
  keptUntil?: Instant | null;
  resources: Resources;
  /** What it asks of its machine besides room. Absent: nothing. */
  asks?: MachineAsks;
  /** How many of its tries have failed, and were followed by another (retry.md#tries). Absent: none. */
  retried?: number;
  /** What its later tries may ask for. Only for a run that the pool does not have yet. Absent: no more. */
  escalations?: Needs[];
  /** It has failed for good, and waits for somebody (retry.md#parked). Null: it does not. Absent: never. */
  parked?: Parked | null;
  /** The run uses an absolute directory, which some pools forbid. */
  hostPaths: boolean;
  /** What its containers need that only some pools allow. Absent: it has no containers. */
  containers?: ContainerNeeds;
  /** A task of the run uses the fake driver, which some pools forbid. */
  fakes: boolean;
  /** The lowest protocol version that a host must have to run it as intended (compat.md#hosts). */
  protocol: number;
  exitCode: number | null;
  /** Why it failed, or why its end is unknown. Absent: it has not failed. */
  failure?: FailureCode;
  /** What its placements have cost that are over. Absent: none is over. */
  paid?: Paid;
  /** What the checks of its tasks say together, and how many have each status. Absent: it has none. */
  health?: Health;
  checks?: Record<CheckStatus, number>;
  startedAt: Instant | null;
  finishedAt: Instant | null;
  wants: "place" | "nothing";
  /** It wants a place only after other runs have ended well (api.md#after). Absent: it awaits none. */
  deferred?: boolean;
  /** The arrays of its pool whose ends it awaits (pool.md#array-ends). Absent: none. */
  awaitsArrays?: AwaitedArray[];
  /** The run whose end kept it from starting, and how that one ended. Absent: none did. */
  firstCause?: { run: string; text: string };
  /** Workers on which the run failed. The run is placed there only if no other worker is ready for it. */
  avoid: string[];
  /** The worker that keeps the run's data: the run is placed there if possible, even if `avoid` names it. */
  prefer: string | null;
  /** The epoch that the allocation believes to be open; 0: none. */
  epoch: number;
  /** The highest epoch that has ended. Higher epochs that the pool has opened count as used (rule R3). */
  ended: number;
  /** Entries of the audit log that the pool has not confirmed (audit.md#outbox). Absent: none. */
  audit?: OwedEntry[];
}
