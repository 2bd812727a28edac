import type { ChunkAnswer, StoredChunk } from "../core/allocation/output/chunks.ts";
import type { Ask } from "../core/allocation/state.ts";
import type { Abort } from "../core/allocation/user/abort.ts";
import type { RestartWish, SignalWish } from "../core/allocation/user/requests.ts";
import type { IdleBehavior, Removal, RunRef } from "../core/messages.ts";
import type { QueuePage, QueueStretch } from "../core/pool/read/lists.ts";
import type { Kill } from "../core/worker/life/kill.ts";
import type { HostSetup, Orders, StreamName } from "../schema/host.ts";
import type { Sample } from "../schema/metrics.ts";
import type {
  ListedWorker,
  PoolDeletion,
  PoolEventList,
  PoolView,
  PutPoolConfig,
  WorkerState,
  WorkerStatus,
} from "../schema/pool.ts";
import type { RunEvent, RunSpec, RunState, RunStatus, RunSummary } from "../schema/run/run.ts";
import type { RunStats } from "../schema/run/stats.ts";
import type { Why } from "../schema/why.ts";
import type { DroverError } from "../shared/errors.ts";
import type { ClaimedRequest } from "../signing/request.ts";

export type { Ask } from "../core/allocation/state.ts";

/**
 * What the edge may ask of the objects. The edge knows these interfaces and no class; what the objects say
 * among themselves is in `core/messages.ts`. Every method throws a `DroverError` with a code for what a
 * client can act on.
 */

/**
 * What a submission carries. `hash` is that of the canonical JSON as sent: it tells a repetition from a
 * clash.
 */
export interface SubmitRequest {
  spec: RunSpec;
  hash: string;
}

/** A new spec for a run whose spec has `specIndex`. */
export interface UpdateRequest {
  spec: RunSpec;
  specIndex: number;
  by: string;
}

/** `waitMs`: how long the answer waits for the end. */
export interface AbortCall extends Abort {
  waitMs: number;
}

/** What became of a request. `replayed`: it had been done before, by its key. */
export interface Asked {
  status: RunStatus;
  replayed: boolean;
}

/** A stretch of one stream of one attempt. */
export interface LogChunk {
  data: Uint8Array;
  /** In place of `data`: the bytes from `from` on lie in the object store. */
  object?: LogObject;
  /** Offset of the first byte of `data`. */
  from: number;
  /** The end of the id of the attempt that they are of; absent while the task has none. */
  attempt?: string;
  /** How many bytes are stored by now. */
  size: number;
  /** Nothing will ever come after `size`. */
  ended: boolean;
  /** Bytes that the process wrote beyond the cap, and that were dropped. */
  dropped: number;
}

/** Bytes of one object of the store: `length` of them, from the `offset`-th on. */
export interface LogObject {
  key: string;
  offset: number;
  length: number;
}

export interface LogRequest {
  task: string;
  stream: StreamName;
  /** The end of the attempt's id; the latest if absent. */
  attempt?: string;
  /** Without an attempt: the oldest that is kept, and not the latest. */
  oldest?: boolean;
  /** First byte wanted. Negative: that many bytes before the present end. */
  from: number;
  maxBytes: number;
  /** If there is nothing at `from` yet, how long to hold the answer. */
  waitMs: number;
}

