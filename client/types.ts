// What goes in and comes out, by the names that the API's document has for it. All of it is generated from
// the routes (`scripts/client-types.mjs`); what has no name there gets one here.
import type { Operations, RunList, RunStatus, WorkerSummary } from "../src/generated/api.ts";

export type {
  AbortedList,
  Enrollment,
  EventList,
  LeftBehind,
  PoolConfig,
  PoolDeletion,
  PoolEvent,
  PoolEventList,
  PoolList,
  PoolView,
  Problem,
  Queue,
  QueuedRun,
  RunBatch,
  RunEvent,
  RunList,
  RunSpec,
  RunStats,
  RunStatus,
  RunSummary,
  Why,
  WorkerList,
  WorkerStatus,
  WorkerSummary,
} from "../src/generated/api.ts";

export type RunState = RunStatus["state"];
/** A run that stays as it is. */
export type EndedRun = Exclude<RunStatus, { state: "pending" | "running" }>;
export type WorkerState = WorkerSummary["state"];
export type ServiceStatus = RunList["service"][number];
export type SignalName = Operations["signalRun"]["body"]["signal"];
export type EnrollmentRequest = Operations["createEnrollment"]["body"];
/** What the state filter of a query takes (api.md#state-filter). */
export type StateFilter = RunState | "done" | "all" | number;
