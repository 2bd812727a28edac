// How does a reader send a signal to the tasks of a run?
import { signal } from "@preact/signals";
import type { RunStatus } from "../../../src/generated/api.ts";
import { SIGNALS } from "../../../src/shared/signals.ts";
import { callOf } from "../../api/send.ts";
import type { Action } from "../../parts/act.tsx";
import { droverOf } from "../../parts/as-text.ts";

/** What is chosen in the question. A task that does not run is sent nothing, so it is no choice. */
const chosen = signal<(typeof SIGNALS)[number]>("SIGHUP");
const task = signal("");

/** Sends a signal to one running task, or to all of them. */
export function signalOf(run: RunStatus, again: () => void): Action {
  const { id } = run;
  const running = run.tasks.filter(({ state }) => state === "running").map(({ name }) => name);
  const to = running.includes(task.value) ? task.value : undefined;
  return {
    verb: "Signal",
    question: `Send ${chosen.value} to ${to ?? "the running tasks"} of ${id}?`,
    effect: "Its host sends it once, to the main process of the attempt. What follows is up to the command.",
    ends: chosen.value === "SIGKILL" || chosen.value === "SIGTERM" || chosen.value === "SIGQUIT",
    scope: "runs:write",
    choose: <Choices running={running} />,
    call: () => callOf("signalRun", { path: { id }, body: { signal: chosen.value, task: to } }),
    drover: droverOf("signal", id, chosen.value, ...(to === undefined ? [] : ["--task", to])),
    done: again,
  };
}

function Choices({ running }: { running: readonly string[] }) {
  return (
    <div class="filters">
      <label>
        Signal{" "}
        <select
          value={chosen.value}
          onChange={({ currentTarget }) => {
            chosen.value = SIGNALS.find((one) => one === currentTarget.value) ?? "SIGHUP";
          }}
        >
          {SIGNALS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label>
        Task{" "}
        <select
          value={running.includes(task.value) ? task.value : ""}
          onChange={({ currentTarget }) => {
            task.value = currentTarget.value;
          }}
        >
          <option value="">all that run</option>
          {running.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}
