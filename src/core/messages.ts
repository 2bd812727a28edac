import type { BootOutcome } from "../probes/boot.ts";
import type { Resources } from "../schema/common.ts";
import type { AttemptOrder, AttemptReport, SignalOrder, StreamName } from "../schema/host.ts";
import type { InstanceType, PoolConfig, ProviderConfig } from "../schema/pool.ts";
import type { Instance } from "../schema/provider.ts";
import type { RunState } from "../schema/run/run.ts";
import type { ErrorCode } from "../shared/errors.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/**
 * What the objects say to each other (messages.md). Every message is idempotent and may be lost,
 * doubled, delayed and reordered; every answer is the answerer's present view (rule R6). Two versions of the
 * code coexist for minutes during a deploy: fields may be added, never given another meaning.
 */

/** The object has no state: it never existed, or is over and forgotten. Nothing was written (rule R6). */
export interface NoSuch {
  kind: "no_such";
}

/** Allocation → Pool: the run as its owner sees it, and what it wants. */
export interface RunUpsert {
  run: string;
  submittedAt: Instant;
  version: number;
  state: RunState;
  priority: number;
  labels: Record<string, string>;
  /** The beginning of the command line, for people. */
  command: string;
  resources: Resources;
  /** The run names an absolute directory, which not every pool allows. */
  hostPaths: boolean;
  /** A task of the run has the fake driver, which not every pool allows. */
  fakes?: boolean;
  /** What an agent must act on to run it as it is meant (`shared/means.ts`). Absent: nothing special. */
  needs?: string[];
  exitCode: number | null;
  startedAt: Instant | null;
  finishedAt: Instant | null;
  /** At its end: how often tasks were started again, and attempts that ran out of memory. Absent: never. */
  restarts?: number;
  oomKills?: number;
  wants: "place" | "nothing";
  /** Workers on which it has failed: it is placed there only if nothing else is ready for it. */
  avoid?: string[];
  /** The worker that keeps its data: it is placed there if that can take it, also if `avoid` names it. */
  prefer?: string | null;
  /** The epoch that the allocation knows to be open; 0 if none. */
  epoch: number;
  /**
   * The highest epoch that has ended. What the pool counts as used is what it opened above this (rule R3).
   */
  ended: number;
}

/** What holds for a run on the worker of its placement. */
export interface PlacementTerms {
  /** What an hour there costs the run (`core/pool/read/money.ts`); absent: not known. */
  rate?: number;
  /** The longest kill timeout that hosts grant there; absent: the usual one (`MAX_KILL_MS`). */
  maxKillMs?: Millis;
  /** When the pool opened it; absent: not known. */
  openedAt?: Instant;
}

export type PoolAnswer =
  | ({ kind: "placed"; worker: string; epoch: number } & PlacementTerms)
  | { kind: "queued" }
  /** No epoch is open, and none will be opened unasked: the pool has seen `version`. */
  | {
      kind: "none";
      version: number;
      /** The logs of a run that has ended are kept for so long; absent: for as long as the run is. */
      keepLogsMs?: Millis;
    }
  /** Only before the pool has the run: nothing was stored. */
  | { kind: "refused"; code: ErrorCode; text: string; retryAfterMs?: Millis };

/** Pool → Allocation: you are placed. Answered with the allocation's present `RunUpsert`. */
export interface Place extends PlacementTerms {
  run: string;
  worker: string;
  epoch: number;
  /** The version of the run that the pool has, and which submission under its id it is. */
  version: number;
  submittedAt: Instant;
}
export type PlaceAnswer = { kind: "run"; run: RunUpsert } | NoSuch;

/** A run, and which submission under its id. */
export interface RunRef {
  run: string;
  submittedAt: Instant;
}
/** `forgotten`: nothing of that submission is left; else what there is under its id. */
export type ForgetAnswer = { kind: "forgotten" } | { kind: "run"; run: RunUpsert };

/**
 * What an allocation wants of one attempt. `startAt`: it is not started before this. The worker says what is
 * left until then (`startInMs`), because the clocks of hosts are their own.
 */
export type WantedAttempt = AttemptOrder & { startAt?: Instant };

/**
 * Allocation → CloudWorker: what shall run of this placement. Absolute; a higher revision replaces a lower.
 */
export interface Order {
  run: string;
  epoch: number;
  revision: number;
  resources: Resources;
  /** As in `RunUpsert`: of the whole run, whichever of its tasks are ordered by now. */
  needs?: string[];
  attempts: WantedAttempt[];
  signals?: SignalOrder[];
  /** Noted on arrival: a host is there that is told at once. Absent: nobody knows of any. */
  listening?: boolean;
}

/** How a placement ended (rule R2). */
export type EndedHow = "refused" | "gone" | "lost";

export type OrderAnswer =
  | { kind: "accepted"; revision: number }
  | { kind: "ended"; how: EndedHow; held: boolean; cause?: LossCause }
  | NoSuch;

