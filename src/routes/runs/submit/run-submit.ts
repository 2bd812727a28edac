// The route that submits runs: one or many, each exactly once (api.md#submitting).
import { z } from "zod";
import type { Objects } from "../../../objects/rpc.ts";
import { RunBatch, RunStatus, Submission } from "../../../schema/run/run.ts";
import type { RunSpec } from "../../../schema/run/run-spec.ts";
import { DroverError, type FieldError } from "../../../shared/errors.ts";
import { type Caller, projectOf, type Submitter, submitterOf } from "../../access/caller.ts";
import type { EdgeApp } from "../../edge.ts";
import { MAX_FIELD_ERRORS } from "../../http/invalid.ts";
import { inParallel } from "../../http/parallel.ts";
import { asDroverError } from "../../http/problem.ts";
import { withRunsOfJobs } from "../../jobs/submission-jobs.ts";
import { operation } from "../../openapi/operation.ts";
import { IdempotencyKey, jsonAnswer, jsonBody } from "../../openapi/params.ts";
import { refuseHidden } from "../../walls/hidden-values.ts";
import { beyond, idsOf, limitsRuns, refuseSecrets, withinLimits } from "../../walls/run-limits.ts";
import { submitOne } from "./stored-runs.ts";
import { type Candidate, candidates } from "./submission.ts";
import { checkAfter, orderOf } from "./submission-after.ts";
import { checkSecrets } from "./submission-secrets.ts";
import { checkSnapshots } from "./submission-snapshots.ts";

/** Lazy, so that the library does not merge the forms of both answers into a single list. */
const SubmitAnswer = z.union([RunBatch, z.lazy(() => RunStatus)]);

const submit = operation({
  method: "post",
  path: "/v1/runs",
  operationId: "submitRuns",
  access: "runs:write",
  tag: "Runs",
  codes: [
    "run_exists",
    "idempotency_mismatch",
    "expired_run",
    "unknown_pool",
    "unknown_run",
    "unknown_job",
    "unknown_snapshot",
    "unknown_secret",
    "no_bucket",
    "pool_draining",
    "project_full",
    "concurrency_held",
    "concurrency_full",
    "unsatisfiable",
    "host_paths_not_allowed",
    "fake_driver_not_allowed",
    "container_not_allowed",
    "busy",
    "not_acknowledged",
  ],
  summary: "Submit one run, or up to 1,000",
  description:
    "When this answers, the run is durable and queued. A batch is validated as a whole; if only a part " +
    "could be stored, the answer is 503, and the same request with the same key completes it.",
  request: {
    headers: z.object({
      "idempotency-key": IdempotencyKey.optional().meta({
        description: "the same key with the same body finds the same runs again",
      }),
    }),
    body: jsonBody(Submission),
  },
  responses: {
    200: jsonAnswer("it existed already", SubmitAnswer, ["Idempotency-Replayed"]),
    201: jsonAnswer("it is stored; for one run, `Location` is its path", SubmitAnswer, ["Location"]),
  },
});

/** The outcome of one run of a submission. */
type Stored = { created: boolean; status: RunStatus };
type Outcome = Stored | Refused | undefined;
/** `fields`: those of the body to which the error refers. Absent: the run as a whole. */
type Refused = { error: ReturnType<typeof asDroverError>; fields?: FieldError[] | undefined };

