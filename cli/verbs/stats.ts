// `drover stats`: shows the processor and memory that a running run uses.
import type { Command } from "commander";
import type { RunStats } from "../../client/types.ts";
import { formatSize } from "../../src/shared/size.ts";
import { connect } from "../context.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, briefDuration, table } from "../terminal/text.ts";

const HELP = `
Works only while the run is running: usage is not kept. CPU is the number of processors
used recently, TIME the processor time used so far.

Examples:
  drover stats web-3
  drover stats --task worker --json web-3`;

/** `drover stats`: shows what the tasks of a run use. */
export function addStats(program: Command, io: Io): void {
  program
    .command("stats")
    .summary("show what the tasks of a run use")
    .description("Shows how much processor time and memory each task of a run uses, and their total.")
    .argument("<run>", RUN_TEXT)
    .option("--task <name>", "only this task")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .action(async (text: string, { json, task }: { json?: boolean; task?: string }) => {
      const { client } = connect(io);
      const { id, stats } = await withRun({ io, client }, text, async (run) => ({
        id: run,
        stats: await client.runs.stats(run, { task }),
      }));
      const isOver = stats.total === null && stats.tasks.every(({ state }) => state === "dead");
      if (json) await io.stdout.write(`${asJson(stats)}\n`);
      else if (isOver) await io.say(`Run ${id} has ended; usage is only shown while a run is running.`);
      else await io.stdout.write(view(stats));
    });
}

function view({ tasks, total }: RunStats): string {
  const rows = tasks.map(({ name, state, usage }) => [
    name,
    state === "dead" ? "ended" : state,
    ...cells(usage),
  ]);
  if (tasks.length > 1) rows.push(["total", "", ...cells(total)]);
  return table(["TASK", "STATE", "CPU", "TIME", "MEMORY", "PIDS"], rows, Number.POSITIVE_INFINITY);
}

function cells(usage: RunStats["total"]): string[] {
  if (usage === null) return ["-", "-", "-", "-"];
  const { cpus, cpuMs, memoryBytes, pids } = usage;
  const whole = memoryBytes - (memoryBytes % 1_024);
  return [cpus === undefined ? "-" : cpus.toFixed(2), briefDuration(cpuMs), formatSize(whole), String(pids)];
}
