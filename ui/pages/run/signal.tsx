// How does a reader send a signal to a task?
import type { RunStatus } from "../../../src/generated/api.ts";
import { SIGNALS } from "../../../src/shared/signals.ts";
import { callOf, type InputOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { ChoiceField } from "../../parts/acts/field.tsx";
import { flagsOf, textOf } from "../../parts/acts/given.ts";
import { droverOf } from "../../parts/as-text.ts";

type Body = InputOf<"signalRun">["body"];

/** Sends a signal to one running task, or to all of them. `again` asks for the run anew. */
export function signalOf({ id, tasks }: RunStatus, again: () => void): Action {
  const running = tasks.filter(({ state }) => state === "running").map(({ name }) => name);
  return {
    verb: "Signal",
    question: `Send a signal to ${id}?`,
    effect: "The main process of the task gets it, and decides what it means. SIGKILL ends the attempt.",
    ends: false,
    scope: "runs:write",
    fields: (
      <>
        <ChoiceField label="Signal" name="signal" of={SIGNALS} value="SIGTERM" />
        {running.length > 1 && <ChoiceField label="Task" name="task" of={running} none="all running tasks" />}
      </>
    ),
    call: (given) => callOf("signalRun", { path: { id }, body: bodyOf(given) }),
    drover(given) {
      const { signal, task } = bodyOf(given);
      return droverOf("signal", ...flagsOf("--task", [task]), id, signal);
    },
    done: again,
  };
}

/** What is chosen. */
function bodyOf(given: FormData): Body {
  const signal = given.get("signal") as Body["signal"]; // the field offers signals alone
  return { signal, task: textOf(given, "task") };
}
