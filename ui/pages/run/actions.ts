// What can a reader do about a run?
import { specAgain } from "../../../client/runs/spec-again.ts";
import type { RunStatus } from "../../../src/generated/api.ts";
import { isTerminal } from "../../../src/shared/run-state.ts";
import { callOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { droverOf } from "../../parts/as-text.ts";
import { go, itemHref } from "../../router/place.ts";
import { redriveOf } from "./retry/redrive.ts";
import { signalOf } from "./signal.tsx";

/** The actions that fit the state of the run. `again` asks for the run anew. */
export function actionsOf(run: RunStatus, again: () => void): Action[] {
  return isTerminal(run.state)
    ? [...redriveOf(run), rerunOf(run), deletionOf(run)]
    : [
        abortOf(run, again),
        ...(run.state === "running" ? [restartOf(run, again), signalOf(run, again)] : []),
        rerunOf(run),
      ];
}

function abortOf({ id, state, abort }: RunStatus, again: () => void): Action {
  const force = abort !== null;
  return {
    verb: force ? "Kill" : "Abort",
    question: force ? `Kill ${id} at once?` : `Abort ${id}?`,
    effect:
      state === "pending"
        ? "It has not started, and never will."
        : `Its tasks get ${force ? "SIGKILL" : "their kill signal"}. It has ended once its machine says so.`,
    ends: true,
    scope: "runs:write",
    call: () => callOf("abortRun", { path: { id }, body: force ? { force } : {} }),
    drover: droverOf("abort", id, ...(force ? ["--force"] : [])),
    done: again,
  };
}

function restartOf({ id }: RunStatus, again: () => void): Action {
  return {
    verb: "Restart",
    question: `Restart the running tasks of ${id}?`,
    effect: "They end with their kill signal, and start again on the same machine. Their output is kept.",
    ends: true,
    scope: "runs:write",
    call: () => callOf("restartRun", { path: { id }, body: {} }),
    drover: droverOf("restart", id),
    done: again,
  };
}

function rerunOf(run: RunStatus): Action {
  return {
    verb: "Rerun",
    question: `Run ${run.id} again?`,
    effect: "Another run starts with the same spec, unchanged. This one stays as it is.",
    ends: false,
    scope: "runs:write",
    call: () => callOf("submitRuns", { body: specAgain(run, {}) }),
    drover: droverOf("rerun", run.id),
    async done(response, ending) {
      // The answer to one spec is this run.
      const { id } = (await response.json()) as RunStatus;
      ending.throwIfAborted();
      go(itemHref("runs", id));
    },
  };
}

function deletionOf({ id }: RunStatus): Action {
  return {
    verb: "Delete",
    question: `Delete ${id}?`,
    effect: "Its status, events and output are gone for ever.",
    ends: true,
    scope: "runs:write",
    call: () => callOf("deleteRun", { path: { id } }),
    drover: droverOf("rm", id),
    done: () => go("/ui/runs"),
  };
}
