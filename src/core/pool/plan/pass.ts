// What a plan is, and the walk along the queue that it comes from.
import type { Resources } from "../../../schema/common.ts";
import type { InstanceType, PoolConfig } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { ReadonlyRows } from "../../rows.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import type { Packing } from "./packing.ts";

/** An instance type that can be asked for, and what an empty machine of it has. */
export interface Offer {
  name: string;
  type: InstanceType;
  room: Resources & { shared: boolean };
}

/** Why no machine may be asked for now. Of a hold-off: what it is about, until when, and why. */
export interface Blocked {
  code: "no_workers" | "max_instances" | "hold_off" | "machine_asked";
  scope?: string;
  /** Absent: something else than time must change. */
  until?: Instant;
  reason?: string;
}

/** What stands between a plan and the provider. A plan that asks for a machine counts it here. */
export interface Gate {
  /** Why no machine of this instance type may be asked for now; null: one may. */
  why(type: string): Blocked | null;
  /**
   * Which machines of ours would make room for one of this type by leaving, since as many are there as may
   * be, by our own limit or by a quota of the provider; null: that is not what stands in the way.
   */
  filledBy(type: string): ((row: WorkerRow) => boolean) | null;
  /** Counts a machine of this type that is asked for. */
  take(type: string): void;
  /** How many machines there are or may be, with those that were asked for by this plan. */
  instances(): number;
}

/** Why a run that waits was not placed (rules.md#invariant-5). */
export type WaitCode =
  | Blocked["code"]
  | "machine_booting"
  | "own_machine"
  | "agent_too_old"
  | "less_memory"
  | "no_type";

/**
 * Why a run waits, the machine that it waits for, if one is known, and what kind is asked for. What stands in
 * the way of the cheapest machine that would hold it is told as the gate has it.
 */
export interface Wait extends Omit<Blocked, "code"> {
  code: WaitCode;
  worker?: string;
  type?: string;
}

/** What a plan says of one run: where it goes; or why it waits, and of which type a machine is asked for. */
export type Verdict = { worker: string } | { wait: Wait; create?: string };

export interface Plan {
  places: { run: RunRow; worker: string }[];
  /** Instance types to ask machines of. */
  creates: string[];
  /** By run: why it waits. */
  waits: Map<string, Wait>;
  /**
   * The first run that nothing has room for, and the machine that is kept from those behind it; null: room
   * for it comes without one. `leaves`: the machine could never hold the run; it ends once it is idle, so
   * that one may be asked for that can.
   */
  reserved: { run: string; worker: string | null; leaves?: true } | null;
  /** The pass that this came from, with what is left of each machine. */
  pass: Pass;
}

/** Whether a machine would make room by leaving. */
export type MayLeave = (row: WorkerRow) => boolean;

/** One walk along the queue. What it has promised stays promised for whoever comes later in the queue. */
export interface Pass {
  config: PoolConfig;
  workers: ReadonlyRows<WorkerRow>;
  readonly packing: Packing;
  gate: Gate;
  offers: Offer[];
  /** What the types should have that turned out to have less memory. */
  disappointing: Offer[];
  reserved: Plan["reserved"];
  /** Whether one of these machines leaves already: that makes room. */
  isLeft: (mayLeave: MayLeave) => boolean;
  /** By worker: the machines of ours that fill the quota in spite of which its machine is tried. */
  tried: Map<string, MayLeave>;
  /** Types for which no machine of ours can make room: it was looked for. */
  roomless: Set<string>;
  /** The last run that room which is still to come was promised to: one behind it takes none of that away. */
  promised: RunRow | null;
  /** The workers on which such room is, with those that were asked for after this pass. */
  awaited: Set<string>;
  asked: boolean;
}
