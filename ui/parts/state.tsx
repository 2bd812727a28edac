// How is a state shown? By the API's word, an icon and a color (ui.md#d16).
import type { RunState, WorkerStateName } from "../../src/generated/api.ts";
import { hasFailed } from "../../src/shared/run-state.ts";
import { Icon, type IconName } from "./icon.tsx";

/** The color of a state. */
export type Tone = "waits" | "runs" | "good" | "bad" | "plain";

const RUNS: Record<RunState, [IconName, Tone]> = {
  pending: ["wait", "waits"],
  running: ["run", "runs"],
  complete: ["good", "good"],
  failed: ["bad", "bad"],
  aborted: ["stop", "plain"],
  timedout: ["late", "bad"],
  unknown: ["lost", "bad"],
};

const WORKERS: Record<WorkerStateName, [IconName, Tone]> = {
  booting: ["boot", "waits"],
  idle: ["idle", "plain"],
  running: ["run", "runs"],
  shutdown: ["stop", "plain"],
  gone: ["gone", "plain"],
  unknown: ["lost", "bad"],
};

/** The state of a run. A command that has ended with another code than 0 has failed, and shows the code. */
export function RunStateMark({ run }: { run: { state: RunState; exitCode: number | null } }) {
  const [icon, tone] = RUNS[run.state];
  if (run.state === "complete" && hasFailed(run)) {
    return <Mark icon="bad" tone="bad" word={`complete, exit code ${run.exitCode}`} />;
  }
  return <Mark icon={icon} tone={tone} word={run.state} />;
}

/** The state of a worker. */
export function WorkerStateMark({ state }: { state: WorkerStateName }) {
  const [icon, tone] = WORKERS[state];
  return <Mark icon={icon} tone={tone} word={state} />;
}

/** A word with an icon and a color. */
export function Mark({ icon, tone, word }: { icon: IconName; tone: Tone; word: string }) {
  return (
    <span class={`state ${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