/** CloudWorker → Allocation: what the host says of this placement, word for word. */
export interface Observed {
  run: string;
  epoch: number;
  worker: string;
  /**
   * Whether the worker has accepted an order of this epoch. If not, it only asks what to do with what it
   * sees.
   */
  held: boolean;
  attempts: AttemptReport[];
  /** Its agent waits for the delays of starts by itself (`shared/means.ts`). Absent: the allocation does. */
  waits?: true;
  /** Its agent sees to time limits, and says what they have ended (`shared/means.ts`). Absent: it may not. */
  keepsTime?: true;
  /** The placement is over, and its host keeps the data of it: nothing else is said or asked. */
  kept?: true;
}

/** The order as it is now. Empty: stop it, forget it, and remember the epoch as ended. */
export type ObservedAnswer =
  | {
      kind: "order";
      revision: number;
      attempts: WantedAttempt[];
      signals?: SignalOrder[];
      logs: Record<string, Partial<Record<StreamName, number>>>;
      /** A delay runs: ask again after a while, even if the host says nothing new. */
      askAgain?: boolean;
      /** To `kept`: the data may still be needed. Absent: they never will be. */
      keep?: true;
    }
  | NoSuch;

/** CloudWorker → Allocation: the placement is over (rule R2). */
export interface Ended {
  run: string;
  epoch: number;
  worker: string;
  how: EndedHow;
  /** Whether the host may have held the order. If it never did, nothing of it can have been started. */
  held: boolean;
  /** Why the machine was lost. Absent: nobody had said that it would be. */
  cause?: LossCause;
  /** When it ended, as its worker has stored it. Absent: an earlier version does not say. */
  at?: Instant;
}
/** `interruption`: its host had said that the machine would be taken away. */
export type LossCause = "interruption";
export type EndedAnswer = { kind: "noted" } | NoSuch;

/** The phases of a worker. `idle` and `running` are `ready`, told apart by the pool's rows (invariant 6). */
export type WorkerPhase = "unknown" | "booting" | "ready" | "shutdown" | "gone";
export type IdleBehavior = "run" | "hold" | "drain";
/** What an hour of a machine costs by its provider's word, and since which listing. */
export interface ToldPrice {
  price: number;
  since: Instant;
}

/** CloudWorker → Pool. Never occupancy: the pool has that in its rows. */
export interface WorkerUpsert {
  worker: string;
  version: number;
  phase: WorkerPhase;
  idleBehavior: IdleBehavior;
  instance: string | null;
  address: string | null;
  readyAt: Instant | null;
  /** Whether its boot has succeeded: of a worker that is gone it tells a failure from an end. */
  booted: boolean;
  /** What came of its boot. Absent: nothing yet, or it has no machine. */
  bootOutcome?: BootOutcome;
  /** Why it is in this phase, for people. */
  reason: string;
  /**
   * How its latest create call failed, or its boot; absent: neither has. `at` tells one failure from another.
   */
  failure?: WorkerFailure;
  /** What a self-hosted machine has, once it has enrolled; absent for others, which have their type's. */
  resources?: Resources | null;
  /**
   * The bytes of memory that the host of a provider's machine has measured, once that is ready. Absent: it
   * has not, or the worker is of an older version.
   */
  measuredMemory?: number;
  /** What its agent acts on. Absent: as in an older version, nothing special. */
  acts?: string[];
  /** What its machine costs now. Absent: the provider has said nothing, and the list counts. */
  toldPrice?: ToldPrice;
  /** The worker is idle and proposes to stop: the answer says whether the pool consents. */
  wantsStop: boolean;
  /** No call can have made its machine: each was refused. Absent: one may have. */
  unmade?: true | undefined;
  /** An operator has forced its end: no listing is waited for. Absent: nobody has. */
  forced?: true;
  /** The call to the provider for which it waits for a turn. Absent: none, or it paces itself as before. */
  waits?: CloudCall | undefined;
  /** Other machines that its provider lists under its name, by id. Absent: none. */
  doubles?: string[] | undefined;
}
/** What a worker asks its provider for. */
export type CloudCall = "create" | "destroy";

/** A machine that could not be had: the provider did not make it, or it ended before it was ready. */
export interface WorkerFailure extends Omit<ProviderFailure, "class"> {
  class: ProviderFailure["class"] | "boot";
  at: Instant;
}
export type WorkerUpsertAnswer = { kind: "ok"; consent: boolean } | NoSuch;

/** Pool → CloudWorker: be this machine, unless `notAfter` has passed. `kind` says who brings it. */
export type Intent = CreateWorker | SelfHosted;

interface AnyMachine {
  worker: string;
  pool: string;
  notAfter: Instant;
  /** What the worker needs of its pool's configuration, in milliseconds. */
  settings: WorkerSettings;
}

