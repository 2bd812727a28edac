// What can be done to many runs at once, to which of them, and by which calls?
import { specAgain } from "../../../../client/runs/spec-again.ts";
import type { RunSummary } from "../../../../src/generated/api.ts";
import { isTerminal } from "../../../../src/shared/run-state.ts";
import { ask, type Call, callOf } from "../../../api/send.ts";
import { droverOf } from "../../../parts/as-text.ts";

/** Something that can be done to each of many runs. */
export interface BulkAct {
  verb: string;
  /** What happens to each, and what stays. */
  effect: string;
  ends: boolean;
  /** Whether it can be done to a run in its present state. Others are left as they are, and counted. */
  fits(run: RunSummary): boolean;
  /** Why the others are left. */
  unfit: string;
  /** The call for one run. A rerun has to read the spec first. */
  callFor(id: string): Promise<Call> | Call;
  /** The calls as `curl` shows them; undefined: each needs the run's own spec. */
  shown: ((id: string) => Call) | undefined;
  /** The same as a command. */
  drover(ids: readonly string[]): string;
}

const abort = (id: string) => callOf("abortRun", { path: { id }, body: {} });
const restart = (id: string) => callOf("restartRun", { path: { id }, body: {} });
const remove = (id: string) => callOf("deleteRun", { path: { id } });

/** All of them (ui.md#d19, ui.md#d20). */
export const BULK_ACTS: readonly BulkAct[] = [
  {
    verb: "Abort",
    effect:
      "Those that wait never start. Those that run get their kill signal, and end once a machine says so.",
    ends: true,
    fits: ({ state }) => !isTerminal(state),
    unfit: "have ended already",
    callFor: abort,
    shown: abort,
    drover: (ids) => droverOf("abort", ...ids),
  },
  {
    verb: "Restart",
    effect: "Their running tasks end with their kill signal, and start again on the same machine.",
    ends: true,
    fits: ({ state }) => state === "running",
    unfit: "do not run",
    callFor: restart,
    shown: restart,
    drover: (ids) => ids.map((id) => droverOf("restart", id)).join("\n"),
  },
  {
    verb: "Rerun",
    effect: "For each of them another run starts with the same spec. They stay as they are.",
    ends: false,
    fits: () => true,
    unfit: "",
    async callFor(id) {
      const run = await ask("getRun", { path: { id } });
      return callOf("submitRuns", { body: specAgain(run, {}) });
    },
    shown: undefined,
    drover: (ids) => droverOf("rerun", ...ids),
  },
  {
    verb: "Delete",
    effect: "Their status, events and output are gone for ever.",
    ends: true,
    fits: ({ state }) => isTerminal(state),
    unfit: "have not ended: abort them first",
    callFor: remove,
    shown: remove,
    drover: (ids) => droverOf("rm", ...ids),
  },
];
