// Which invariants must every step of a worker keep?
import type { Invariant } from "../../shared/machine.ts";
import { grows, ofRecord, ofRows } from "../invariants.ts";
import type { WorkerPhase } from "../messages.ts";
import { livePlacements, type WorkerRecord, type WorkerState } from "./state.ts";

/** The rank of each phase. A worker never returns to a lower rank, unless its machine is listed again. */
const ORDER: Record<WorkerPhase, number> = { booting: 0, unknown: 0, ready: 1, shutdown: 2, gone: 3 };

const ofWorker = ofRecord<WorkerRecord>;
const placements = (state: WorkerState) => state.placements;

/** The invariants of a worker, for `check` (shell.md#assertions). */
export const workerInvariants: readonly Invariant<WorkerState>[] = [
  {
    rule: "rules.md#invariant-3",
    broken: ({ record: before }, { record: after }) =>
      before !== null && after?.intent.worker !== before.intent.worker ? "its intent is lost" : undefined,
  },
  ofWorker("workers.md#transitions", (before, after) => {
    const isListedAgain = before.phase === "gone" && after.phase === "shutdown" && after.instance !== null;
    return ORDER[after.phase] < ORDER[before.phase] && !isListedAgain
      ? `it is ${after.phase} after it was ${before.phase}`
      : undefined;
  }),
  ofWorker("rules.md#r1", grows("version")),
  ofWorker("rules.md#r4", grows("leaseUntil")),
  {
    rule: "rules.md#invariant-4",
    broken({ record: before }, after, now) {
      const { record } = after;
      if (before === null || record?.phase !== "shutdown" || ORDER[before.phase] >= ORDER.shutdown)
        return undefined;
      // A drained worker may still have attempts that its host cannot kill (workers.md#t15).
      const isMeant = record.killedBy !== null || record.idleBehavior === "drain";
      const [row] = isMeant || now >= record.leaseUntil ? [] : livePlacements(after);
      return row && `it is destroyed with ${row.run} on it before its lease ends at ${record.leaseUntil}`;
    },
  },
  ofRows("rules.md#r2", placements, (before, { state, end }) =>
    before?.end && (before.end.how !== end?.how || before.end.held !== end.held)
      ? `it had ended ${before.end.how}, and is ${state} ${end?.how ?? ""}`
      : undefined,
  ),
  ofRows("rules.md#r2", placements, (_before, { state, order, end }) =>
    (state === "live") === (order === null) || (state === "ended") === (end === null)
      ? `it is ${state} with ${order === null ? "no" : "an"} order and ${end?.how ?? "no end"}`
      : undefined,
  ),
  ofRows("rules.md#r1", placements, grows("revision")),
];
