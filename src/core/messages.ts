// What do the objects say to each other (messages.md)? Every message is idempotent, and may be lost, doubled,
// delayed and reordered. Every answer is the receiver's present view (rule R6).
import type { BootOutcome } from "../probes/boot.ts";
import type { Resources } from "../schema/common.ts";
import type { AttemptOrder, AttemptReport, SignalOrder, StreamName } from "../schema/host.ts";
import type { ProviderConfig } from "../schema/pool/provider-config.ts";
import type { InstanceType, LeftBehind, PoolConfig } from "../schema/pool.ts";
import type { Instance } from "../schema/provider.ts";
import type { AwaitedArray } from "../shared/after/entries.ts";
import type { ErrorCode } from "../shared/errors.ts";
import type { Instant, Millis } from "../shared/machine.ts";
import type { OwedEntry } from "./audit/entry.ts";
import type { Counts } from "./histogram.ts";
import type { ProviderFailure } from "./provider-answers.ts";
import type { NextTryTerms, RunUpsert } from "./run/run-upsert.ts";

export type { LeftBehind } from "../schema/pool.ts";
export type { Budget, RunUpsert } from "./run/run-upsert.ts";

/** The object does not exist, or no longer exists. Nothing was written (rule R6). */
export interface NoSuch {
  kind: "no_such";
}

/** Terms of a placement, from its worker and pool. */
export interface PlacementTerms {
  /** The price of an hour on the worker for this run (`core/pool/read/money.ts`). Absent: unknown. */
  rate?: number;
  /** The longest kill timeout that the worker's host grants. Absent: `MAX_KILL_MS`. */
  maxKillMs?: Millis;
  /** When the pool opened the placement. Absent: unknown. */
  openedAt?: Instant;
}

export type PoolAnswer =
  | ({ kind: "placed"; worker: string; epoch: number } & PlacementTerms)
  | ({ kind: "queued" } & NextTryTerms)
  /** No epoch is open, and none opens before the pool gets a message. `version`: the pool's latest. */
  | ({
      kind: "none";
      version: number;
      /** How long logs of an ended run are kept. Absent: as long as the run. */
      keepLogsMs?: Millis;
    } & NextTryTerms)
  /** Only for a run that the pool does not have yet: nothing was stored. `runs`: what is in the way. */
  | { kind: "refused"; code: ErrorCode; text: string; retryAfterMs?: Millis; runs?: string[] };

/** Pool → Allocation: you are placed. The answer is the allocation's present `RunUpsert`. */
export interface Place extends PlacementTerms {
  run: string;
  worker: string;
  epoch: number;
  /** The version of the run that the pool has. */
  version: number;
  submittedAt: Instant;
}
export type PlaceAnswer = { kind: "run"; run: RunUpsert } | NoSuch;

/** Allocation → Allocation: how have you ended, and will you tell me when you do? */
export interface AwaitEnd {
  run: string;
  /** The run that asks. */
  follower: RunRef;
}
/** `goes_on`: it has not ended. `tells`: it will tell the run that asks. */
export type AwaitAnswer = { kind: "goes_on"; tells: boolean } | { kind: "run_end"; end: RunEnd } | NoSuch;

/** Why something is not met. `text` follows the name of the run or array. `cause`: the first cause. */
export interface Unmet {
  text: string;
  cause?: { run: string; text: string };
}

/** How a run has ended, for those that start after it. */
export type RunEnd = { well: true } | ({ well: false } & Unmet);

/** Allocation → Allocation: the run `of`, which you await, has ended. */
export interface RunEnded extends RunRef {
  of: string;
  end: RunEnd;
}

/** Pool → Allocation: this array, which you await, has ended. Without `unmet`: as you wanted. */
export interface ArrayEnded extends RunRef, AwaitedArray {
  unmet?: Unmet;
}

/** A run, and the time of the submission that is meant, since its id may be used again. */
export interface RunRef {
  run: string;
  submittedAt: Instant;
}
/** `forgotten`: nothing of that submission is left. `run`: a run exists under its id. */
export type ForgetAnswer = { kind: "forgotten" } | { kind: "run"; run: RunUpsert };

/**
 * One attempt that an allocation wants, to be started no earlier than `startAt`. The worker sends hosts the
 * remaining time (`startInMs`), because their clocks differ. `holdUntil`: the run has ended, and what is left
 * of it is kept until then (`holdMs`).
 */
export type WantedAttempt = AttemptOrder & { startAt?: Instant; holdUntil?: Instant };

/**
 * Allocation → CloudWorker: all that this placement must run. An order with a higher revision replaces an
 * order with a lower revision.
 */
export interface Order {
  run: string;
  epoch: number;
  revision: number;
  resources: Resources;
  /** As in `RunUpsert`: for the whole run, and not only for the tasks that are ordered so far. */
  protocol: number;
  attempts: WantedAttempt[];
  signals?: SignalOrder[];
  /** Set on arrival: the host is connected and receives the order at once. Absent: unknown. */
  listening?: boolean;
}

