// Do the snapshots that a submission names exist?

import type { Objects, SnapshotStore } from "../../../objects/rpc.ts";
import { DroverError, type FieldError } from "../../../shared/errors.ts";
import { MAX_SUBMITTED_SNAPSHOTS } from "../../../shared/limits.ts";
import type { Submitter } from "../../access/caller.ts";
import { invalid, MAX_FIELD_ERRORS } from "../../http/invalid.ts";
import { inParallel } from "../../http/parallel.ts";
import { ofNewRuns, storedBefore } from "./stored-runs.ts";
import type { Candidate } from "./submission.ts";

/** A field of a submission that names a snapshot. */
interface SnapshotField {
  id: string;
  pointer: string;
  candidate: Candidate;
}

/**
 * Throws `unknown_snapshot` if a named snapshot is missing, and `no_bucket` if snapshots or outputs are used
 * without a bucket: otherwise the run would fail later, on a machine. A run that already exists is not
 * refused, even if its snapshot has been deleted since: a repeated request must find the run.
 */
export async function checkSnapshots(
  objects: Objects,
  candidates: readonly Candidate[],
  { batch, ...who }: Submitter & { batch: boolean },
): Promise<void> {
  const fields = candidates.flatMap((candidate, index) => namesIn(candidate, batch ? `/runs/${index}` : ""));
  refuseTooMany(fields);
  if (fields.length === 0 && candidates.every(({ spec }) => spec.outputs === undefined)) return;
  const store = objects.snapshots();
  await store.ready();
  const refused = await ofNewRuns(objects, await withoutSnapshot(store, fields));
  if (refused.length > 0) throw unknown(refused, await storedBefore(objects, candidates, who));
}

/** Limits the snapshots of a submission: each costs a lookup in the bucket. */
function refuseTooMany(fields: readonly SnapshotField[]): void {
  const ids = new Set<string>();
  for (const { id, pointer } of fields) {
    ids.add(id);
    if (ids.size <= MAX_SUBMITTED_SNAPSHOTS) continue;
    throw invalid([
      { pointer, detail: `is too many: a submission can name at most ${MAX_SUBMITTED_SNAPSHOTS} snapshots` },
    ]);
  }
}

function namesIn(candidate: Candidate, at: string): SnapshotField[] {
  const { snapshot, tasks = [] } = candidate.spec;
  const fields = [
    { id: snapshot, pointer: `${at}/snapshot` },
    ...tasks.map((task, index) => ({ id: task.snapshot, pointer: `${at}/tasks/${index}/snapshot` })),
  ];
  return fields.flatMap(({ id, pointer }) => (id === undefined ? [] : [{ id, pointer, candidate }]));
}

/** The fields whose snapshot is missing. Each snapshot is looked up once, even if several fields name it. */
async function withoutSnapshot(
  store: SnapshotStore,
  fields: readonly SnapshotField[],
): Promise<SnapshotField[]> {
  const ids = [...new Set(fields.map(({ id }) => id))];
  const sizes = await inParallel(ids, (id) => store.size(id));
  const missing = new Set(ids.filter((_, index) => sizes[index] === null));
  return fields.filter(({ id }) => missing.has(id));
}

function unknown(refused: readonly SnapshotField[], stored: string[]): DroverError {
  const fields = refused.slice(0, MAX_FIELD_ERRORS).map(({ id, pointer }): FieldError => {
    return { pointer, detail: `names ${id}, which does not exist: upload it first` };
  });
  const [first] = fields;
  return new DroverError("unknown_snapshot", `${first?.pointer} ${first?.detail}`, {
    fields,
    ...(stored.length === 0 ? {} : { extra: { stored } }),
  });
}
