// How does a parked run run again, once, whoever asks for it and however often (retry.md#redrive)?
import { idOfKey, sha256 } from "../access/key-ids.ts";
import { runIdIn } from "../access/project.ts";
import { DroverError, isDroverError } from "../errors.ts";
import { JOB_LABELS, overlapKey } from "../jobs/labels.ts";

/** What of a spec is different when it is submitted again. */
interface SpecFields {
  id?: string | undefined;
  after?: unknown;
  array?: { failAt?: unknown } | undefined;
  concurrency?: { key: string } | undefined;
  labels?: Record<string, string> | undefined;
  retry?: { park: boolean } | undefined;
  rerunOf?: string | undefined;
}

/** What of a run's status says whether and as what it runs again. */
interface RunFields<Spec> {
  id: string;
  project: string;
  state: string;
  submittedAt: string;
  spec: Spec;
  parked?: unknown;
  redriven?: { run: string } | undefined;
}

/** A run to submit, and the id and the hash by which whoever submits it finds it again. */
export interface RedrivenRun<Spec> {
  id: string;
  hash: string;
  spec: Spec;
}

/** Whom a redrive calls. `Who`: who has the run run again. */
export interface CalledForRedrive<Spec, Run, Who> {
  allocation(run: string): {
    read(): Promise<Run>;
    submit(
      request: Who & { spec: Spec; hash: string; project: string },
    ): Promise<{ created: boolean; status: Run }>;
    redrive(request: Who & { run: string }): Promise<unknown>;
  };
}

/**
 * The run that repeats a parked one: its spec, and an id that follows from the parked run alone
 * (retry.md#redrive). It follows no other run, since who has it run again wants it to start; and it is not
 * ended with its array for what has failed before (`failAt`), nor does `overlap` of a job count for it.
 */
export async function redrivenRun<Spec extends SpecFields>({
  id: rerunOf,
  spec,
  submittedAt,
  project,
}: Pick<RunFields<Spec>, "id" | "spec" | "submittedAt" | "project">): Promise<RedrivenRun<Spec>> {
  const { id: _id, after: _after, array, concurrency, ...same } = spec;
  const { failAt: _failAt, ...place } = array ?? {};
  const key = `redrive ${rerunOf} ${submittedAt}`;
  const id = runIdIn(project, await idOfKey(key, 0));
  const again = {
    ...same,
    ...(array === undefined ? {} : { array: place }),
    ...(concurrency === undefined || isOfOverlap(spec) ? {} : { concurrency }),
    rerunOf,
    // The fields that are left out are optional, and those that stay are the spec's own.
  } as unknown as Spec;
  return { id, hash: await sha256(key), spec: again };
}

/** Whether `overlap` of a job has given the run its key, and not the author of its spec. */
function isOfOverlap({ concurrency, labels }: SpecFields): boolean {
  const job = labels?.[JOB_LABELS.job];
  return job !== undefined && concurrency?.key === overlapKey(job);
}

/**
 * Has a parked run run again, or finds the run that repeats it (retry.md#redrive). The run comes first, and
 * the note in the parked one after it: whoever dies in between is repeated by the next, who finds the same
 * run. `check` may throw for the run that is to be submitted. Throws `not_parked`, and what a submission
 * throws.
 */
export async function redriveRun<
  Spec extends SpecFields,
  Run extends RunFields<Spec>,
  Who extends { by: string },
>(
  peers: CalledForRedrive<Spec, Run, Who>,
  parked: Run,
  who: Who,
  check: (run: RedrivenRun<Spec>) => Promise<void> = async () => undefined,
): Promise<{ created: boolean; status: Run }> {
  if (parked.redriven !== undefined)
    return { created: false, status: await peers.allocation(parked.redriven.run).read() };
  if (parked.parked === undefined) throw notParked(parked);
  const run = await redrivenRun(parked);
  await check(run);
  const { id, hash, spec } = run;
  const note = () => peers.allocation(parked.id).redrive({ ...who, run: id });
  const request = { ...who, spec, hash, project: parked.project };
  const { created, status } = await peers
    .allocation(id)
    .submit(request)
    .catch(async (error) => {
      // It was made, has ended and was forgotten before anybody could note it.
      if (isDroverError(error) && error.code === "expired_run") await note();
      throw error;
    });
  await note();
  return { created, status };
}

function notParked({ id, state, spec }: RunFields<SpecFields>): DroverError {
  const why =
    spec.retry?.park === true
      ? `it is ${state}`
      : "its spec does not have `retry.park`, so it never is; submit it again instead (`drover rerun`)";
  return new DroverError("not_parked", `the run "${id}" is not parked: ${why}`);
}
