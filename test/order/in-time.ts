// Which tests begin? Those that end before this run must end, even if they take all the time that they may.
// The others count as skipped, and their files are named (decisions/testing.md#in-time).
import { appendFileSync } from "node:fs";
import { type RunnerTask, type RunnerTestSuite, TestRunner } from "vitest";

/** When this run must end, in seconds since 1970. */
const until = Number(process.env.DROVER_TESTS_UNTIL);
/** A file, to which the paths of test files with tests that are left out are appended, one a line. */
const names = process.env.DROVER_TESTS_LEFT_OUT;
if (!(until > 0) || !names) {
  throw new Error("Set DROVER_TESTS_UNTIL to seconds since 1970, and DROVER_TESTS_LEFT_OUT to a file.");
}

const named = new Set<string>();

/** Leaves out a test, or a suite with its hooks, if it may take longer than there is time. */
function judge(task: RunnerTask, longestMs: number): void {
  if (Date.now() + longestMs <= until * 1_000 || !isToRun(task)) return;
  leaveOut(task);
  const { name } = task.file;
  if (names !== undefined && !named.has(name)) appendFileSync(names, `${name}\n`);
  named.add(name);
}

function leaveOut(task: RunnerTask): void {
  task.mode = "skip";
  if ("tasks" in task) task.tasks.forEach(leaveOut);
}

const isToRun = ({ mode }: RunnerTask) => mode === "run" || mode === "queued";

// biome-ignore lint/style/noDefaultExport: vitest takes a runner as the default export of its file
export default class InTime extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    judge(suite, this.config.hookTimeout);
    await super.onBeforeRunSuite(suite);
  }

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    judge(test, "timeout" in test ? test.timeout : 0);
    await super.onBeforeRunTask(test);
  }
}
