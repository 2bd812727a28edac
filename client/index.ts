// What `import … from "drover/client"` gives.
export { type Client, type ClientOptions, createClient } from "./client.ts";
export type { AbortOptions, LogsOptions, RunHandle } from "./easy.ts";
export { ApiError, StrangerError, UnreachableError } from "./errors.ts";
export type { CallOptions } from "./http.ts";
export type { LogWish } from "./logs.ts";
export type { Patience } from "./retry.ts";
export type { RunFilter, RunQueryInput } from "./run-lists.ts";
export type { SubmitOptions, Submitted } from "./runs.ts";
export { hasEnded } from "./states.ts";
export type * from "./types.ts";
