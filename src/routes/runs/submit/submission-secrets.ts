// Do the secrets that a submission names exist?

import type { Objects } from "../../../objects/rpc.ts";
import { howToSet } from "../../../shared/access/secret-use.ts";
import { DroverError } from "../../../shared/errors.ts";
import type { Submitter } from "../../access/caller.ts";
import { MAX_FIELD_ERRORS } from "../../http/invalid.ts";
import { secretsIn } from "../../walls/run-limits.ts";
import { ofNewRuns, storedBefore } from "./stored-runs.ts";
import type { Candidate } from "./submission.ts";

/**
 * Throws `unknown_secret` if a named secret does not exist: otherwise the run would fail later, on a machine.
 * Submissions without secrets ask nobody. As with snapshots, a run that already exists is not refused.
 */
export async function checkSecrets(
  objects: Objects,
  candidates: readonly Candidate[],
  { batch, ...who }: Submitter & { batch: boolean },
): Promise<void> {
  const fields = candidates.flatMap((candidate, index) =>
    secretsIn(candidate.spec, batch ? `/runs/${index}` : "").map((field) => ({ ...field, candidate })),
  );
  if (fields.length === 0) return;
  const names = [...new Set(fields.map(({ secret }) => secret))];
  const missing = new Set(await objects.registry().missingSecrets(who.project, names));
  const unknown = fields.filter(({ secret }) => missing.has(secret));
  const refused = await ofNewRuns(objects, unknown);
  if (refused.length === 0) return;
  const stored = await storedBefore(objects, candidates, who);
  const details = refused.slice(0, MAX_FIELD_ERRORS).map(({ secret, pointer }) => ({
    pointer,
    detail: `names the secret "${secret}", and no secret for runs has this name: ${howToSet(secret, "run")}`,
  }));
  throw new DroverError("unknown_secret", `${details[0]?.pointer} ${details[0]?.detail}`, {
    fields: details,
    ...(stored.length === 0 ? {} : { extra: { stored } }),
  });
}
