// Which runs of a submission are stored, and how is one stored or found?
import type { AllocationApi, Objects } from "../../../objects/rpc.ts";
import { PAST } from "../../../shared/machine.ts";
import type { Submitter } from "../../access/caller.ts";
import { inParallel } from "../../http/parallel.ts";
import { hasCode } from "../../http/problem.ts";
import type { Candidate } from "./submission.ts";

/**
 * Stores a run, or finds it. A run that must not be made is only found: if it does not exist, its `refusal`
 * is thrown. Else rejects as a submission does.
 */
export async function submitOne(
  objects: Objects,
  candidate: Candidate,
  who: Submitter,
): ReturnType<AllocationApi["submit"]> {
  const { id, spec, hash, refusal } = candidate;
  if (refusal === undefined) return objects.allocation(id).submit({ spec, hash, ...who });
  try {
    return await findOne(objects, candidate, who);
  } catch (error) {
    throw hasCode(error, "unknown_run") ? refusal : error;
  }
}

/** Finds a run as its submission does, and never makes it: without it rejects with `unknown_run`. */
function findOne(objects: Objects, { id, spec, hash }: Candidate, who: Submitter) {
  return objects.allocation(id).submit({ spec, hash, ...who, notAfter: PAST });
}

/** The fields of runs that do not exist yet. */
export async function ofNewRuns<Field extends { candidate: Candidate }>(
  objects: Objects,
  fields: readonly Field[],
): Promise<Field[]> {
  const runs = [...new Set(fields.map(({ candidate }) => candidate))];
  const there = await inParallel(runs, (run) => exists(objects, run));
  const stored = new Set(runs.filter((_, index) => there[index]));
  return fields.filter(({ candidate }) => !stored.has(candidate));
}

/** What a submission is told that has not stored the run: it is not there, is another one, or is deleted. */
const NOT_STORED = ["unknown_run", "run_exists", "expired_run"] as const;

/** The runs that an earlier try of this submission has stored. None is made. */
export async function storedBefore(
  objects: Objects,
  candidates: readonly Candidate[],
  who: Submitter,
): Promise<string[]> {
  const found = await inParallel(candidates, async (candidate) => {
    if (candidate.fresh) return [];
    try {
      await findOne(objects, candidate, who);
      return [candidate.id];
    } catch (error) {
      if (NOT_STORED.some((code) => hasCode(error, code))) return [];
      throw error;
    }
  });
  return found.flat();
}

/** Whether the run exists or has been deleted. In both cases, its object decides what to answer. */
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
