// Which tests begin? After the end of this run's time none does: each that is left out counts as skipped, and
// its file is named (decisions/testing.md#in-time).
import { appendFileSync } from "node:fs";
import { type RunnerTask, type RunnerTestSuite, TestRunner } from "vitest";

/** When the time of this run is over, in seconds since 1970. */
const until = Number(process.env.DROVER_TESTS_UNTIL);
/** The file that gets the paths of test files, of which tests are left out, a line each. */
const names = process.env.DROVER_TESTS_LEFT_OUT ?? "";

const named = new Set<string>();

/** Leaves out a test, or a suite with its hooks, if the time is over. */
function judge(task: RunnerTask): void {
  if (Date.now() <= until * 1_000 || (task.mode !== "run" && task.mode !== "queued")) return;
  leaveOut(task);
  const { name } = task.file;
  if (!named.has(name)) appendFileSync(names, `${name}\n`);
  named.add(name);
}

function leaveOut(task: RunnerTask): void {
  task.mode = "skip";
  if ("tasks" in task) task.tasks.forEach(leaveOut);
}

// biome-ignore lint/style/noDefaultExport: vitest takes a runner as the default export of its file
export default class InTime extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    judge(suite);
    await super.onBeforeRunSuite(suite);
  }

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    judge(test);
    await super.onBeforeRunTask(test);
  }
}
