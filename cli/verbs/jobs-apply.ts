// `drover jobs apply`: stores the jobs that files describe.
import type { Command } from "commander";
import type { ApplyFlags } from "../jobs/apply.ts";
import { path } from "../options.ts";
import type { Io } from "../terminal/io.ts";

const HELP = `
A file is JSON: a job, or a list of jobs. Each has a \`name\`, and the fields that
\`PUT /v1/jobs/{name}\` takes: what it runs as \`spec\`, \`params\`, \`schedule\` and so on.
Fields that it omits get their defaults. With \`"paused": true\` a job skips its ticks; with
false it is resumed. A \`-\` reads standard input.

Before anything is stored, this shows what differs and the next ten ticks. At a terminal
it asks; elsewhere it stores only with --yes. A job that has these fields already stays
as it is, so the same files can be applied at any time.

Examples:
  drover jobs apply nightly.json
  drover jobs apply --dry-run jobs/*.json
  drover jobs apply --yes nightly.json`;

/** `drover jobs apply`: creates jobs, or makes other versions of them. */
export function addJobsApply(jobs: Command, io: Io): void {
  jobs
    .command("apply")
    .summary("store the jobs that files describe")
    .description("Creates jobs, or changes them to what files say, after it has shown what that means.")
    .argument("<file...>", "the files, or - for standard input", paths)
    .option("--dry-run", "only show what would be done")
    .option("--yes", "store them without a question")
    .option("--json", "print JSON: the differences and the next ticks of each job, and whether it was stored")
    .addHelpText("after", HELP)
    .action(async (files: string[], flags: ApplyFlags) => {
      // Loaded on demand: few verbs check what the server checks.
      const { applyJobs } = await import("../jobs/apply.ts");
      await applyJobs(io, files, flags);
    });
}

function paths(text: string, before: string[] = []): string[] {
  return [...before, path(text)];
}