export interface AllocationApi {
  /**
   * Stores the run and its pool row, then answers. Codes: see `Pool` refusals, `run_exists`,
   * `not_acknowledged`.
   */
  submit(request: SubmitRequest): Promise<{ created: boolean; status: RunStatus }>;
  read(): Promise<RunStatus>;
  /** Answers when the run is in one of `states`, or can never be again, or `waitMs` are over. */
  wait(states: RunState[], waitMs: number): Promise<RunStatus>;
  /** The run as lists show it; with `states` as `wait` does. */
  summary(states?: RunState[], waitMs?: number): Promise<RunSummary>;
  abort(request: AbortCall): Promise<RunStatus>;
  /**
   * Starts tasks again that run; `all`: those that have ended, too. Codes: `not_running`, `terminal`,
   * `unknown_task`, `idempotency_mismatch`. The same `ask` is done once.
   */
  restart(wish: RestartWish, ask?: Ask): Promise<Asked>;
  /** Signals the main process of one task, or of all that run. Codes: those of `restart`. */
  signal(wish: SignalWish, ask?: Ask): Promise<Asked>;
  /** Codes: `stale_index`, `terminal`, and `invalid_request` for what cannot change in place. */
  update(request: UpdateRequest): Promise<RunStatus>;
  /** Events with a number above `after`; holds the answer for up to `waitMs` while there is none. */
  events(after: number, waitMs: number): Promise<{ items: RunEvent[]; dropped: number; ended: boolean }>;
  why(): Promise<Why>;
  /** What its tasks use, or one of them. Code: `unknown_task`. */
  stats(task?: string): Promise<RunStats>;
  log(request: LogRequest): Promise<LogChunk>;
  /** A host's chunk lies in the object store; without a length, only how far its stream is stored. */
  storeLog(chunk: StoredChunk): Promise<ChunkAnswer>;
}

export interface RunFilter {
  /** Absent: all runs of the pool. */
  ids?: string[];
  states: RunState[];
  labels: Record<string, string>;
}

/** A question that waits for the first match or, with `all`, until each run that is selected matches. */
export interface RunWait extends RunFilter {
  all: boolean;
}

/** What has come of a question. */
export interface RunNews {
  /** The runs that have come to match. */
  items: RunSummary[];
  /** How many runs do not match yet, and still can; known of a question with ids or `all`. */
  open: number;
  /** At least one run that is selected can match no more. */
  missed: boolean;
}

/** A self-hosted machine shall join. */
export interface InvitationRequest {
  ttlMs: number;
  /** Of an idempotency key: the same finds the same invitation. */
  keyHash?: string;
}

export interface Invitation {
  worker: string;
  code: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** It was there already, by its key. */
  replayed: boolean;
}

export interface PoolApi {
  view(): Promise<PoolView>;
  /** The runs that wait for a place, in their order: the first, or those behind a place. */
  queue(page: QueueStretch): Promise<QueuePage>;
  /** What has changed after that number, null: all that lives; holds the answer while there is nothing. */
  events(after: number | null, waitMs: number): Promise<PoolEventList>;
  /** What Prometheus is told of it. */
  metrics(): Promise<Sample[]>;
  /**
   * Deletes an ended run; answers when its allocation has forgotten it. Code: `not_acknowledged`, as long as
   * the pool has not heard of its end.
   */
  forget(run: RunRef): Promise<void>;
  /** Answers when the worker is there for which a machine can enroll with the code. */
  invite(request: InvitationRequest): Promise<Invitation>;
  /**
   * Newest first. `cursor` is the `next` of an earlier answer. `mark` names the moment, for `wait`.
   */
  list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: RunSummary[]; next: string | null; mark: string }>;
  /**
   * Answers when there is news since the moment of `mark`, or now if there is no mark: a run has come to
   * match; or with `all` each run that is selected does, or one can no more; or none of the ids can any more;
   * or `waitMs` are over. Null: list anew, since a run with one of the ids was deleted, runs have another
   * value of one of the labels, or the mark is too old.
   */
  wait(question: RunWait, waitMs: number, mark?: string): Promise<RunNews | null>;
  workers(states: WorkerState[]): Promise<ListedWorker[]>;
}

/** A call of a host with its raw body. The object that holds the secret verifies it. */
export interface SignedCall extends ClaimedRequest {
  body: string;
  /** The body is plain text. Absent: JSON. */
  plain?: boolean;
}

/** The raw body of a call that was signed with a true code, and what that code says. */
export interface EnrollCall {
  body: string;
  /** The key that the code carries, in base64. */
  codeKey: string;
  expiresAt: number;
}

/** What a host is refused with, as `DroverError` has it. */
export type Refused = Pick<DroverError, "code" | "message" | "retryAfterMs" | "fields" | "extra">;

