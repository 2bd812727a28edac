// What does a question about many runs know, and how far is what it asks about?
import { type Signal, signal } from "@preact/signals";
import type { Progress } from "./each.ts";
import type { Found } from "./gathered.ts";

/** A stop lets those end that are on their way. */
type Phase = "asked" | "running" | "stopping" | "stopped" | "over";

/** All that the question shows, each time it is opened. */
export interface BulkState {
  /** How many runs have been read so far. */
  read: Signal<number>;
  /** Undefined until the selected runs have been read. */
  found: Signal<Found | undefined>;
  error: Signal<unknown>;
  phase: Signal<Phase>;
  progress: Signal<Progress>;
}

const NOTHING: Progress = { done: 0, of: 0, failed: [] };

/** The state before anything is read. */
export function stateOf(): BulkState {
  return {
    read: signal(0),
    found: signal<Found | undefined>(undefined),
    error: signal<unknown>(undefined),
    phase: signal<Phase>("asked"),
    progress: signal(NOTHING),
  };
}
