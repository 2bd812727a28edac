// What can a reader do about a worker?
import type { WorkerStatus } from "../../../src/generated/api.ts";
import { callOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { droverOf } from "../../parts/as-text.ts";

/** The actions that fit the state of the worker. `again` asks for the worker anew. */
export function actionsOf(worker: WorkerStatus, done: () => void): Action[] {
  if (worker.state === "gone") return [];
  const { id, idleBehavior, runs } = worker;
  const common = { scope: "workers:write", done } as const;
  const path = { id };
  const all: (Action & { fits: boolean })[] = [
    {
      ...common,
      fits: idleBehavior === "run",
      verb: "Hold",
      question: `Hold ${id}?`,
      effect: "It takes no more runs. Those on it go on, and the machine stays until you resume or drain it.",
      ends: false,
      call: () => callOf("holdWorker", { path }),
      drover: droverOf("hold", id),
    },
    {
      ...common,
      fits: idleBehavior !== "run",
      verb: "Resume",
      question: `Resume ${id}?`,
      effect: "It takes runs again.",
      ends: false,
      call: () => callOf("resumeWorker", { path }),
      drover: droverOf("resume", id),
    },
    {
      ...common,
      fits: idleBehavior !== "drain",
      verb: "Drain",
      question: `Drain ${id}?`,
      effect: `It takes no more runs. Its machine is destroyed after the ${runs.length} on it have ended.`,
      ends: true,
      call: () => callOf("drainWorker", { path }),
      drover: droverOf("drain", id),
    },
    {
      ...common,
      fits: true,
      verb: "Kill",
      question: `Kill ${id}?`,
      effect: `Its machine is destroyed now, with the runs on it: ${runs.join(", ") || "none"}.`,
      ends: true,
      call: () => callOf("killWorker", { path, body: {} }),
      drover: droverOf("kill", id),
    },
  ];
  return all.filter(({ fits }) => fits);
}
