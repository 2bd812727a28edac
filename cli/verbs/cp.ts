// `drover cp`: copies files into a run, and out of it.
import type { Command } from "commander";
import { connect } from "../context.ts";
import { CliError } from "../errors.ts";
import { meantRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { printable } from "../terminal/text.ts";
import { type Remote, remoteIn } from "../tunnel/place.ts";

const HELP = `
A path in a run begins with the run's id and a colon. It starts in the directory of the
task, unless it begins with a slash. What is copied keeps its modes and times, and is at
its place only once all of it is there. If the place is a directory, it goes into it.

The machine needs tar. The token needs the scope runs:exec.

Examples:
  drover cp build-17:report.html .
  drover cp build-17:/var/log/app logs
  drover cp fixtures build-17:data`;

/** `drover cp`: copies a file or a directory between this machine and a run. */
export function addCp(program: Command, io: Io): void {
  program
    .command("cp")
    .summary("copy files into a run, or out of it")
    .description("Copies a file or a directory into a run that runs, or out of it.")
    .argument("<from>", "a path here, or <run>:<path>")
    .argument("<to>", "a path here, or <run>:<path>")
    .option("--task <name>", "the task (default: the one that gives the run its result)")
    .addHelpText("after", HELP)
    .action(async (from: string, to: string, { task }: { task?: string }) => {
      const [source, target] = [remoteIn(from), remoteIn(to)];
      if ((source === undefined) === (target === undefined)) throw unclear(from, to);
      const { client } = connect(io);
      const { copyFromRun, copyToRun } = await import("../tunnel/copy.ts");
      const inRun = async ({ run, remote }: Remote) => {
        return { run: await meantRun({ io, client, changes: true }, run), remote, task };
      };
      if (source !== undefined) await copyFromRun(io, client, { ...(await inRun(source)), local: to });
      if (target !== undefined) await copyToRun(io, client, { ...(await inRun(target)), local: from });
    });
}

function unclear(from: string, to: string): CliError {
  return new CliError(`Either ${printable(from)} or ${printable(to)} must be in a run, and not both.`, [
    "Write a path in a run as <run>:<path>, and a path here with a colon as ./a:b",
  ]);
}
