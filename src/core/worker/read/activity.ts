// What is a worker doing? It is derived here alone: its shown state, its reason and what it does next are
// each a switch over it.
import type { WorkerState as ShownState } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { WorkerPhase } from "../../messages.ts";
import { isUnmade } from "../life/deadlines.ts";
import { isSilent } from "../placements.ts";
import { isSelfHosted, livePlacements, type ReadonlyLiving } from "../state.ts";

/** What a worker is doing (workers.md#states). */
export type WorkerActivity =
  /** Its machine is asked for. `isDeferred`: that has failed, and is tried again. */
  | { kind: "asked"; isDeferred: boolean }
  | { kind: "booting" }
  /** Self-hosted: its code waits for a machine, and then its host for its first report. */
  | { kind: "invited" | "enrolled" }
  | { kind: "idle" }
  | { kind: "running"; runs: number }
  /** It was ready, and its host says nothing. */
  | { kind: "silent" }
  /** A listing shows its machine, of which nobody knew. */
  | { kind: "adopted" }
  | { kind: "destroying" }
  /** Self-hosted: its agent is told to end. */
  | { kind: "let_go" }
  | { kind: "gone" };

/** What a worker is doing at `now`. */
export function activityOf(state: ReadonlyLiving, now: Instant): WorkerActivity {
  const { record } = state;
  switch (record.phase) {
    case "booting":
      if (isSelfHosted(record)) return { kind: record.secret === null ? "invited" : "enrolled" };
      return isUnmade(state)
        ? { kind: "asked", isDeferred: record.failure !== undefined }
        : { kind: "booting" };
    case "ready": {
      if (isSilent(state, now)) return { kind: "silent" };
      const runs = livePlacements(state).length;
      return runs > 0 ? { kind: "running", runs } : { kind: "idle" };
    }
    case "unknown":
      return { kind: "adopted" };
    case "shutdown":
      return { kind: isSelfHosted(record) ? "let_go" : "destroying" };
    case "gone":
      return { kind: "gone" };
  }
}

/** The state of a worker as everybody knows it (workers.md#states). */
export function stateOf({ kind }: WorkerActivity): ShownState {
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
    case "let_go":
      return "shutdown";
  }
}

/** The same by what a pool knows: the phase that it was told, in which a silent host is `unknown`. */
export function shownState(phase: WorkerPhase | "asked", runs: number): ShownState {
  if (phase === "ready") return runs > 0 ? "running" : "idle";
  return phase === "asked" ? "booting" : phase;
}
