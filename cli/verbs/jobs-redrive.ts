// `drover jobs redrive`: has parked runs of a job run again.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { EXIT } from "../errors.ts";
import { chosenParked, redriveParked } from "../jobs/redrive.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
A run that has failed for good is parked if the spec of its job says so ("retry": {"park":
true}): drover jobs show lists them, each with its reason and the number of its tries. When
the cause is gone, this has them run again, each as another run of the same job, version
and tick, with the same values. Then they are parked no more.

However often somebody redrives a parked run, it runs again once. If the
job itself was the cause, change it and start a new run: drover jobs trigger.

It needs the right to trigger the job (jobs:trigger) and to read runs. The exit code is ${EXIT.drover}
if any of the runs could not be redriven, and stderr says why.

Examples:
  drover jobs redrive nightly nightly-at-20261122t0130z
  drover jobs redrive nightly --all`;

/** `drover jobs redrive`: submits parked runs of a job again, each once (jobs.md#redrive). */
export function addJobsRedrive(jobs: Command, io: Io, exitWith: (code: number) => void): void {
  jobs
    .command("redrive")
    .summary("have parked runs of a job run again")
    .description("Runs parked runs of a job again, each once. A run is parked when it has failed for good.")
    .argument("<job>", "its name")
    .argument("[run...]", "the ids of parked runs")
    .option("-a, --all", "all parked runs of the job")
    .option("--json", "print what became of each run as JSON")
    .addHelpText("after", HELP)
    .action(async (name: string, runs: string[], flags: { all?: boolean; json?: boolean }) => {
      const which = chosenParked(name, runs, flags);
      const { client } = connect(io);
      if (!(await redriveParked(io, client, name, which, flags))) exitWith(EXIT.drover);
    });
}
