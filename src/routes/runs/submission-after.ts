// Do the runs exist that others are to follow (api.md#after)?
import type { Objects } from "../../objects/rpc.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import type { Submitter } from "../access/caller.ts";
import { MAX_FIELD_ERRORS } from "../http/invalid.ts";
import { inParallel } from "../http/parallel.ts";
import { hasCode } from "../http/problem.ts";
import type { Candidate } from "./submission.ts";
import { ofNewRuns, storedBefore } from "./submission-snapshots.ts";

/** An entry of `after`. */
interface AfterField {
  id: string;
  pointer: string;
  candidate: Candidate;
}

/**
 * Throws `unknown_run` if a run is to follow one that does not exist for the caller, or no longer: nobody
 * could say how that one has ended. So runs cannot wait for each other in a circle. A run that exists already
 * is not refused, even if the run that it followed was deleted since: a repeated request must find it.
 */
export async function checkAfter(
  objects: Objects,
  candidates: readonly Candidate[],
  { batch, ...who }: Submitter & { batch: boolean },
): Promise<void> {
  const fields = candidates.flatMap((candidate, index) =>
    (candidate.spec.after ?? []).map((id, at): AfterField => {
      return { id, pointer: `${batch ? `/runs/${index}` : ""}/after/${at}`, candidate };
    }),
  );
  const refused = await ofNewRuns(objects, await withoutRun(objects, fields));
  if (refused.length === 0) return;
  const named = refused.slice(0, MAX_FIELD_ERRORS).map(({ id, pointer }): FieldError => {
    return { pointer, detail: `names run "${id}", which does not exist, or no longer: submit it first` };
  });
  const stored = await storedBefore(objects, candidates, who);
  throw new DroverError("unknown_run", `${named[0]?.pointer} ${named[0]?.detail}`, {
    fields: named,
    extra: { runs: [...new Set(refused.map(({ id }) => id))], ...(stored.length === 0 ? {} : { stored }) },
  });
}

/** The fields whose run does not exist. Each run is asked once, even if several fields name it. */
async function withoutRun(objects: Objects, fields: readonly AfterField[]): Promise<AfterField[]> {
  const ids = [...new Set(fields.map(({ id }) => id))];
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
  return fields.filter(({ id }) => missing.has(id));
}
