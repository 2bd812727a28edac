// What is a worker doing? Its shown state, its reason and its next action all follow from the answer.
import type { WorkerStateName } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { WorkerPhase } from "../../messages.ts";
import { isUnmade } from "../life/deadlines.ts";
import { isSilent } from "../placements.ts";
import { isSelfHosted, livePlacements, type ReadonlyExistingWorker } from "../state.ts";

/** What a worker is doing (workers.md#states). */
export type WorkerActivity =
  /** Its machine is still to be created. `isDeferred`: a create call failed, and another call will follow. */
  | { kind: "asked"; isDeferred: boolean }
  | { kind: "booting" }
  /** Self-hosted: it waits for a machine to use its code, or for the first report of its host. */
  | { kind: "invited" | "enrolled" }
  | { kind: "idle" }
  | { kind: "running"; runs: number }
  /** It was ready, but its host is silent. */
  | { kind: "silent" }
  /** The worker was created for a machine that a listing showed and no worker owned. */
  | { kind: "adopted" }
  | { kind: "destroying" }
  /** Self-hosted: its agent was told to end. */
  | { kind: "releasing" }
  | { kind: "gone" };

/** What a worker is doing at `now`. */
export function activityOf(state: ReadonlyExistingWorker, now: Instant): WorkerActivity {
  const { record } = state;
  switch (record.phase) {
    case "booting":
      if (isSelfHosted(record)) return { kind: record.secret === null ? "invited" : "enrolled" };
      return isUnmade(state) ? { kind: "asked", isDeferred: record.failure !== null } : { kind: "booting" };
    case "ready": {
      if (isSilent(state, now)) return { kind: "silent" };
      const runs = livePlacements(state).length;
      return runs > 0 ? { kind: "running", runs } : { kind: "idle" };
    }
    case "unknown":
      return { kind: "adopted" };
    case "shutdown":
      return { kind: isSelfHosted(record) ? "releasing" : "destroying" };
    case "gone":
      return { kind: "gone" };
  }
}

/** The shown state of a worker (workers.md#states). */
export function stateOf({ kind }: WorkerActivity): WorkerStateName {
  switch (kind) {
    case "asked":
    case "booting":
    case "invited":
    case "enrolled":
      return "booting";
    case "idle":
    case "running":
    case "gone":
      return kind;
    case "silent":
    case "adopted":
      return "unknown";
    case "destroying":
    case "releasing":
      return "shutdown";
  }
}

/** The shown state according to a pool's row, in which a silent worker has the phase `unknown`. */
export function shownState(phase: WorkerPhase | "asked", runs: number): WorkerStateName {
  if (phase === "ready") return runs > 0 ? "running" : "idle";
  return phase === "asked" ? "booting" : phase;
}
