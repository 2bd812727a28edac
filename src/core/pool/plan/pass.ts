// What is a plan, and what does one walk along the queue remember?
import type { Resources } from "../../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { ReadonlyRows } from "../../rows.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { Packing } from "./packing.ts";

/** An instance type that can be created, and what an empty machine of it has. */
export interface Offer {
  name: string;
  type: InstanceType;
  room: Resources & { shared: boolean };
}

/** Why no machine can be created now. For a hold-off its scope, end and reason. */
export interface Blocked {
  code: "no_workers" | "max_instances" | "hold_off" | "machine_asked";
  scope?: string;
  /** Absent: it does not end by time. */
  until?: Instant;
  reason?: string;
}

/** What limits the creation of machines. A plan counts the machines that it creates here. */
export interface Gate {
  /** Why no machine of this type can be created now; null: one can. */
  why(type: string): Blocked | null;
  /**
   * Which machines make room for one of this type by leaving, if our limit or a quota of the provider is
   * reached; null: neither is.
   */
  filledBy(type: string): ((row: WorkerRow) => boolean) | null;
  /** Counts a machine of this type that the plan creates. */
  take(type: string): void;
  /** The number of machines that may exist, with those that the plan creates. */
  instances(): number;
}

/** Why a waiting run was not placed (rules.md#invariant-5). */
export type WaitCode =
  | Blocked["code"]
  | "machine_booting"
  | "self_hosted_only"
  | "agent_too_old"
  | "less_memory"
  | "no_type";

/**
 * Why a run waits, with the machine or the type that it waits for, if known. The reason is that of the
 * cheapest type that could hold it.
 */
export interface Wait extends Omit<Blocked, "code"> {
  code: WaitCode;
  worker?: string;
  type?: string;
}

/** The result for one run: its worker, or why it waits and of which type a machine is created for it. */
export type Verdict = { worker: string } | { wait: Wait; create?: string };

export interface Plan {
  places: { run: RunRow; worker: string }[];
  /** Instance types of which machines are created. */
  creates: string[];
  /** By run: why it waits. */
  waits: Map<string, Wait>;
  /**
   * The first run without room, and the machine reserved for it (null: it needs none). `evict`: the machine
   * could never hold the run; it stops once it is idle, so that another one can be created.
   */
  reserved: { run: string; worker: string | null; evict?: true } | null;
  /** The pass that made this plan, with the free room of each machine. */
  pass: Pass;
}

/** Whether a machine makes room by leaving. */
export type MayLeave = (row: WorkerRow) => boolean;

/** One walk along the queue. Room that it has reserved stays reserved for runs that come later. */
export interface Pass {
  config: PoolConfig;
  workers: ReadonlyRows<WorkerRow>;
  readonly packing: Packing;
  gate: Gate;
  offers: Offer[];
  /** The advertised resources of types whose machines have less memory. */
  undersized: Offer[];
  reserved: Plan["reserved"];
  /** Whether one of these machines is already leaving. */
  isAnyLeaving: (mayLeave: MayLeave) => boolean;
  /** By worker whose machine is tried despite a quota: the machines that fill that quota. */
  tried: Map<string, MayLeave>;
  /** Types for which no machine can make room. */
  roomless: Set<string>;
  /** The last run with room reserved on a machine that is not ready. Runs behind it cannot take that room. */
  lastReserved: RunRow | null;
  /** The workers with reserved room, and those created after this pass. */
  awaited: Set<string>;
  asked: boolean;
}
