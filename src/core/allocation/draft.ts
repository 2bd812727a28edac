// How does one step change a run? The rules of the step change a draft, one statement after the other. The
// final draft is the next state.
import { MAX_RUN_EVENTS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { RunEventType } from "./read/events.ts";
import {
  type AllocationMemo,
  type AllocationRecord,
  type AllocationState,
  type Existing,
  exists,
  type LogSegment,
  openPlacement,
  type PlacementRecord,
  type TaskRecord,
} from "./state.ts";
import { type GroupView, groupView } from "./tasks/tasks.ts";

/** What an event is about. */
interface About {
  task?: string | undefined;
  details?: Record<string, string>;
}

/**
 * A run while one step changes it, at one instant. A draft lives only during its step, and no code outside
 * the step sees it. Records are immutable: a rule that changes something replaces `record`, so comparing
 * references shows whether anything has changed.
 */
export class RunDraft {
  readonly now: Instant;
  #state: Existing;

  constructor(state: Existing, now: Instant) {
    this.#state = state;
    this.now = now;
  }

  /** The state as changed so far. */
  get state(): Existing {
    return this.#state;
  }

  get record(): AllocationRecord {
    return this.#state.record;
  }

  get memo(): AllocationMemo {
    return this.#state.memo;
  }

  /** The group of the present record, as the rules of groups see it. */
  get view(): GroupView {
    return groupView(this.record);
  }

  /** The open placement, whether it is stored or not. */
  get placement(): PlacementRecord | null {
    return openPlacement(this.#state);
  }

  isPlaced(): this is PlacedRun {
    return this.placement !== null;
  }

  /** A separate draft of the run as it is now, to try changes on. */
  trial(): this {
    return new RunDraft(this.#state, this.now) as this; // a placed run stays placed
  }

  /** Changes the record, unless it has all of this already: what changes nothing has no row and no entry. */
  set(change: Partial<AllocationRecord>): void {
    const keys = Object.keys(change) as (keyof AllocationRecord)[]; // `change` has only such keys
    if (keys.every((key) => this.record[key] === change[key])) return;
    this.#state = { ...this.#state, record: { ...this.record, ...change } };
  }

  /** Changes the record of one task. */
  changeTask({ name }: { name: string }, change: Partial<TaskRecord>): void {
    this.set({ tasks: this.record.tasks.map((one) => (one.name === name ? { ...one, ...change } : one)) });
  }

  /** Changes the memo, which is not stored. */
  remember(change: Partial<AllocationMemo>): void {
    this.#state = { ...this.#state, memo: { ...this.memo, ...change } };
  }

  /**
   * Adds an event to the history. Keeps the latest `MAX_RUN_EVENTS` events, and counts the dropped events.
   */
  note(type: RunEventType, at: Instant, message: string, { task, details = {} }: About = {}): void {
    const { events, eventsDropped } = this.record;
    const seq = (events.at(-1)?.seq ?? 0) + 1;
    const all = [...events, { seq, type, at: iso(at), task: task ?? null, message, details }];
    const excess = Math.max(0, all.length - MAX_RUN_EVENTS);
    this.set({ events: all.slice(excess), eventsDropped: eventsDropped + excess });
  }

  /** Adds log segments that the store writes as rows. */
  spill(segments: LogSegment[]): void {
    if (segments.length > 0) this.#state = { ...this.#state, spill: [...this.#state.spill, ...segments] };
  }
}

/** A run with an open placement. */
export type PlacedRun = RunDraft & { readonly placement: PlacementRecord };

/** The state after `step` has changed its run. Without a run, nothing changes. */
export function changed(
  state: AllocationState,
  now: Instant,
  step: (run: RunDraft) => void,
): AllocationState {
  if (!exists(state)) return state;
  const run = new RunDraft(state, now);
  step(run);
  return run.state;
}
