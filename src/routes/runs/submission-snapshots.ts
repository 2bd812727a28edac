import type { Objects, SnapshotStore } from "../../objects/rpc.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import { MAX_SUBMITTED_SNAPSHOTS } from "../../shared/limits.ts";
import { invalid, MAX_FIELD_ERRORS } from "../http/invalid.ts";
import { inParallel } from "../http/parallel.ts";
import { hasCode } from "../http/problem.ts";
import type { Candidate } from "./submission.ts";

/** A field of a submission that names a snapshot. */
interface Named {
  id: string;
  pointer: string;
  candidate: Candidate;
}

/**
 * Throws `unknown_snapshot` for what names a snapshot that is not there, and `no_bucket` for what needs one
 * where there are none: better now than on a machine. A run that exists already is not refused: the same
 * request finds it again, also when its snapshot has been deleted since.
 */
export async function checkSnapshots(
  objects: Objects,
  wanted: readonly Candidate[],
  batch: boolean,
): Promise<void> {
  const named = wanted.flatMap((candidate, index) => namesIn(candidate, batch ? `/runs/${index}` : ""));
  refuseTooMany(named);
  if (named.length === 0 && wanted.every(({ spec }) => spec.outputs === undefined)) return;
  const store = objects.snapshots();
  await store.ready();
  const missing = await withoutSnapshot(store, named);
  const runs = [...new Set(missing.map(({ candidate }) => candidate))];
  const there = await inParallel(runs, (run) => exists(objects, run));
  const stored = new Set(runs.filter((_, index) => there[index]));
  const refused = missing.filter(({ candidate }) => !stored.has(candidate));
  if (refused.length > 0) throw unknown(refused, await storedBefore(objects, wanted));
}

/** The runs that this very submission has stored before: to submit what there is finds it, and adds none. */
async function storedBefore(objects: Objects, wanted: readonly Candidate[]): Promise<string[]> {
  const found = await inParallel(wanted, async (candidate) => {
    const { id, spec, hash } = candidate;
    if (!(await exists(objects, candidate))) return [];
    try {
      await objects.allocation(id).submit({ spec, hash });
      return [id];
    } catch (error) {
      if (hasCode(error, "run_exists") || hasCode(error, "expired_run")) return [];
      throw error;
    }
  });
  return found.flat();
}

/** Each is a look into the bucket, of which one request has a bounded number. */
function refuseTooMany(named: readonly Named[]): void {
  const ids = new Set<string>();
  for (const { id, pointer } of named) {
    ids.add(id);
    if (ids.size <= MAX_SUBMITTED_SNAPSHOTS) continue;
    throw invalid([
      { pointer, detail: `is one more than ${MAX_SUBMITTED_SNAPSHOTS} snapshots in a submission` },
    ]);
  }
}

function namesIn(candidate: Candidate, at: string): Named[] {
  const { snapshot, tasks = [] } = candidate.spec;
  const fields = [
    { id: snapshot, pointer: `${at}/snapshot` },
    ...tasks.map((task, index) => ({ id: task.snapshot, pointer: `${at}/tasks/${index}/snapshot` })),
  ];
  return fields.flatMap(({ id, pointer }) => (id === undefined ? [] : [{ id, pointer, candidate }]));
}

/** Each snapshot is looked for once, however many name it. */
async function withoutSnapshot(store: SnapshotStore, named: readonly Named[]): Promise<Named[]> {
  const ids = [...new Set(named.map(({ id }) => id))];
  const sizes = await inParallel(ids, (id) => store.size(id));
  const missing = new Set(ids.filter((_, index) => sizes[index] === null));
  return named.filter(({ id }) => missing.has(id));
}

/** Whether there is, or was, such a run: then its object knows what to answer. */
async function exists(objects: Objects, { id, fresh }: Candidate): Promise<boolean> {
  if (fresh) return false;
  try {
    await objects.allocation(id).read();
    return true;
  } catch (error) {
    if (hasCode(error, "unknown_run")) return false;
    if (hasCode(error, "expired_run")) return true;
    throw error;
  }
}

function unknown(refused: readonly Named[], stored: string[]): DroverError {
  const fields = refused.slice(0, MAX_FIELD_ERRORS).map(({ id, pointer }): FieldError => {
    return { pointer, detail: `names ${id}, which is not there: upload it first` };
  });
  const [first] = fields;
  return new DroverError("unknown_snapshot", `${first?.pointer} ${first?.detail}`, {
    fields,
    ...(stored.length === 0 ? {} : { extra: { stored } }),
  });
}
