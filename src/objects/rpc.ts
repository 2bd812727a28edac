// Which calls can the edge make to the objects? Messages between objects are in `core/messages.ts`. Every
// method throws a `DroverError` with a code for each error that a client can act on.

import type { ChunkAnswer, StoredChunk } from "../core/allocation/output/chunks.ts";
import type { Release } from "../core/allocation/placements/hold.ts";
import type { Redrive } from "../core/allocation/retry/parked.ts";
import type { RequestKey } from "../core/allocation/state.ts";
import type { Abort } from "../core/allocation/stop.ts";
import type { TaskRestart, TaskSignal } from "../core/allocation/user/requests.ts";
import type { TaskTunnel, TunnelPlace } from "../core/allocation/user/tunnels.ts";
import type { Caused, Via } from "../core/audit/via.ts";
import type { Budget, IdleBehavior, RunRef } from "../core/messages.ts";
import type { Span } from "../core/pool/past/history.ts";
import type { QueuePage, QueueStretch } from "../core/pool/read/lists.ts";
import type { Kill } from "../core/worker/life/kill.ts";
import type { HostSecrets } from "../schema/access/secret.ts";
import type { HostSetup, Orders } from "../schema/host.ts";
import type { Sample } from "../schema/metrics.ts";
import type { PoolEventList } from "../schema/pool/changes.ts";
import type { WorkerConsole } from "../schema/pool/console.ts";
import type { PoolHistory } from "../schema/pool/history.ts";
import type { GoneWorkers, PoolSamples, PoolTallies } from "../schema/pool/past.ts";
import type { ListedWorker, PoolView, WorkerStateName, WorkerStatus } from "../schema/pool.ts";
import type { RunEvent, RunSpec, RunState, RunStatus, RunSummary } from "../schema/run/run.ts";
import type { RunStats } from "../schema/run/stats.ts";
import type { Why } from "../schema/why.ts";
import type { DroverError } from "../shared/errors.ts";
import type { Instant } from "../shared/machine.ts";
import type { AttemptClaim } from "../signing/attempt-token.ts";
import type { ClaimedRequest } from "../signing/request.ts";
import type {
  Arrivals,
  ArrivalsRequest,
  LineRequest,
  LogChunk,
  LogLine,
  LogObject,
  LogRequest,
} from "./files/log-api.ts";
import type { JobApi } from "./jobs/api.ts";
import type { AuditFilter, AuditNews, AuditPage, AuditPageRequest } from "./reads/audit-api.ts";
import type { RegistryApi } from "./registry/api.ts";
import type { WebhookApi } from "./webhooks/api.ts";

export type { RequestKey } from "../core/allocation/state.ts";
export type { Budget } from "../core/messages.ts";
export type { SigningKeys } from "../core/registry/keys/signing-keys.ts";
export type { SessionGrant, SessionOwner } from "../core/registry/sessions.ts";
export type { TokenGrant } from "../core/registry/tokens.ts";
export type { TrustRow } from "../core/registry/trust.ts";
export type * from "./files/log-api.ts";
export type { AuditFilter, AuditNews, AuditPage, AuditPageRequest } from "./reads/audit-api.ts";
export type { Acting, PoolRef, RegistryApi } from "./registry/api.ts";

/**
 * A submission. `hash`: the hash of the canonical JSON as sent, which tells a repetition from a different
 * submission.
 */
export interface SubmitRequest extends Caused {
  spec: RunSpec;
  hash: string;
  by: string;
  /** The project to which the run will belong (projects.md#runs). */
  project: string;
  /** The budget from which it is paid; null: none. */
  budget: Budget | null;
  /**
   * A run that is not there by then is not made: `unknown_run` (jobs.md#not-submitted). With `PAST` the run
   * is found, and never made.
   */
  notAfter?: Instant | undefined;
}

/** A new spec for a run. `specIndex`: the index of the spec that the new spec replaces. */
export interface UpdateRequest extends Caused {
  spec: RunSpec;
  specIndex: number;
  by: string;
}

/** The outcome of a request. `replayed`: the request was carried out before, under the same key. */
export interface RequestAnswer {
  status: RunStatus;
  replayed: boolean;
}

/** The methods of an allocation for the edge. */
/** What a wait for one run is for: one of these states, or that all its checks pass. */
export type WaitedFor = RunState[] | "healthy";

