import type { BootOutcome } from "../../messages.ts";
import type { WorkerRecord } from "../state.ts";

/**
 * What came of a machine's boot (workers.md#boot-outcomes): `success`, it was ready once; `failure`, it was
 * not in time, or said that it is broken; `aborted`, it was not wanted any more; `disappeared`, it ended by
 * itself.
 */
export function bootOutcomeOf({ bootOutcome, readyAt }: WorkerRecord): BootOutcome | undefined {
  // An earlier version stored no outcome, but when it was ready.
  return bootOutcome ?? (readyAt === null ? undefined : "success");
}

/** Reports an outcome. The first one stays; where there is no machine, there is no boot and no outcome. */
export function withBootOutcome(record: WorkerRecord, outcome: BootOutcome): WorkerRecord {
  const hasMachine = record.createdAt !== null || record.secret !== null;
  if (!hasMachine || bootOutcomeOf(record) !== undefined) return record;
  return { ...record, bootOutcome: outcome };
}