/** How a placement ended (rule R2). */
export type EndedHow = "refused" | "gone" | "lost";

export type OrderAnswer =
  | { kind: "accepted"; revision: number }
  | { kind: "ended"; how: EndedHow; held: boolean; cause?: LossCause }
  | NoSuch;

/** CloudWorker → Allocation: the host's report on this placement, verbatim. */
export interface Observed {
  run: string;
  epoch: number;
  worker: string;
  /**
   * Whether the worker accepted an order of this epoch. If not, the worker only asks what to do with the
   * attempts that its host reports.
   */
  held: boolean;
  attempts: AttemptReport[];
  /** The host's protocol version: it determines who enforces start delays and time limits (`keepsTime`). */
  protocol: number;
  /** The placement is over, and its host retains the run's data. This message is only about these data. */
  kept?: true;
}

/**
 * The present order. An empty order tells the worker to stop and forget all attempts of the epoch, and to
 * remember the epoch as ended.
 */
export type ObservedAnswer =
  | {
      kind: "order";
      revision: number;
      attempts: WantedAttempt[];
      signals?: SignalOrder[];
      logs: Record<string, Partial<Record<StreamName, number>>>;
      /** A start delay is running: ask again after a while, even without news from the host. */
      askAgain?: boolean;
      /** Answer to `kept`: the data may still be needed. Absent: they will never be needed again. */
      keep?: true;
    }
  | NoSuch;

/** CloudWorker → Allocation: the placement is over (rule R2). */
export interface Ended {
  run: string;
  epoch: number;
  worker: string;
  how: EndedHow;
  /** Whether the host may have received the order. If not, nothing can have been started. */
  held: boolean;
  /** Why the machine was lost. Absent: it was lost without notice, or was not lost. */
  cause?: LossCause;
  /** When the placement ended, as stored by its worker. */
  at: Instant;
}
/** `interruption`: the host gave notice that its machine would be taken away. */
export type LossCause = "interruption";
export type EndedAnswer = { kind: "noted" } | NoSuch;

/**
 * The phases of a worker. The states `idle` and `running` are both `ready`: only the pool's rows distinguish
 * them (invariant 6).
 */
export type WorkerPhase = "unknown" | "booting" | "ready" | "shutdown" | "gone";
export type IdleBehavior = "run" | "hold" | "drain";
/** The price of an hour of a machine, and when the provider's first listing with that price began. */
export interface ListedPrice {
  price: number;
  since: Instant;
}

/** CloudWorker → Pool: the worker, without its occupancy, which the pool knows from its own rows. */
export interface WorkerUpsert {
  worker: string;
  version: number;
  phase: WorkerPhase;
  idleBehavior: IdleBehavior;
  instance: string | null;
  address: string | null;
  /** Where its machine is, or is wanted. Null: unknown, or there are no zones. */
  zone: string | null;
  readyAt: Instant | null;
  /** The outcome of its boot; null: none yet, or it has no machine. */
  bootOutcome: BootOutcome | null;
  /** Why it is in this phase, for people. */
  reason: string;
  /** How its latest create call, or its boot, failed. `at` distinguishes one failure from another. */
  failure: WorkerFailure | null;
  /**
   * The resources of a self-hosted machine once it has enrolled. Null for other machines: their instance
   * types determine them.
   */
  resources: Resources | null;
  /** For a provider's machine: the bytes of memory that its host has measured, once the machine is ready. */
  measuredMemory: number | null;
  /** Its usable devices, once the machine is ready. Absent: its host names none (devices.md#capacity). */
  gpus?: UsableGpus | undefined;
  /** The protocol version of its host; 0: it has reported none (compat.md#hosts). */
  protocol: number;
  /**
   * Why its host takes no containers, and whether that is so for all machines like it. Absent: it takes some,
   * or has not reported (containers.md#engines).
   */
  noEngine?: { why: string; lasts: boolean };
  /** What its machine costs now. Null: its provider lists no price, and the configured price applies. */
  listedPrice: ListedPrice | null;
  /** The worker is idle and proposes to stop: the answer says whether the pool consents. */
  wantsStop: boolean;
  /** No call can have made its machine, since every call was refused. */
  unmade: boolean;
  /** An operator has forced its end, so it waits for no listing. */
  forced: boolean;
  /** The provider call that it wants to make as soon as its turn comes. Null: none. */
  waits: CloudCall | null;
  /** Other machines that its provider lists under its name, by id. */
  doubles: string[];
  /** From when to when its machine is paid for, as far as known. Null: unknown (pool.md#prices). */
  paid: { from: Instant; until: Instant | null } | null;
  /** Why its machine could not be destroyed so far. Null: nothing is known to prevent it. */
  destroyFailure: string | null;
  /** Its calls to the provider so far, counted by outcome and duration (pool.md#histograms). */
  calls: Counts;
  /** How far its host's clock is ahead (pool.md#clock-skew). */
  clockSkewMs: Millis;
  /** As in `RunUpsert`. */
  audit?: OwedEntry[];
}
/** GPUs of a host: how many, and which kinds are among them. */
export interface Gpus {
  count: number;
  kinds: { vendor: string; model: string; memoryBytes: number }[];
}

