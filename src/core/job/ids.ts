// Which ids do the runs of a job have, so that whoever makes one twice finds it again (jobs.md#ids)?
import { nameIn } from "../../shared/access/project.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";

/** The id of a job's object: its name, after its project unless that is `default`. */
export function jobIdOf({ project, name }: { project: string; name: string }): string {
  return nameIn(project, name, ".");
}

/** The id of the run of a tick: `nightly-at-20261122t0130z`. Ticks are whole minutes. */
export function tickRunId(project: string, job: string, tick: Instant): string {
  const digits = iso(tick).slice(0, 16).replaceAll(/[-:]/g, "").toLowerCase();
  return nameIn(project, `${job}-at-${digits}z`, ".");
}

/** The id of the run that somebody has triggered with a key of their own. */
export function triggeredRunId(project: string, job: string, key: string): string {
  return nameIn(project, `${job}-by-${key}`, ".");
}