/** Adds the route that submits runs (api.md#submitting). */
export function submitRoutes(app: EdgeApp): void {
  app.openapi(submit, async (c) => {
    const body = c.req.valid("json");
    const raw = await c.req.json();
    const batch = "runs" in body;
    const key = c.req.valid("header")["idempotency-key"];
    const specs = (batch ? body.runs : [body]).map((spec) => withFullIds(spec, c.var.caller));
    refuseBeyond(specs, c.var.caller, batch);
    const made = await candidates({
      specs,
      raw: batch ? raw.runs : [raw],
      batch,
      key: key === undefined ? undefined : keyOf(key, c.var.caller),
      project: projectOf(c.var.caller),
      now: c.env.now(),
    });
    const who = submitterOf(c.var.caller);
    const runs = await withRunsOfJobs(c.var.objects, made, { batch, ...who });
    const waves = orderOf(runs, { batch, keyed: key !== undefined });
    await checkSnapshots(c.var.objects, runs, { batch, ...who });
    await checkSecrets(c.var.objects, runs, { batch, ...who });
    await checkAfter(c.var.objects, runs, { batch, ...who });
    const stored = await store(c.var.objects, runs, { keyed: key !== undefined, batch, waves, who });
    const [first] = stored;
    const answer =
      batch || first === undefined ? { items: stored.map(({ status }) => status) } : first.status;
    if (stored.some(({ created }) => created)) {
      if ("id" in answer) c.header("Location", `/v1/runs/${answer.id}`);
      return c.json(answer, 201);
    }
    c.header("Idempotency-Replayed", "true");
    return c.json(answer, 200);
  });
}

/** The spec with the full ids of the runs that it follows (projects.md#runs). */
function withFullIds(spec: RunSpec, caller: Caller): RunSpec {
  if (spec.after === undefined) return spec;
  const full = (run: string) => idsOf(caller, [run])[0] ?? run;
  const after = spec.after.map((one) => {
    if (typeof one === "string") return full(one);
    return "run" in one ? { ...one, run: full(one.run) } : one;
  });
  return { ...spec, after };
}

/** Throws if any of the specs is beyond the caller's limits, before one is stored (access.md#limits). */
function refuseBeyond(specs: readonly RunSpec[], caller: Caller, batch: boolean): void {
  refuseChosenIds(specs, caller, batch);
  for (const [index, spec] of specs.entries()) {
    const pointer = batch ? `/runs/${index}` : "";
    refuseHidden(spec, pointer);
    withinLimits(spec, caller.limits, pointer);
    refuseSecrets(spec, caller, pointer);
  }
}

/** Ids that nobody guesses: made by time and chance, as Drover and its client do, with an index in arrays. */
const MADE_BY_CHANCE = /^(?:[^.]+\.)?r[0-9a-z]{19,}(?:-\d{1,4})?$/;

/**
 * Throws `beyond_limits` if a token whose limits hide runs chooses an id that can be guessed: the answer
 * would tell whether a hidden run has this id, or belongs to this array (access.md#ids).
 */
function refuseChosenIds(specs: readonly RunSpec[], { limits }: Caller, batch: boolean): void {
  if (!limitsRuns(limits)) return;
  const isGuessable = (id: string | undefined) => id !== undefined && !MADE_BY_CHANCE.test(id);
  const index = specs.findIndex(({ id, array }) => isGuessable(id) || isGuessable(array?.id));
  if (index < 0) return;
  const field = isGuessable(specs[index]?.id) ? "id" : "array/id";
  const detail =
    "cannot be a name with this token, which is limited to some runs: leave it out, or let the client " +
    "choose it";
  throw beyond(`${batch ? `/runs/${index}` : ""}/${field}`, detail);
}

/**
 * The key by which a repetition is recognized. A token whose limits hide runs has keys of its own
 * (access.md#ids).
 */
function keyOf(key: string, { limits, token }: Caller): string {
  return limitsRuns(limits) ? `${token} ${key}` : key;
}

/**
 * Stores all runs, or throws an error that says which runs are stored. A wave is stored once all runs of the
 * wave before it are: no run exists before what it follows (api.md#after). The first run is submitted alone,
 * for two reasons. If the request has a key, this run carries the hash of the whole body, so a different body
 * with the same key stores nothing. And a refusal of it usually applies to the other runs, too.
 */
