// Of which job is a run, and which tick or trigger has made it (jobs.md#labels)?
import type { RunStatus } from "../../../src/generated/api.ts";
import { nameIn } from "../../../src/shared/access/project.ts";
import { JOB_LABELS } from "../../../src/shared/jobs/labels.ts";
import { Moment, utc } from "../../parts/time.tsx";
import { itemHref } from "../../router/place.ts";

/** The facts about the job of a run; nothing for a run that somebody has submitted by itself. */
export function OfJob({ run: { labels, project } }: { run: Pick<RunStatus, "labels" | "project"> }) {
  const { [JOB_LABELS.job]: job, [JOB_LABELS.version]: version, [JOB_LABELS.tick]: tick } = labels;
  if (job === undefined) return null;
  return (
    <>
      <dt>Job</dt>
      <dd>
        <a href={itemHref("jobs", nameIn(project, job, "/"))}>{job}</a>
        {version !== undefined && `, version ${version}`}
      </dd>
      <dt>Tick</dt>
      <dd>
        {tick === undefined ? (
          "none: it was triggered"
        ) : (
          <>
            {utc(tick)}, <Moment at={tick} />
          </>
        )}
      </dd>
    </>
  );
}