export interface AllocationApi {
  /**
   * Stores the run and its pool row, then answers. Codes: the pool's refusals, `run_exists`,
   * `not_acknowledged`.
   */
  submit(request: SubmitRequest): Promise<{ created: boolean; status: RunStatus }>;
  /** `boot`: also how its machine has booted, which its worker is asked for. */
  read(include?: { boot?: boolean }): Promise<RunStatus>;
  /**
   * Answers when the run is in one of `states`, when it can no longer reach any of them, or after `waitMs`.
   * `healthy`: when all its checks pass, when it has none or has ended (health.md#wait), or after `waitMs`.
   */
  wait(states: WaitedFor, waitMs: number): Promise<RunStatus>;
  /** The run as lists show it. With `states`, the call waits like `wait`. */
  summary(states?: WaitedFor, waitMs?: number): Promise<RunSummary>;
  /** `waitMs`: how long the answer waits for the end. */
  abort(request: Abort & Caused & { waitMs: number }): Promise<RunStatus>;
  /** Ends the hold of a kept run. `waitMs`: how long the answer waits for that. */
  release(request: Release & Caused & { waitMs: number }): Promise<RunStatus>;
  /** Notes which run repeats this one, if it is parked. Answers with the run as it is then. */
  redrive(request: Redrive & Caused): Promise<RunStatus>;
  /**
   * Restarts running tasks; with `all` also ended tasks. Codes: `not_running`, `terminal`, `unknown_task`,
   * `idempotency_mismatch`. A request with the same `key` is carried out once.
   */
  restart(request: TaskRestart, key?: RequestKey, via?: Via): Promise<RequestAnswer>;
  /** Signals the main process of one task, or of all running tasks. Codes: as for `restart`. */
  signal(request: TaskSignal, key?: RequestKey, via?: Via): Promise<RequestAnswer>;
  /**
   * Notes that a tunnel is opened, and answers where it leads. Codes: `terminal`, `not_running`,
   * `unknown_task`. Under the same `key`, it is noted once.
   */
  tunnel(request: TaskTunnel, key?: RequestKey, via?: Via): Promise<TunnelPlace>;
  /** Codes: `stale_index`, `terminal`, and `invalid_request` for fields that cannot change. */
  update(request: UpdateRequest): Promise<RunStatus>;
  /** The events after number `after`. Waits up to `waitMs` for the first event. */
  events(after: number, waitMs: number): Promise<{ items: RunEvent[]; dropped: number; ended: boolean }>;
  why(): Promise<Why>;
  /** Usage of all tasks, or of one task. Code: `unknown_task`. */
  stats(task?: string): Promise<RunStats>;
  log(request: LogRequest): Promise<LogChunk>;
  /** Codes: `unknown_task`, `unknown_attempt`, `expired_logs`. */
  arrivals(request: ArrivalsRequest): Promise<Arrivals>;
  /** Codes: `unknown_task`, `unknown_attempt`, `expired_logs`. */
  line(request: LineRequest): Promise<LogLine>;
  /**
   * Notes a chunk that is in the object store. A chunk of length 0 only asks how far the stream is stored.
   */
  storeLog(chunk: StoredChunk): Promise<ChunkAnswer>;
}

/** What people look for among the runs (api.md#finding). */
export interface RunSearch {
  /** Only runs whose id begins like this. */
  prefix?: string | undefined;
  /** Only runs that this caller has submitted. */
  by?: string | undefined;
  /** Only runs that were submitted at this instant (milliseconds since 1970) or later. */
  since?: number | undefined;
  /** Only runs with this text in the command, in the id or in the value of a label. */
  text?: string | undefined;
  /** Only runs that have failed, to people. */
  failed?: boolean | undefined;
  /** Only runs that are parked. */
  parked?: boolean | undefined;
}

/** Selects runs of a pool. */
export interface RunFilter extends RunSearch {
  /** Absent: all runs of the pool. */
  ids?: string[];
  states: RunState[];
  labels: Record<string, string>;
  /** Only the runs of this array. Absent: any. */
  array?: string | undefined;
  /** Absent: the runs of all projects. */
  project?: string;
}

/** A wait for the first match or, with `all`, for the moment at which every selected run matches. */
export interface RunWait extends RunFilter {
  all: boolean;
}

