// `drover logs`: shows the output of a run.
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { connect } from "../context.ts";
import { forEachOf } from "../each.ts";
import { CliError, EXIT } from "../errors.ts";
import { tail } from "../options.ts";
import { copyOutput, type OutputFlags } from "../output/copy-output.ts";
import { moment } from "../output/moment.ts";
import { RUNS_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";

/** How many runs can be shown at once: each has two streams. */
const MAX_RUNS = 50;

const HELP = `
The bytes of one run are copied as they were written: stdout to stdout, stderr to
stderr, in the order in which they arrived. What was written to both within some
milliseconds may be in another order. With --timestamps whole lines are shown, each
after the time (UTC) at which its end arrived on its machine.

Of several runs (at most ${MAX_RUNS}) whole lines are shown, each after the id of its run, as they
come. The exit code is ${EXIT.drover} if one of them cannot be shown.

Examples:
  drover logs build-17
  drover logs -f build-17
  drover logs --tail 100 build-17
  drover logs --stderr --tail 4KiB build-17
  drover logs -f build-17 build-18
  drover logs -t --since 10m build-17
  drover logs --attempt 1.1 build-17`;

/** `drover logs`: copies the output of a run. */
export function addLogs(program: Command, io: Io, exitWith: (code: number) => void): void {
  program
    .command("logs")
    .summary("show the output of runs")
    .description("Shows what a run has written, or several at once.")
    .argument("<run...>", RUNS_TEXT)
    .option("-f, --follow", "keep copying until the run has written its last byte")
    .option("--stdout", "only what it wrote to stdout")
    .option("--stderr", "only what it wrote to stderr")
    .option("-n, --tail <lines>", "only the end of each stream: a line count, or a size such as 64KiB", tail)
    .option(
      "--since <time>",
      "only what arrived since: 10m ago, 03:00 in UTC, or 2026-11-21T03:00:00Z",
      moment,
    )
    .option("-t, --timestamps", "show whole lines, each after the time at which it arrived")
    .option("--task <name>", "the task of the run (default: main)", "main")
    .option("--attempt <name>", "one attempt, as `drover status` names it, such as 1.2 (default: the latest)")
    .addHelpText("after", HELP)
    .action(async (texts: string[], flags: OutputFlags) => {
      const { client } = connect(io);
      const [text = "", ...others] = new Set(texts);
      if (others.length > 0) {
        if (!(await copyAll(io, client, [text, ...others], flags))) exitWith(EXIT.drover);
        return;
      }
      // Make a short request first. Otherwise an unreachable server or an unknown run would be reported only
      // after the long retries of a stream.
      const { id } = await withRun({ io, client }, text, (run) => client.runs.get(run));
      await copyOutput(io, client, id, flags);
    });
}

/** Shows several runs at once, line by line. Returns whether all could be shown. */
async function copyAll(io: Io, client: Client, texts: string[], flags: OutputFlags): Promise<boolean> {
  if (texts.length > MAX_RUNS) {
    throw new CliError(`${texts.length} runs are too many: at most ${MAX_RUNS} can be shown at once.`, [
      "Name fewer of them.",
    ]);
  }
  const ids: string[] = [];
  const areKnown = await forEachOf(io, texts, async (text) => {
    ids.push((await withRun({ io, client }, text, (run) => client.runs.get(run))).id);
    return true;
  });
  const width = Math.max(...ids.map((id) => id.length));
  const show = async (id: string): Promise<true> => {
    await copyOutput(io, client, id, flags, `${id.padEnd(width)} | `);
    return true;
  };
  return (await forEachOf(io, ids, show, MAX_RUNS)) && areKnown;
}
