// Do the runs and arrays exist that others are to follow (api.md#after)?
import type { Objects } from "../../../objects/rpc.ts";
import { projectOfRun } from "../../../shared/access/project.ts";
import { type BatchOrder, batchOrder } from "../../../shared/after/batch-order.ts";
import { arraysIn, runOf } from "../../../shared/after/entries.ts";
import { DroverError, type FieldError } from "../../../shared/errors.ts";
import { RUN_STATES } from "../../../shared/run-state.ts";
import type { Submitter } from "../../access/caller.ts";
import { invalid, MAX_FIELD_ERRORS } from "../../http/invalid.ts";
import { inParallel } from "../../http/parallel.ts";
import { hasCode } from "../../http/problem.ts";
import { ofNewRuns, storedBefore } from "./stored-runs.ts";
import type { Candidate } from "./submission.ts";

/** An entry of `after` that names a run or an array. */
interface AfterField {
  run: string | undefined;
  array: string | undefined;
  pointer: string;
  candidate: Candidate;
}

/** The runs of a page of a pool's list. */
const PAGE_RUNS = 1_000;

/**
 * In which order the runs of a submission are stored. Throws `invalid_request` if runs of it follow each
 * other in a circle, and spells the circle out. It also refuses a batch with a key whose first run follows
 * others of it: the first run is stored first, since it tells another body under the same key.
 */
export function orderOf(
  candidates: readonly Candidate[],
  { batch, keyed }: { batch: boolean; keyed: boolean },
): number[][] {
  const order: BatchOrder = batchOrder(candidates.map(({ id, spec }) => ({ ...spec, id })));
  if ("waves" in order) {
    if (!keyed || order.waves[0]?.includes(0) === true) return order.waves;
    const detail = "names what comes later in this request: with an Idempotency-Key put that before it";
    throw invalid([{ pointer: "/runs/0/after", detail }]);
  }
  const at = candidates.findIndex(({ id }) => order.circle.includes(id));
  const detail =
    `makes runs wait for each other in a circle: ${order.circle.join(" after ")}; ` +
    "leave one of these entries out";
  throw invalid([{ pointer: `${batch ? `/runs/${at}` : ""}/after`, detail }]);
}

/**
 * Throws `unknown_run` if a run is to follow a run or an array that does not exist for the caller, or no
 * longer, and is not of the same submission: nobody could say how that one has ended. So runs cannot wait
 * for each other in a circle. A run that exists already is not refused, even if what it followed was deleted
 * since: a repeated request must find it.
 */
export async function checkAfter(
  objects: Objects,
  candidates: readonly Candidate[],
  { batch, ...who }: Submitter & { batch: boolean },
): Promise<void> {
  const own = new Set(candidates.map(({ id }) => id));
  const fields = candidates.flatMap((candidate, index) =>
    (candidate.spec.after ?? []).map((one, at): AfterField => {
      const pointer = `${batch ? `/runs/${index}` : ""}/after/${at}`;
      return { run: runOf(one), array: arraysIn([one])[0]?.array, pointer, candidate };
    }),
  );
  const refused = await ofNewRuns(objects, [
    ...(await withoutRun(
      objects,
      fields.filter(({ run }) => run !== undefined && !own.has(run)),
    )),
    ...(await withoutArray(objects, candidates, fields)),
  ]);
  if (refused.length === 0) return;
  const named = refused.slice(0, MAX_FIELD_ERRORS).map(
    ({ pointer, run, array, detail }): FieldError => ({
      pointer,
      detail: detail ?? `names ${run === undefined ? `array "${array}"` : `run "${run}"`}, ${NOT_THERE}`,
    }),
  );
  const runs = [...new Set(refused.flatMap(({ run }) => run ?? []))];
  const stored = await storedBefore(objects, candidates, who);
  throw new DroverError("unknown_run", `${named[0]?.pointer} ${named[0]?.detail}`, {
    fields: named,
    extra: { runs, ...(stored.length === 0 ? {} : { stored }) },
  });
}

const NOT_THERE = "which does not exist, or no longer: submit it first, or in the same request";

type Refused = AfterField & { detail?: string };

/** The fields whose run does not exist. Each run is asked once, even if several fields name it. */
async function withoutRun(objects: Objects, fields: readonly AfterField[]): Promise<Refused[]> {
  const ids = [...new Set(fields.flatMap(({ run }) => run ?? []))];
  const there = await inParallel(ids, async (id) => {
    try {
      await objects.allocation(id).read();
      return true;
    } catch (error) {
      if (hasCode(error, "unknown_run") || hasCode(error, "expired_run")) return false;
      throw error;
    }
  });
  const missing = new Set(ids.filter((_, index) => !there[index]));
  return fields.filter(({ run }) => missing.has(run ?? ""));
}

/** The fields whose array has not all its runs, with how many it has. Each array is looked for once. */
async function withoutArray(
  objects: Objects,
  candidates: readonly Candidate[],
  fields: readonly AfterField[],
): Promise<Refused[]> {
  const found = new Map<string, Promise<{ has: number; size: number }>>();
  const checked = fields.map(async (field): Promise<Refused[]> => {
    const { array, candidate } = field;
    if (array === undefined) return [];
    const { pool } = candidate.spec;
    const project = projectOfRun(candidate.id);
    const key = `${pool} ${array}`;
    const look = found.get(key) ?? foundOf(objects, candidates, { pool, project, array });
    found.set(key, look);
    const { has, size } = await look;
    if (size > 0 && has >= size) return [];
    const detail =
      size === 0
        ? `has no run: submit it first, or in the same request`
        : `has ${has} of ${size} runs: submit the others first, or in the same request`;
    return [{ ...field, detail: `names array "${array}", of which pool "${pool}" ${detail}` }];
  });
  return (await Promise.all(checked)).flat();
}

/** How many runs of an array there are, in its pool and in this submission, and how many it is to have. */
async function foundOf(
  objects: Objects,
  candidates: readonly Candidate[],
  { pool, project, array }: { pool: string; project: string; array: string },
): Promise<{ has: number; size: number }> {
  const indices = new Set<number>();
  let size = 0;
  for (const { spec } of candidates) {
    if (spec.pool !== pool || spec.array?.id !== array) continue;
    indices.add(spec.array.index);
    size = spec.array.size;
  }
  let cursor: string | undefined;
  while (size === 0 || indices.size < size) {
    const filter = { states: [...RUN_STATES], labels: {}, project, array };
    const page = await objects
      .pool(pool)
      .list(filter, { limit: PAGE_RUNS, ...(cursor === undefined ? {} : { cursor }) });
    for (const run of page.items) {
      if (run.array === undefined) continue;
      indices.add(run.array.index);
      size = Math.max(size, run.array.size);
    }
    if (page.next === null) break;
    cursor = page.next;
  }
  return { has: indices.size, size };
}
