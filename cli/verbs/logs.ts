// `drover logs`: shows the output of a run.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { LogSelection } from "../../client/runs/logs.ts";
import { connect } from "../context.ts";
import { sayLimits } from "../log-limits.ts";
import { type Tail, tail } from "../options.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

interface LogsFlags {
  follow?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tail?: Tail;
  task: string;
  attempt?: string;
}

const HELP = `
Bytes are copied as they were written: stdout to stdout, stderr to stderr.
Each stream keeps its order; there is no order between the two.

Examples:
  drover logs build-17
  drover logs -f build-17
  drover logs --tail 100 build-17
  drover logs --stderr --tail 4KiB build-17
  drover logs --attempt 1.1 build-17`;

/** `drover logs`: copies the output of a run. */
export function addLogs(program: Command, io: Io): void {
  program
    .command("logs")
    .summary("show the output of a run")
    .description("Shows what a run has written.")
    .argument("<run>", RUN_TEXT)
    .option("-f, --follow", "keep copying until the run has written its last byte")
    .option("--stdout", "only what it wrote to stdout")
    .option("--stderr", "only what it wrote to stderr")
    .option("-n, --tail <lines>", "only the end of each stream: a line count, or a size such as 64KiB", tail)
    .option("--task <name>", "the task of the run (default: main)", "main")
    .option("--attempt <name>", "one attempt, as `drover status` names it, such as 1.2 (default: the latest)")
    .addHelpText("after", HELP)
    .action(async (text: string, flags: LogsFlags) => {
      await copy(io, connect(io).client, text, flags);
    });
}

async function copy(io: Io, client: Client, text: string, flags: LogsFlags): Promise<void> {
  // Make a short request first. Otherwise an unreachable server or an unknown run would be reported only
  // after the long retries of a stream.
  const { id } = await withRun({ io, client }, text, (run) => client.runs.get(run));
  const both = flags.stdout === flags.stderr;
  const streams = (["stdout", "stderr"] as const).filter((stream) => both || flags[stream]);
  const { follow, task, attempt } = flags;
  await Promise.all(
    streams.map(async (stream) => {
      const options: LogSelection = { task, stream, follow, attempt, ...flags.tail };
      for await (const bytes of client.runs.logs(id, options)) await io[stream].write(bytes);
    }),
  );
  await sayLimits(io, await client.runs.get(id), task, streams);
}