/** The result of a wait. */
export interface RunNews {
  /** The runs that have started to match. */
  items: RunSummary[];
  /** How many runs do not match yet, but can still match. Counted only with ids or `all`. */
  open: number;
  /** At least one selected run can no longer match. */
  missed: boolean;
}

/** A request for a code with which a self-hosted machine can enroll. */
export interface InvitationRequest extends Caused {
  ttlMs: number;
  by: string;
  /** Hash of the idempotency key: the same key gets the same invitation. */
  keyHash?: string;
}

export interface Invitation {
  worker: string;
  code: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** The invitation existed already, under the same key. */
  replayed: boolean;
}

/** What a pool tells of its past, by kind. */
export interface Past {
  history: PoolHistory;
  samples: PoolSamples;
  tallies: PoolTallies;
  gone: GoneWorkers;
}

/** A span of time. `limit`: how many workers that are gone one answer has. */
export interface PastRequest extends Span {
  limit?: number;
}

/** The methods of a pool for the edge. */
export interface PoolApi {
  view(): Promise<PoolView>;
  /** Queued runs in order: the first runs, or the runs behind a position. */
  queue(page: QueueStretch): Promise<QueuePage>;
  /**
   * The rows that changed after number `after` (null: all live rows). Waits up to `waitMs` for the first row.
   */
  events(after: number | null, waitMs: number): Promise<PoolEventList>;
  /** What was within a span, as far as the pool has kept it. */
  past<Kind extends keyof Past>(kind: Kind, request: PastRequest): Promise<Past[Kind]>;
  /** Samples for Prometheus. */
  metrics(): Promise<Sample[]>;
  /**
   * Deletes an ended run, and answers when its allocation has forgotten it. Code: `not_acknowledged`, if the
   * pool does not know yet that the run has ended, or the allocation does not confirm in time.
   */
  forget(run: RunRef, by: string, via?: Via): Promise<void>;
  /** Creates a worker for a self-hosted machine. Answers once the worker exists and a machine can enroll. */
  invite(request: InvitationRequest): Promise<Invitation>;
  /**
   * Lists runs, newest first. `cursor`: the `next` of an earlier answer. `mark`: names this moment for
   * `wait`.
   */
  list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: RunSummary[]; next: string | null; mark: string }>;
  /**
   * Answers when there is news since `mark` (without a mark: since now), or after `waitMs`. Without `all`, a
   * run that starts to match is news. With `all`, it is news that every selected run matches, or that some
   * run can no longer match. With ids, it is also news that none of these runs can match any more. Null: the
   * client must list again, since a run with one of the ids was deleted, labels have changed, or the mark is
   * too old.
   */
  wait(question: RunWait, waitMs: number, mark?: string): Promise<RunNews | null>;
  workers(states: WorkerStateName[]): Promise<ListedWorker[]>;
  /** The project to which a worker's machine belongs, as in lists. Null also for an unknown worker. */
  ownerOf(worker: string): Promise<string | null>;
  /** The entries of the audit log about this pool, its runs and its workers, newest first. */
  audit(filter: AuditFilter, page: AuditPageRequest): Promise<AuditPage>;
  /** The entries stored after a number, oldest first. Waits up to `waitMs` for the first. */
  auditAfter(filter: AuditFilter, after: number, waitMs: number): Promise<AuditNews>;
}

/** A host's call with its raw body. The object that has the secret verifies the call. */
export interface SignedCall extends ClaimedRequest {
  body: string;
  /** The body is plain text. Absent: JSON. */
  plain?: boolean;
}

/** The raw body of a call that was signed with a valid enrollment code, and the content of that code. */
export interface EnrollCall {
  body: string;
  /** The key in the code, in base64. */
  codeKey: string;
  expiresAt: number;
}

/** Why a host is refused, as in `DroverError`. */
export type Refused = Pick<DroverError, "code" | "message" | "retryAfterMs" | "fields" | "extra">;

/**
 * The answer to an authenticated host, with the key that signs it (`signing/answer.ts`). The key is good for
 * this answer only.
 */
export type SignedAnswer<T> = { answerKey: string } & ({ value: T } | { refused: Refused });

/** Log bytes on their way from an authenticated host to the object store. */
export interface SignedChunk extends StoredChunk {
  /** The signed `Content-Digest` of the bytes. */
  digest: string;
  /** `length` bytes. */
  body: ReadableStream<Uint8Array> | null;
}

