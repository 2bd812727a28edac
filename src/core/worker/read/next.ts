// What does a worker do next, and when? Or for whom does the worker wait (`why`)?
import { earliest, type Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import { behaviorOf } from "../life/behavior.ts";
import { callWaiting } from "../life/calls.ts";
import { bootDeadline, ifSilent, orphanEndsAt, proposalAt } from "../life/deadlines.ts";
import { keptRuns } from "../placements.ts";
import { isSelfHosted, type ReadonlyExistingWorker } from "../state.ts";
import type { WorkerActivity } from "./activity.ts";

const STAY = "stay, until an operator says otherwise";

/** What a worker does next by itself, and when. Otherwise, for whom the worker waits (invariant 5). */
export function nextOf(state: ReadonlyExistingWorker, activity: WorkerActivity, now: Instant): Next {
  const { record } = state;
  switch (activity.kind) {
    case "invited": {
      const action = "take the first machine that enrolls with its code, or end when the code expires";
      return nextAt("give_up", action, record.intent.notAfter, "host");
    }
    case "enrolled":
      return nextBy("boot", "become ready with the first report of its host", "host");
    case "asked":
      return nextOfAsked(state);
    case "booting":
      return nextOfBooting(state, now);
    case "idle":
      return nextOfIdle(state, now);
    case "running":
      return nextWithRuns(state, activity.runs);
    case "silent":
      return nextOfSilent(state);
    case "adopted":
      return nextOfAdopted(state);
    case "releasing":
      return nextOfLetGo(state);
    case "destroying":
      return nextOfEnding(state, now);
    case "gone":
      return nextBy("nothing", "nothing: it is gone", null);
  }
}

function nextOfAsked(state: ReadonlyExistingWorker): Next {
  const { record } = state;
  const { notAfter } = record.intent;
  const action = "give it up, unless its machine has been made";
  const over = earliest(bootDeadline(state), notAfter) ?? notAfter;
  if (callWaiting(record) === undefined) return nextAt("give_up", action, over, "provider");
  return nextAt("give_up", `ask the provider again when the pool allows it; ${action}`, over, "pool");
}

function nextOfBooting(state: ReadonlyExistingWorker, now: Instant): Next {
  const deadline = bootDeadline(state);
  if (deadline === undefined) return nextBy("stay", `become ready; if it does not, ${STAY}`, "operator");
  const end = nextAt("give_up", "give it up, unless its boot probe succeeds", deadline, "host");
  return earlierOf(end, nextProposal(state, now));
}

/**
 * Of a host that reports, people want to know how long its idle machine still costs money. What its silence
 * would lead to counts once it is silent.
 */
function nextOfIdle(state: ReadonlyExistingWorker, now: Instant): Next {
  const proposal = nextProposal(state, now);
  const isOverdue = state.record.overdueSince !== null;
  if (proposal !== null && (proposal.at === null || !isOverdue)) return proposal;
  const silence = silenceOf(state, "give it up, unless its host reports");
  if (proposal !== null) return earlierOf(proposal, silence);
  const stays = nextBy("stay", STAY, "operator");
  const isHeld = behaviorOf(state.record) === "hold";
  return isHeld || isSelfHosted(state.record) ? stays : earlierOf(stays, silence);
}

function nextWithRuns(state: ReadonlyExistingWorker, count: number): Next {
  const runs = `${count} run${count === 1 ? "" : "s"}`;
  const then = {
    run: "",
    hold: `, take no others, and ${STAY}`,
    drain: ", take no others, and stop when the last has ended",
  };
  const goOn = [`continue with ${runs}${then[behaviorOf(state.record)]}`, ...keptTexts(state)].join("; ");
  const end = ifSilent(state);
  if (end === undefined) return nextBy("stay", goOn, "host");
  const [code, over] = SILENCE[end.ends];
  return nextAt(code, `${goOn}; ${over}, unless its host reports`, end.at, "host");
}

/** Which runs have ended, and are kept only for a look (tasks.md#kept). */
function keptTexts(state: ReadonlyExistingWorker): string[] {
  return keptRuns(state).map(
    ({ run, until }) => `keep run ${run} until ${iso(until)}, or less long: drover release ${run}`,
  );
}

/** When the worker proposes its stop to the pool. Null: the worker has no reason to propose a stop. */
function nextProposal(state: ReadonlyExistingWorker, now: Instant): Next | null {
  const at = proposalAt(state);
  if (at === undefined) return null;
  if (at <= now) return nextBy("confirm", "wait for its pool to agree that it stops", "pool");
  return nextAt("propose_stop", "stop, if it is still idle", at, "pool");
}

function nextOfAdopted(state: ReadonlyExistingWorker): Next {
  const end = orphanEndsAt(state);
  if (end === undefined) return nextBy("stay", STAY, "operator");
  return nextAt("give_up", "destroy it, since its host's lease has certainly ended", end, "operator");
}

function nextOfSilent(state: ReadonlyExistingWorker): Next {
  const silence = silenceOf(state, "give it up, unless its host reports");
  if (silence !== null) return silence;
  if (!isSelfHosted(state.record)) return nextBy("stay", STAY, "operator");
  return nextBy("stay", "wait for its host to report again, until an operator kills it", "host");
}

/** What the host's silence leads to, as a code and in words. */
const SILENCE = {
  undelivered: ["lose_runs", "take back the runs that its host has not received"],
  runs: ["lose_runs", "count its runs as lost"],
  worker: ["give_up", "give it up"],
} as const;

/** The next action if the host stays silent. Null: none. */
function silenceOf(state: ReadonlyExistingWorker, action: string): Next | null {
  const end = ifSilent(state);
  if (end === undefined) return null;
  const [code, over] = SILENCE[end.ends];
  const text = end.ends === "worker" ? action : `${over}, unless its host reports`;
  return nextAt(code, text, end.at, "host");
}

function nextOfLetGo(state: ReadonlyExistingWorker): Next {
  const action = "tell its agent to end, until it does or its lease is over";
  const end = ifSilent(state);
  return end === undefined ? nextBy("confirm", action, "host") : nextAt("give_up", action, end.at, "host");
}

function nextOfEnding({ record }: ReadonlyExistingWorker, now: Instant): Next {
  const { instance, destroyAskedAt, looks } = record;
  if (looks) {
    const isWaiting = callWaiting(record) === "find";
    const action = "ask the provider whether it knows the machine, which its listings omit";
    return isWaiting
      ? nextBy("confirm", `${action}, when the pool allows it`, "pool")
      : nextBy("confirm", action, "provider");
  }
  if (instance === null)
    return nextBy("confirm", "wait for the provider's listings to show that it was not made", "provider");
  if (callWaiting(record) === "destroy")
    return nextBy("destroy", "ask the provider to destroy it, when the pool allows it", "pool");
  if (destroyAskedAt === null) return nextBy("destroy", "ask the provider to destroy it", "provider");
  const at = destroyAskedAt + record.intent.settings.shutdownMs;
  const action = "ask the provider again to destroy it, if it is still listed";
  return at > now ? nextAt("destroy", action, at, "provider") : nextBy("destroy", action, "provider");
}
