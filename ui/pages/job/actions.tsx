// What can a reader do about a job (jobs.md#the-job)?
import type { Job, RunStatus } from "../../../src/generated/api.ts";
import { callOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { ticksOf } from "../../parts/acts/given.ts";
import { droverOf } from "../../parts/as-text.ts";
import { go, itemHref } from "../../router/place.ts";
import { ValueFields } from "./value-fields.tsx";
import { flagsFor, requestOf } from "./values.ts";

/** The actions that fit the state of the job. `again` asks for the job anew. */
export function actionsOf(job: Job, again: () => void): Action[] {
  return [
    triggerOf(job),
    ...(job.paused !== null ? [resumptionOf(job, again)] : []),
    ...(job.paused === null && job.schedule ? [pauseOf(job, again)] : []),
    removalOf(job),
  ];
}

function triggerOf(job: Job): Action {
  const { name, version, paused } = job;
  return {
    verb: "Trigger",
    question: `Trigger ${name}?`,
    effect:
      `A run of version ${version} is submitted now, with these values.` +
      `${paused === null ? "" : " The job stays paused."}`,
    ends: false,
    scope: "jobs:trigger",
    fields: <ValueFields job={job} />,
    call: (given) => callOf("triggerJob", { path: { name }, body: requestOf(job, given) }),
    drover: (given) => droverOf("jobs", "trigger", name, ...flagsFor(requestOf(job, given))),
    async done(response, ending) {
      // The answer is made by the schema of this route.
      const { id } = (await response.json()) as RunStatus;
      ending.throwIfAborted();
      go(itemHref("runs", id));
    },
  };
}

function pauseOf({ name }: Job, again: () => void): Action {
  return {
    verb: "Pause",
    question: `Pause ${name}?`,
    effect:
      "Its ticks are skipped until it is resumed. Runs that are there go on, and it can still be triggered.",
    ends: true,
    scope: "jobs:write",
    call: () => callOf("pauseJob", { path: { name } }, { repeatable: true }),
    drover: droverOf("jobs", "pause", name),
    done: again,
  };
}

function resumptionOf({ name, schedule }: Job, again: () => void): Action {
  const makesUp = (given: FormData) => ticksOf(given, "makeUp").length > 0;
  return {
    verb: "Resume",
    question: `Resume ${name}?`,
    effect: "It runs at its next tick again. The ticks of the pause stay skipped, unless they are made up.",
    ends: false,
    scope: "jobs:write",
    fields: schedule && (
      <p>
        <label>
          <input type="checkbox" name="makeUp" value="1" /> Make up its ticks: missed ones are{" "}
          {schedule.missed}, for {schedule.catchUp}
        </label>
      </p>
    ),
    call: (given) =>
      callOf(
        "resumeJob",
        { path: { name }, body: makesUp(given) ? { makeUp: true } : {} },
        { repeatable: true },
      ),
    drover: (given) => droverOf("jobs", "resume", name, ...(makesUp(given) ? ["--make-up"] : [])),
    done: again,
  };
}

function removalOf({ name, waiting }: Job): Action {
  const count = waiting.length;
  return {
    verb: "Remove",
    question: `Remove ${name} for good?`,
    effect:
      "Its versions and what is known of its ticks are gone. Its runs stay, and end as they would." +
      `${count === 0 ? "" : ` Ticks that wait get no run: ${count}.`}`,
    ends: true,
    scope: "jobs:write",
    call: () => callOf("deleteJob", { path: { name } }),
    drover: droverOf("jobs", "rm", name),
    done: () => go("/ui/jobs"),
  };
}