/** The object store for logs that are too large for rows. Only the edge carries its bytes. */
export interface LogBucket {
  /**
   * Stores a chunk with this digest and tells its allocation; answers how far the stream is stored. Codes:
   * `bad_signature`, `unknown_attempt`, `forbidden`, `no_bucket`, `invalid_request`.
   */
  put(chunk: SignedChunk): Promise<number>;
  /** The bytes of a part of an object, as a stream. */
  get(part: LogObject): Promise<ReadableStream<Uint8Array>>;
}

/**
 * The archives of runs (api.md#snapshots). Only the edge carries their bytes. All methods throw `no_bucket`.
 */
export interface SnapshotStore {
  /** Resolves if the deployment has a bucket. */
  ready(): Promise<void>;
  /** The size in bytes; null: there is no such snapshot. */
  size(id: string): Promise<number | null>;
  /** Stores the snapshot unless it exists. Code: `digest_mismatch`; then nothing is stored. */
  put(id: string, body: ReadableStream<Uint8Array> | null): Promise<{ created: boolean }>;
  /** The bytes of a snapshot, or a range of them, as a stream. Code: `unknown_snapshot`. */
  get(id: string, range?: { offset: number; length: number }): Promise<ReadableStream<Uint8Array>>;
}

/** Why a socket is refused. Without `answerKey`, the caller is not authenticated. */
export interface SocketRefusal {
  answerKey?: string;
  refused: Refused;
}

/** The methods of a worker for the edge. */
export interface CloudWorkerApi {
  /** The edge has verified that the code is valid and names this worker. */
  enroll(call: EnrollCall): Promise<HostSetup>;
  /**
   * Takes what the machine's script says of its boot. The edge has verified the token. Codes: `busy`,
   * `invalid_request`, `unknown_worker`.
   */
  reportBoot(text: string): Promise<void>;
  join(call: SignedCall): Promise<SignedAnswer<HostSetup>>;
  /** Answers a report with orders. Waits up to `waitMs` while the host has the current orders. */
  report(call: SignedCall, waitMs: number): Promise<SignedAnswer<Orders>>;
  /**
   * Checks a call whose body goes elsewhere: it must be from this host, and allowed now. For logs, also
   * checks that the attempt was placed on this worker.
   */
  admit(call: ClaimedRequest, attempt?: string): Promise<SignedAnswer<null>>;
  /**
   * Confirms that a request token is from an attempt that this worker's host is to run now. Code:
   * `unauthorized`.
   */
  confirmAttempt(claim: AttemptClaim): Promise<void>;
  /**
   * The secrets of an attempt that is about to start, sealed for this host (secrets.md#handed). Codes:
   * `unknown_attempt`, `unknown_secret`, `secrets_too_large`, `no_wrapping_key`, `forbidden`.
   */
  secrets(call: SignedCall): Promise<SignedAnswer<HostSecrets>>;
  /**
   * A host's signed request for a socket, or the edge's request for a client's end of a tunnel
   * (`tunnelRequest`): 101, or an error status with a `SocketRefusal`.
   */
  fetch(request: Request): Promise<Response>;
  read(): Promise<WorkerStatus>;
  why(): Promise<Why>;
  /** The end of its machine's console. Codes: `no_console`, `busy`, `unavailable` (clouds.md#console). */
  console(): Promise<WorkerConsole>;
  /** Sets what the worker does when it is idle. Any behavior but `run` also keeps new runs off the worker. */
  setBehavior(behavior: IdleBehavior, by: string, via?: Via): Promise<WorkerStatus>;
  kill(request: Kill & Caused): Promise<WorkerStatus>;
}

export type { JobApi } from "./jobs/api.ts";

/** How the edge reaches the objects; `objects/messages/stubs.ts` implements it. */
export interface Objects {
  allocation(run: string): AllocationApi;
  worker(id: string): CloudWorkerApi;
  pool(name: string): PoolApi;
  registry(): RegistryApi;
  /** By id: the registry knows the id of a name. */
  webhook(id: string): WebhookApi;
  /** By its full name, with its project (`nameIn`). */
  job(name: string): JobApi;
  logs(): LogBucket;
  snapshots(): SnapshotStore;
  /** An archive of Node in the bucket. Null: it is not there (clouds.md#booting). */
  nodeArchive(file: string): Promise<ReadableStream | null>;
}
