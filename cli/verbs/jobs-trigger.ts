// `drover jobs trigger`: runs a job now, or the ticks of a time that is over.
import type { Command } from "commander";
import { instant } from "../jobs/given.ts";
import { type TriggerFlags, triggerJob } from "../jobs/trigger.ts";
import { pair, path, wholeNumber } from "../options.ts";
import { moment } from "../output/moment.ts";
import { onInterrupt } from "../run/on-interrupt.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
One run is followed like drover run, with its exit code. A parameter is a value, and is
never executed: it arrives byte for byte. drover jobs show says which there are.

The same --key finds the same run again, so a script can repeat this safely. Without it
each call makes a run. A tick has one run: --tick makes the run of a tick that was
skipped, and finds that of a tick which has one.

With --since it triggers each tick from then on and before --until, and prints the ids of
their runs. It asks first how many; --yes answers that. It can be repeated: ticks that
have a run keep it. All of them are triggered at once, unless --max-parallel says how
many may run at the same time: then it waits for all of them, and the exit code is that
of the first tick whose run did not end with 0. Times are durations back from now such
as 2h, times of day, or instants such as 2026-11-01T00:00:00Z.

Examples:
  drover jobs trigger release --param version=1.2.3 --param dry=true
  drover jobs trigger import --payload rows.json --meta customer=7 --detach
  drover jobs trigger deploy --key "$CI_PIPELINE_ID"
  drover jobs trigger nightly --tick 2026-11-22T02:30:00+01:00
  drover jobs trigger nightly --since 30d --max-parallel 2`;

const MAX_PARALLEL = 100;

/** `drover jobs trigger`: makes a run of a job (jobs.md#trigger). */
export function addJobsTrigger(jobs: Command, io: Io, exitWith: (code: number) => void): void {
  jobs
    .command("trigger")
    .summary("run a job now, or run its ticks of a time that is over")
    .description("Runs a job now with these values, and shows its output; or runs its earlier ticks.")
    .argument("<job>", "its name")
    .option("--param <name=value>", "the value of a parameter (repeatable)", pair)
    .option("--meta <key=value>", "a value of `meta` (repeatable)", pair)
    .option("--payload <file>", "a file that the run gets; - is standard input", path)
    .option("--key <key>", "part of the run's id: the same key finds the same run again")
    .option("--tick <instant>", "the run of this tick of its schedule", instant)
    .option("--since <time>", "all ticks from this time on", moment)
    .option("--until <time>", "with --since: before this time (default: now)", moment)
    .option(
      "--max-parallel <number>",
      "with --since: run at most this many of them at once",
      wholeNumber(1, MAX_PARALLEL),
    )
    .option("--yes", "with --since: ask nothing")
    .option("--priority <number>", "1 to 100, higher first (default: that of the job)", wholeNumber(1, 100))
    .option("-d, --detach", "print the run's id and exit")
    .option("-q, --quiet", "show only the output of the run, and exit with its exit code")
    .option("--on-interrupt <what>", "abort or detach: what Ctrl-C means, instead of a question", onInterrupt)
    .option("--json", "print the final status, or with --since the list of runs, as JSON")
    .addHelpText("after", HELP)
    .action(async (name: string, flags: TriggerFlags) => exitWith(await triggerJob(io, name, flags)));
}