/** GPUs that a host can use. `listed`: all that it has, also those that cannot be used. Absent: no others. */
export interface UsableGpus extends Gpus {
  listed?: Gpus;
}
/** A call that a worker makes to its provider. */
export type CloudCall = "create" | "destroy" | "find";

/** Why there is no ready machine: the provider did not make it, or its boot failed. */
export interface WorkerFailure extends Omit<ProviderFailure, "class"> {
  class: ProviderFailure["class"] | "boot";
  at: Instant;
  /** An earlier call may have made the machine: it was not refused, or its answer was lost. */
  inDoubt?: true;
}
export type WorkerUpsertAnswer = { kind: "ok"; consent: boolean } | NoSuch;

/** Pool → CloudWorker: become this machine, unless `notAfter` has passed. `kind`: where it comes from. */
export type Intent = CreateWorker | SelfHosted;

interface AnyMachine {
  worker: string;
  pool: string;
  notAfter: Instant;
  /** The parts of the pool's configuration that the worker needs. */
  settings: WorkerSettings;
}

/** A machine to be made by a provider. */
export interface CreateWorker extends AnyMachine {
  kind: "cloud";
  instanceType: string;
  type: InstanceType;
  /** Where the machine is wanted. Null: the provider chooses. */
  zone: string | null;
  provider: ProviderConfig;
  image: string;
  /** The tags that the pool's configuration adds. */
  tags: Record<string, string>;
  /**
   * A listing shows this machine under a name of the pool, but no worker owns it. The worker adopts it
   * instead of making one, and destroys it as soon as its host can no longer run anything
   * (decisions/pool.md#adoption).
   */
  adopt?: { id: string; address: string | null };
  /**
   * What else the bytes of the create call are made of. It is fixed with the intent, since clouds refuse a
   * token that comes with other bytes (clouds.md#same-bytes). Absent: as when the call is made.
   */
  frozen?: { url: string; agentSha256: string };
}

/**
 * A self-hosted machine: no provider makes, lists or destroys it. Its enrollment code is valid until
 * `notAfter`.
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
  staleRunMs: Millis;
  unlistedMs: Millis;
  maxKillMs: Millis;
}

/** Pool → CloudWorker: what a complete listing, which began at `beganAt`, shows of the worker's instance. */
export interface Sighting {
  worker: string;
  beganAt: Instant;
  /** A listing may lack the effects of calls that were made less than this long before it began. */
  consistencyMs: Millis;
  /** Absent: not in the listing. */
  instance?: Instance;
  /** Every listing that began at this time or later has omitted the instance, as far as the pool knows. */
  missingSince?: Instant;
  /** Other living machines under the same name. Absent: the listing says nothing about them. */
  doubles?: string[];
  /** The provider's present configuration: its secret may have changed since the worker was created. */
  provider: ProviderConfig;
}

export interface WorkerRef {
  worker: string;
}

/** Pool → CloudWorker: you may now make the provider call that you wanted at this version. */
export interface Turn extends WorkerRef {
  version: number;
}

/** Pool → CloudWorker: your pool is deleted by force. End at once, without waiting for a listing. */
export interface KillWorker extends WorkerRef {
  reason: string;
  by: string;
}

/** A worker answers every message of its pool with its present view. */
export type WorkerAnswer = { kind: "worker"; worker: WorkerUpsert } | NoSuch;

/** Registry → Pool: the configuration to use. */
export interface Configure {
  pool: string;
  revision: number;
  config: PoolConfig;
  /** Makes worker ids unique among all pools that ever had this name. */
  seed: string;
  /**
   * How to delete the pool. `empty`: only if it is empty. `drained`: once it is empty. `forced`: at once,
   * together with everything in it. Absent: keep the pool.
   */
  remove?: Removal;
  /** Who deletes the pool, if it is to be deleted. */
  by?: string | undefined;
}
/** How a pool is deleted. */
export type Removal = "empty" | "drained" | "forced";

/**
 * Pool → Allocation: end, since your pool is deleted by force or another run replaces you. Answered like
 * `Place`.
 */
export interface EndRun extends RunRef {
  reason: string;
  by: string;
  /** End as after an abort, with all grace. Absent: end at once. */
  graceful?: boolean;
}
export type ConfigureAnswer =
  /** `removed`: the pool is to be deleted, and nothing is left in it. */
  | {
      kind: "configured";
      revision: number;
      removed?: boolean;
      /** Machines that a forced deletion may leave behind. Absent: none. */
      left?: LeftBehind[];
    }
  | { kind: "refused"; revision: number; code: ErrorCode; text: string };
