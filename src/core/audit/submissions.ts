// Which entry of the audit log follows from the row of a run (audit.md#submissions)?
import type { RunRow } from "../pool/record.ts";
import type { NewEntry } from "./entry.ts";
import { viaField } from "./via.ts";

/** The entry of a run's submission. It is stored nowhere, since the row of the run says all of it. */
export function submissionOf(
  { run, project, submittedAt, by, via }: Pick<RunRow, "run" | "project" | "submittedAt" | "by" | "via">,
  pool: string,
) {
  const entry: NewEntry = {
    at: submittedAt,
    by,
    action: "run.submit",
    target: { kind: "run", id: run },
    pool,
    run,
    project,
    result: "ok",
    ...viaField({ via }),
  };
  return entry;
}