async function store(
  objects: Objects,
  runs: readonly Candidate[],
  how: { keyed: boolean; batch: boolean; waves: readonly (readonly number[])[]; who: Submitter },
): Promise<Stored[]> {
  let refused = false;
  const submit = async (run: Candidate): Promise<Outcome> => {
    if (refused) return undefined;
    try {
      return await submitOne(objects, run, how.who);
    } catch (cause) {
      const error = how.keyed ? asMismatch(asDroverError(cause)) : asDroverError(cause);
      if (error.code === "internal") throw cause;
      if (!error.temporary || error.code === "busy") refused = true;
      return { error, fields: cause === run.refusal ? error.fields : undefined };
    }
  };
  const outcomes = new Array<Outcome>(runs.length).fill(undefined);
  const [first = [], ...others] = how.waves;
  for (const wave of [first.slice(0, 1), first.slice(1), ...others]) {
    await inParallel(wave, async (index) => {
      const run = runs[index];
      if (run !== undefined) outcomes[index] = await submit(run);
    });
    refused ||= wave.some((index) => !isStored(outcomes[index]));
  }
  const stored = outcomes.filter(isStored);
  if (stored.length === runs.length) return stored;
  const repeatable = how.keyed || runs.every(({ spec }) => spec.id !== undefined);
  throw how.batch ? batchError(outcomes, stored, repeatable) : onlyError(outcomes);
}

function isStored(outcome: Outcome): outcome is Stored {
  return outcome !== undefined && "status" in outcome;
}

/** Drover derives ids from a key, so a clash of ids means a different body under the same key. */
function asMismatch(error: ReturnType<typeof asDroverError>): ReturnType<typeof asDroverError> {
  if (error.code !== "run_exists") return error;
  return new DroverError(
    "idempotency_mismatch",
    "this Idempotency-Key was used before with another body; use a new key for a new submission",
  );
}

function onlyError(outcomes: readonly Outcome[]): unknown {
  const [only] = outcomes;
  return only !== undefined && "error" in only ? only.error : undefined;
}

/** The runs that are in the way of a batch, and those of it that are stored. */
function extraOf(
  cause: ReturnType<typeof asDroverError> | undefined,
  stored: readonly Stored[],
): Pick<DroverError, "extra"> {
  const runs = cause?.extra?.runs;
  const extra = {
    ...(runs === undefined ? {} : { runs }),
    ...(stored.length === 0 ? {} : { stored: stored.map(({ status }) => status.id) }),
  };
  return Object.keys(extra).length === 0 ? {} : { extra };
}

/**
 * The error for a batch that is not completely stored. The error has the code of the first final error. If
 * all errors are temporary, it has the code of the first error if no run is stored, and 503 if some runs are
 * stored. `stored` names the runs that exist.
 */
function batchError(
  outcomes: readonly Outcome[],
  stored: readonly Stored[],
  repeatable: boolean,
): DroverError {
  const fields: FieldError[] = [];
  const errors = outcomes.flatMap((one, index) => {
    if (one === undefined || !("error" in one)) return [];
    fields.push(...(one.fields ?? [{ pointer: `/runs/${index}`, detail: one.error.message }]));
    return [one.error];
  });
  const cause = errors.find((error) => !error.temporary) ?? errors[0];
  const code =
    cause === undefined || (stored.length > 0 && cause.temporary) ? "not_acknowledged" : cause.code;
  const why = cause?.message ?? "";
  const count = `${stored.length} of ${outcomes.length} runs are stored`;
  const advice =
    cause?.temporary !== false && repeatable
      ? "the same request completes it"
      : "the runs in `stored` will run; submit only the others again";
  return new DroverError(code, stored.length === 0 ? why : `${count}; ${why}; ${advice}`, {
    fields: fields.slice(0, MAX_FIELD_ERRORS),
    ...(cause?.retryAfterMs === undefined ? {} : { retryAfterMs: cause.retryAfterMs }),
    ...extraOf(cause, stored),
  });
}
