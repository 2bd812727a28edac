// What is a plan, and what does one walk along the queue remember?
import type { Resources } from "../../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { ReadonlyRows } from "../../rows.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { Refusals } from "./alike.ts";
import type { Held, Limits } from "./limits.ts";
import type { Packing } from "./packing.ts";
import type { Reasons } from "./reasons.ts";

/** A kind of machine that can be requested: a type, in a zone. */
export interface Offer {
  /** The name of the type; that of a twin is its own (clouds.md#twins). */
  name: string;
  type: InstanceType;
  /** Null: the provider chooses. */
  zone: string | null;
  /** The room of an empty machine. */
  room: Resources & { shared: boolean };
  /** Why such machines take no containers. Absent: they are believed to. */
  noEngine?: string;
  isProvided: true;
}

/** Why no machine can be created now. For a hold-off, also its scope, end and reason. */
export interface Blocked {
  code: "no_workers" | "max_instances" | "hold_off" | "machine_asked";
  scope?: string;
  /** When the hold-off ends. Absent: it does not end at a known time. */
  until?: Instant;
  reason?: string;
}

/** The limits on creating machines. `take` counts the machines that a plan creates. */
export interface Gate {
  /** Why no machine of this kind can be created now. Null: a machine can be created. */
  why(offer: Offer): Blocked | null;
  /**
   * If `maxInstances` or a quota of the provider is reached: selects the machines that make room for a
   * machine of this kind by leaving. Null: neither limit is reached, or something else also prevents the
   * creation.
   */
  filledBy(offer: Offer): ((row: WorkerRow) => boolean) | null;
  /** Counts a machine of this kind that the plan creates. */
  take(offer: Offer): void;
}

/** Why a waiting run was not placed (rules.md#invariant-5). */
export type WaitCode =
  | Blocked["code"]
  | "machine_booting"
  | "self_hosted_only"
  | "agent_too_old"
  | "no_engine"
  | "less_memory"
  | "fewer_gpus"
  | "no_type"
  | "project_not_served"
  | "project_quota"
  | "max_parallel"
  | "concurrency_key"
  | "replacing"
  | "replaced"
  | "array_failed"
  | "budget";

/**
 * Why a run waits, and the machine or the type that it waits for, if known. If no machine can be created,
 * this is the reason of the cheapest type that could hold the run.
 */
export interface Wait extends Omit<Blocked, "code"> {
  code: WaitCode;
  worker?: string;
  /** The run whose end it awaits, or that replaces it. */
  run?: string;
  type?: string;
  /** The limit that holds the run back, if one does. */
  held?: Held;
}

/** The result for one run: its worker; or why it waits, and the machine to create for it. */
export type Verdict = { worker: string } | { wait: Wait; create?: Offer };

export interface Plan {
  /** The runs that it decides on, in their order (pool.md#round-robin). */
  queue: readonly RunRow[];
  places: { run: RunRow; worker: string }[];
  /** The machines to create. */
  creates: Offer[];
  reasons: Reasons<Wait>;
  /** Why each run waits, for readers. */
  readonly waits: Map<string, Wait>;
  /**
   * The first run that found no room, and the worker reserved for it (null: no existing worker is reserved).
   * `evict`: this worker's machine could never hold the run. The machine stops when it is idle, so that
   * another machine can be created.
   */
  reserved: { run: string; worker: string | null; evict?: true } | null;
  /** The pass that made this plan, with the free room of each machine. */
  pass: Pass;
}

/** Whether a machine makes room by leaving. */
export type MayLeave = (row: WorkerRow) => boolean;

/** One walk along the queue. What the walk has reserved stays reserved while further runs arrive. */
export interface Pass {
  config: PoolConfig;
  workers: ReadonlyRows<WorkerRow>;
  readonly packing: Packing;
  /** What projects and payers may use. */
  limits: Limits;
  /** The run whose end a run awaits before it may take its place. */
  toOutlive: (run: RunRow) => RunRow | undefined;
  /** Why a run is to end with its array. Undefined: it may go on. */
  endsWithArray: (run: RunRow) => string | undefined;
  gate: Gate;
  offers: Offer[];
  /** The types whose machines have less than advertised, with their advertised resources. */
  undersized: Offer[];
  reserved: Plan["reserved"];
  /** Whether any machine that makes room by leaving is already leaving. */
  isAnyLeaving: (mayLeave: MayLeave) => boolean;
  /** For each worker whose machine is tried despite a quota: the machines that fill that quota. */
  tried: Map<string, MayLeave>;
  /** When the pass was made. */
  now: Instant;
  /** Kinds of machines, and projects (`of ml`), for which no machine can make room. */
  roomless: Set<string>;
  /** The last run in the queue that has reserved room. Runs behind it cannot take that room. */
  lastReserved: RunRow | null;
  /** The workers with reserved room, and the workers that the plan creates. */
  awaited: Set<string>;
  /** Whether the plan creates a machine. */
  asked: boolean;
  /** Whether concurrency keys take turns in the queue (pool.md#round-robin). */
  takesTurns: boolean;
  /** How often the walk has placed a run, or reserved or requested anything. */
  step: number;
  /**
   * Runs submitted until then have waited so long that dearer machines may be requested for them. Infinite:
   * there are none, so the age of a run does not count.
   */
  impatientUntil: Instant;
  /** Why runs were refused, by whether they have waited so long. */
  refusals: { patient: Refusals<Wait>; impatient: Refusals<Wait> };
}
