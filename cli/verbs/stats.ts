// `drover stats`: shows the processor, memory and disk that a run uses, or has used at most.
import type { Command } from "commander";
import type { RunStats } from "../../client/types.ts";
import { connect } from "../context.ts";
import { RUN_TEXT, withRun } from "../run/which-run.ts";
import type { Io } from "../terminal/io.ts";
import { peakCells, roughSize } from "../terminal/peaks.ts";
import { asJson, briefDuration, printable, table } from "../terminal/text.ts";

const HELP = `
While the run is running, CPU is the number of processors used recently, TIME the
processor time used so far, and PEAK the most memory so far. Once it has ended, this shows
the most that each task has used at a time: its peaks, of all its attempts that are kept.
A dash means that its host has not measured that, and > that there were more files than a
host counts.

Examples:
  drover stats web-3
  drover stats --task worker --json web-3`;

/** `drover stats`: shows what the tasks of a run use. */
export function addStats(program: Command, io: Io): void {
  program
    .command("stats")
    .summary("show what the tasks of a run use, or have used at most")
    .description(
      "Shows what each task of a run uses, with the total, and once it has ended, the most it has used.",
    )
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
      else if (isOver && stats.tasks.every(({ peaks }) => peaks === undefined)) {
        await io.say(`Run ${id} has ended, and nothing was measured while it ran.`);
      } else await io.stdout.write((isOver ? peaksView(stats) : view(stats)) + devicesView(stats));
    });
}

function view({ tasks, total }: RunStats): string {
  const rows = tasks.map(({ name, state, usage }) => [
    name,
    state === "dead" ? "ended" : state,
    ...cells(usage),
  ]);
  if (tasks.length > 1) rows.push(["total", "", ...cells(total)]);
  return table(["TASK", "STATE", "CPU", "TIME", "MEMORY", "PEAK", "PIDS"], rows, Number.POSITIVE_INFINITY);
}

function peaksView({ tasks }: RunStats): string {
  const rows = tasks.map(({ name, peaks }) => [name, "ended", ...peakCells(peaks)]);
  return table(["TASK", "STATE", "MOST CPU", "TIME", "MOST MEMORY", "MOST DISK"], rows, Infinity);
}

/** A line for each task that was given GPUs. */
function devicesView({ tasks }: RunStats): string {
  const lines = tasks.flatMap(({ name, devices }) =>
    devices ? [`GPUs of ${printable(name)}: ${printable(devices.join(" "))}\n`] : [],
  );
  return lines.length === 0 ? "" : `\n${lines.join("")}`;
}

function cells(usage: RunStats["total"]): string[] {
  if (usage === null) return ["-", "-", "-", "-", "-"];
  const { cpus, cpuMs, memoryBytes, peakMemoryBytes, pids } = usage;
  const peak = peakMemoryBytes === undefined ? "-" : roughSize(peakMemoryBytes);
  const recent = cpus === undefined ? "-" : cpus.toFixed(2);
  return [recent, briefDuration(cpuMs), roughSize(memoryBytes), peak, String(pids)];
}
