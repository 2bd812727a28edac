// The types of requests and answers, by their names in the API. They are generated from the routes
// (`scripts/client-types.mjs`); types that have no name there are named here.
import type { Operations, RunList, RunStatus, WorkerSummary } from "../src/generated/api.ts";

export type {
  AbortedList,
  Enrollment,
  EventList,
  LeftBehind,
  PoolChange,
  PoolConfig,
  PoolDeletion,
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
/** A run that has ended. */
export type EndedRun = Exclude<RunStatus, { state: "pending" | "running" }>;
export type WorkerState = WorkerSummary["state"];
export type ServiceStatus = RunList["service"][number];
export type SignalName = Operations["signalRun"]["body"]["signal"];
export type EnrollmentRequest = Operations["createEnrollment"]["body"];
/** What the state filter of a query accepts (api.md#state-filter). */
export type StateFilter = RunState | "done" | "all" | number;
