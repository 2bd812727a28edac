// With which exit code does `drover run` end, and what does it print, when a run has ended?
import type { RunStatus } from "../client/types.ts";
import { because, clause } from "../src/shared/words.ts";
import { EXIT } from "./errors.ts";
import { printable } from "./terminal/text.ts";

/** The result of an ended run, as the user sees it. */
export interface Verdict {
  exitCode: number;
  /** A sentence to print if the exit code does not say everything. */
  message?: string;
}

/** Failures for which a shell has an exit code. All other failures have `EXIT.drover`. */
const EXIT_OF_FAILURE: Record<string, number> = {
  command_not_found: EXIT.commandNotFound,
  not_executable: EXIT.notExecutable,
  // A shell uses the same exit code for E2BIG.
  arguments_too_long: EXIT.notExecutable,
};

/**
 * The exit code of `drover run` for a run that has ended: the exit code of the command, or one of `EXIT`
 * (api.md#one-run). `interruptedAs` is the exit code if this command aborted the run.
 */
export function verdictOf(run: RunStatus, interruptedAs?: number): Verdict {
  switch (run.state) {
    case "complete":
      return completed(run);
    case "timedout":
      return { exitCode: EXIT.timedOut, message: `Run ${run.id} was stopped: ${timeoutText(run)}` };
    case "aborted":
      if (interruptedAs !== undefined)
        return { exitCode: interruptedAs, message: `Run ${run.id} is aborted.` };
      return { exitCode: EXIT.drover, message: `${clause(abortText(run))}.` };
    case "failed":
    case "unknown":
      return {
        exitCode: EXIT_OF_FAILURE[run.failure?.code ?? ""] ?? exitOfTask(run) ?? EXIT.drover,
        message: `${failureText(run)}\n  See \`drover status ${run.id}\`.`,
      };
    case "pending":
    case "running":
      return { exitCode: EXIT.drover, message: `Run ${run.id} has not ended; it is ${run.state}.` };
  }
}

function completed(run: RunStatus): Verdict {
  // Several main tasks without a leader have no common exit code. All of them have succeeded.
  if (run.exitCode === null && run.tasks.length > 1) return { exitCode: 0 };
  if (run.exitCode === null) {
    return { exitCode: EXIT.drover, message: `Run ${run.id} ended without an exit code.` };
  }
  if (run.exitCode !== 0 && wasOutOfMemory(run)) {
    const what = printable(run.description);
    return { exitCode: run.exitCode, message: `The command ${what}. Give it more with --memory.` };
  }
  if (run.signal === null) return { exitCode: run.exitCode };
  return { exitCode: run.exitCode, message: `The command was ended by ${run.signal}.` };
}

/** A group that failed because of one task has the exit code of its leader, or of its only main task. */
function exitOfTask({ exitCode, failure }: RunStatus): number | undefined {
  return failure?.code === "task_failed" && exitCode !== null && exitCode !== 0 ? exitCode : undefined;
}

function wasOutOfMemory(run: RunStatus): boolean {
  return run.tasks.some((task) => task.attempts.at(-1)?.exit?.oomKilled === true);
}

function timeoutText(run: RunStatus): string {
  const { timeout } = run.spec;
  return typeof timeout === "string"
    ? `it took longer than its timeout of ${timeout}.`
    : "its timeout was reached.";
}

function abortText({ id, abort }: RunStatus): string {
  const { by = "", reason = "" } = abort ?? {};
  return printable(because(`Run ${id} was aborted${by === "" ? "" : ` by ${by}`}`, reason));
}

function failureText(run: RunStatus): string {
  if (run.failure !== null) return printable(run.failure.text);
  return run.description === "" ? `Run ${run.id} is ${run.state}.` : printable(run.description);
}