/** A machine that a provider is asked to make. */
export interface CreateWorker extends AnyMachine {
  kind: "cloud";
  instanceType: string;
  type: InstanceType;
  provider: ProviderConfig;
  image: string;
  /** The pool's own tags. Absent in what an earlier version has stored: none. */
  tags?: Record<string, string>;
  /**
   * A listing shows this machine under our name, and nobody knows of it: it is made no more, and is to end
   * when its host can no longer hold anything (decisions/pool.md#adoption).
   */
  adopt?: { id: string; address: string | null };
}

/**
 * A self-hosted machine: nobody makes it, lists it or destroys it. Its code can be used until `notAfter`.
 */
export interface SelfHosted extends AnyMachine {
  kind: "self-hosted";
}

export interface WorkerSettings {
  probeIntervalMs: Millis;
  bootCommand: string;
  bootMs: Millis;
  probeMs: Millis;
  idleMs: Millis;
  shutdownMs: Millis;
  leaseMs: Millis;
  maxRuns: number;
  /** Absent in what an earlier version has stored: the defaults. */
  staleRunMs?: Millis;
  unlistedMs?: Millis;
  maxKillMs?: Millis;
}

/** Pool → CloudWorker: what a complete listing, begun at `beganAt`, says of its instance. */
export interface Sighting {
  worker: string;
  beganAt: Instant;
  /** How long before that a call may have been made which the listing does not show. */
  consistencyMs: Millis;
  /** Absent: the listing omits it. */
  instance?: Instance;
  /**
   * When the first of the listings began that have omitted it since one last had it, as far as the pool
   * knows.
   */
  missingSince?: Instant;
  /** Other living machines that it has under the same name. Absent: the listing says nothing of them. */
  doubles?: string[];
  /** The provider as it is configured now: its secret may be another than when the worker was asked for. */
  provider: ProviderConfig;
}

export interface WorkerRef {
  worker: string;
}

/** Pool → CloudWorker: make the call to your provider that you wanted to make by this version of you. */
export interface Turn extends WorkerRef {
  version: number;
}

/** Pool → CloudWorker: your pool is deleted by force, so end at once; no listing is waited for. */
export interface KillWorker extends WorkerRef {
  reason: string;
  by: string;
}

/** Every message of the pool to a worker is answered with the worker's present view. */
export type WorkerAnswer = { kind: "worker"; worker: WorkerUpsert } | NoSuch;

/** Registry → Pool: the configuration to use. */
export interface Configure {
  pool: string;
  revision: number;
  config: PoolConfig;
  /** What makes this pool's worker ids unlike those of any earlier pool of the name. */
  seed: string;
  /**
   * The pool is to be deleted: only if it is empty, or as soon as it is; `forced`: and what is there is ended
   * at once. Absent: it is to be.
   */
  remove?: Removal;
  /** Who wants that. Absent: an earlier version did not say. */
  by?: string | undefined;
}
/** How a pool is to be deleted. */
export type Removal = "empty" | "drained" | "forced";

/** A machine that may exist although nobody waits any more for proof that it does not. */
export interface LeftBehind {
  worker: string;
  /** Null: nobody knows whether there is one. */
  instance: string | null;
  /** Where it would have to be looked for: the address of its provider. */
  provider: string;
}

/** Pool → Allocation: your pool is deleted by force, so end at once. Answered as `Place` is. */
export interface EndRun extends RunRef {
  reason: string;
  by: string;
}
export type ConfigureAnswer =
  /** `removed`: it is to be deleted, and there is nothing left that needs it. */
  | {
      kind: "configured";
      revision: number;
      removed?: boolean;
      /** Machines that a forced deletion may leave behind. Absent: none. */
      left?: LeftBehind[];
    }
  | { kind: "refused"; revision: number; code: ErrorCode; text: string };

/** How a call to a provider failed, by class (host-protocol.md#provider-errors). */
export interface ProviderFailure {
  class: "rate_limit" | "quota" | "capacity" | "invalid" | "temporary";
  text: string;
  /** What it holds for; absent: what its class usually does (decisions/pool.md#d18). */
  scope?: "all" | "group" | "type";
  retryAfterMs?: Millis;
  /** The call was refused, or never left: it has had no effect. Absent: it may have had one. */
  refused?: true;
  /** Nobody has answered the call. Absent: somebody has, or an earlier version does not say. */
  unreached?: true;
}

export type CreateAnswer =
  | { kind: "created"; instance: Instance }
  | { kind: "failed"; failure: ProviderFailure };
/** `unknown`: the provider says that there is no such machine. It may live (cases.md#case-3). */
export type DestroyAnswer = { kind: "asked"; unknown?: true } | { kind: "failed"; failure: ProviderFailure };
export type ListAnswer =
  /** `partial`: why a machine may exist that is not in it. What it shows exists all the same. */
  | { kind: "listed"; beganAt: Instant; items: Instance[]; partial?: string }
  | { kind: "failed"; failure: ProviderFailure };