/**
 * What a host that has shown who it is gets for an answer, and what that is to be signed with
 * (`signing/answer.ts`). The key is good for this answer alone.
 */
export type Answered<T> = { answerKey: string } & ({ value: T } | { refused: Refused });

/** Log bytes on their way from a host to the object store. That it is its host's word is known. */
export interface SignedChunk extends StoredChunk {
  /** What `Content-Digest` says of the bytes, signed. */
  digest: string;
  /** `length` bytes. */
  body: ReadableStream<Uint8Array> | null;
}

/** The object store for what is too large for an object's own rows. The edge alone carries its bytes. */
export interface LogBucket {
  /**
   * Stores a chunk with this digest and tells its allocation; answers how far the stream is stored then.
   * Codes: `bad_signature`, `unknown_attempt`, `forbidden`, `no_bucket`, `invalid_request`.
   */
  put(chunk: SignedChunk): Promise<number>;
  /** The bytes of a part of an object, as they come. */
  get(part: LogObject): Promise<ReadableStream<Uint8Array>>;
}

/** The archives of runs (api.md#snapshots). The edge alone carries their bytes. All throw `no_bucket`. */
export interface SnapshotStore {
  /** Resolves if there is a place for snapshots at all. */
  ready(): Promise<void>;
  /** How many bytes it has; null if there is none. */
  size(id: string): Promise<number | null>;
  /** Stores it, unless it is there. Code: `digest_mismatch`, and then nothing is stored. */
  put(id: string, body: ReadableStream<Uint8Array> | null): Promise<{ created: boolean }>;
  /** Its bytes, or some of them, as they come. Code: `unknown_snapshot`. */
  get(id: string, range?: { offset: number; length: number }): Promise<ReadableStream<Uint8Array>>;
}

/** Why no socket is given. Without a key it is nobody's request. */
export interface SocketRefusal {
  answerKey?: string;
  refused: Refused;
}

export interface CloudWorkerApi {
  /** The code has been verified at the edge and names this worker. */
  enroll(call: EnrollCall): Promise<HostSetup>;
  join(call: SignedCall): Promise<Answered<HostSetup>>;
  /** A report in, orders out. Holds the answer for up to `waitMs` while the host has the current orders. */
  report(call: SignedCall, waitMs: number): Promise<Answered<Orders>>;
  /**
   * Whether a call whose body does not come here is its host's, and may be made now; of a log also whether
   * its attempt is of a placement that the worker was given.
   */
  admit(call: ClaimedRequest, attempt?: string): Promise<Answered<null>>;
  /**
   * A host's signed request for a socket, as it came: 101, or the status of an error with a `SocketRefusal`.
   */
  fetch(request: Request): Promise<Response>;
  read(): Promise<WorkerStatus>;
  why(): Promise<Why>;
  /** What it does when it has nothing to do; not `run`: it takes no new runs either. */
  setBehavior(behavior: IdleBehavior, by: string): Promise<WorkerStatus>;
  kill(request: Kill): Promise<WorkerStatus>;
}

export interface RegistryApi {
  /** Creates or changes a pool; answers when the pool has the configuration. */
  putPool(name: string, config: PutPoolConfig): Promise<{ created: boolean; view: PoolView }>;
  /**
   * Deletes a pool if it is `empty`, or as soon as it is `drained`; `forced`: ends at once what is there, and
   * answers which machines that may leave behind. Codes: `unknown_pool`, `pool_in_use`,
   * `not_acknowledged`.
   */
  removePool(name: string, how: Removal, by?: string): Promise<PoolDeletion>;
  /** The names of all pools, sorted. */
  pools(): Promise<string[]>;
  /** Called by the cron trigger: pokes what may have been forgotten; `all`: all that lives. */
  poke(all?: boolean): Promise<void>;
}

/** How the edge reaches the objects. `objects/messages/stubs.ts` has the real ones. */
export interface Objects {
  allocation(run: string): AllocationApi;
  worker(id: string): CloudWorkerApi;
  pool(name: string): PoolApi;
  registry(): RegistryApi;
  logs(): LogBucket;
  snapshots(): SnapshotStore;
}
