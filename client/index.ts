// The exports of `drover/client`.
export { type Client, type ClientOptions, createClient } from "./client.ts";
export type { AbortOptions, LogsOptions, RunHandle } from "./easy.ts";
export { ApiError, StrangerError, UnreachableError } from "./errors.ts";
export { batchesOf } from "./runs/batches.ts";
export type { Triggered } from "./runs/jobs.ts";
export type { LogSelection } from "./runs/logs.ts";
export type { OutputPiece, OutputSelection } from "./runs/output.ts";
export { type RerunChanges, specAgain } from "./runs/rerun.ts";
export type { RunFilter, RunQueryInput } from "./runs/run-lists.ts";
export type { SubmitOptions, SubmitResult } from "./runs/runs.ts";
export { RUN_ORDERS, type RunOrder, sortRuns } from "./runs/sort-runs.ts";
export { hasEnded } from "./states.ts";
export type { CallOptions } from "./transport/http.ts";
export type { Patience } from "./transport/retry.ts";
export type { Exec, ExecOptions } from "./tunnels/exec.ts";
export type { Forward, ForwardOptions } from "./tunnels/forward.ts";
export type * from "./types.ts";
