import { earliest, type Instant } from "../../../shared/machine.ts";
import { earlierOf, type Next, nextAt, nextBy } from "../../next.ts";
import { behaviorOf } from "../host/notice.ts";
import { callWaiting } from "../life/calls.ts";
import { bootDeadline, ifSilent, orphanEndsAt, proposalAt } from "../life/deadlines.ts";
import { isSelfHosted, type ReadonlyLiving } from "../state.ts";
import type { WorkerActivity } from "./activity.ts";

const STAY = "stay, until an operator says otherwise";

/** What a worker does next by itself, and when; or whose word it waits for (invariant 5). */
export function nextOf(state: ReadonlyLiving, activity: WorkerActivity, now: Instant): Next {
  const { record } = state;
  switch (activity.kind) {
    case "invited": {
      const action = "take the first machine that enrolls with its code, or end with the code";
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
    case "let_go":
      return nextOfLetGo(state);
    case "destroying":
      return nextOfEnding(state, now);
    case "gone":
      return nextBy("nothing", "nothing: it is gone", null);
  }
}

function nextOfAsked(state: ReadonlyLiving): Next {
  const { record } = state;
  const { notAfter } = record.intent;
  const action = "give it up, if the provider has not made it until then";
  const over = earliest(bootDeadline(state), notAfter) ?? notAfter;
  if (callWaiting(record) === undefined) return nextAt("give_up", action, over, "provider");
  return nextAt("give_up", `ask the provider again when its pool gives it a turn; ${action}`, over, "pool");
}

function nextOfBooting(state: ReadonlyLiving, now: Instant): Next {
  const deadline = bootDeadline(state);
  if (deadline === undefined) return nextBy("stay", `become ready, or not: ${STAY}`, "operator");
  const end = nextAt("give_up", "give it up, if its boot probe has not succeeded by then", deadline, "host");
  return earlierOf(end, nextProposal(state, now));
}

function nextOfIdle(state: ReadonlyLiving, now: Instant): Next {
  const silence = silenceOf(state, "give it up, if its host says nothing until then");
  const proposal = nextProposal(state, now);
  if (proposal !== null) return proposal.at === null ? proposal : earlierOf(proposal, silence);
  const stays = nextBy("stay", STAY, "operator");
  const isHeld = behaviorOf(state.record) === "hold";
  return isHeld || isSelfHosted(state.record) ? stays : earlierOf(stays, silence);
}

function nextWithRuns(state: ReadonlyLiving, count: number): Next {
  const runs = `${count} run${count === 1 ? "" : "s"}`;
  const then = {
    run: "",
    hold: `, take no others, and ${STAY}`,
    drain: ", take no others, and stop when the last has ended",
  };
  const goOn = `go on with ${runs}${then[behaviorOf(state.record)]}`;
  const end = ifSilent(state);
  if (end === undefined) return nextBy("stay", goOn, "host");
  const [code, over] = SILENCE[end.ends];
  return nextAt(code, `${goOn}; ${over}, if its host says nothing until then`, end.at, "host");
}

/** That it proposes to its pool to stop; null: it has no cause to. */
function nextProposal(state: ReadonlyLiving, now: Instant): Next | null {
  const at = proposalAt(state);
  if (at === undefined) return null;
  if (at <= now) return nextBy("confirm", "wait for its pool to agree that it stops", "pool");
  return nextAt("propose_stop", "stop, if it is still idle then", at, "pool");
}

function nextOfAdopted(state: ReadonlyLiving): Next {
  const end = orphanEndsAt(state);
  if (end === undefined) return nextBy("stay", STAY, "operator");
  return nextAt("give_up", "destroy it, since no lease of its host can be left then", end, "operator");
}

function nextOfSilent(state: ReadonlyLiving): Next {
  const silence = silenceOf(state, "give it up, if its host stays silent until then");
  if (silence !== null) return silence;
  if (!isSelfHosted(state.record)) return nextBy("stay", STAY, "operator");
  return nextBy("stay", "wait for its host to report again, until an operator kills it", "host");
}

/** What its host's silence ends, in words. */
const SILENCE = {
  untold: ["lose_runs", "take back the runs of which its host was not told"],
  runs: ["lose_runs", "take its runs for lost"],
  worker: ["give_up", "give it up"],
} as const;

/** What its host's silence brings about: first its runs are lost, then it is given up. Null: nothing. */
function silenceOf(state: ReadonlyLiving, action: string): Next | null {
  const end = ifSilent(state);
  if (end === undefined) return null;
  const [code, over] = SILENCE[end.ends];
  const text = end.ends === "worker" ? action : `${over}, if its host says nothing until then`;
  return nextAt(code, text, end.at, "host");
}

function nextOfLetGo(state: ReadonlyLiving): Next {
  const action = "tell its agent to end, until it has, or its lease is over";
  const end = ifSilent(state);
  return end === undefined ? nextBy("confirm", action, "host") : nextAt("give_up", action, end.at, "host");
}

function nextOfEnding({ record }: ReadonlyLiving, now: Instant): Next {
  const { instance, destroyAskedAt } = record;
  if (instance === null)
    return nextBy("confirm", "wait for the provider's listings to show that it was not made", "provider");
  if (callWaiting(record) === "destroy")
    return nextBy("destroy", "ask the provider to destroy it when its pool gives it a turn", "pool");
  if (destroyAskedAt === null) return nextBy("destroy", "ask the provider to destroy it", "provider");
  const at = destroyAskedAt + record.intent.settings.shutdownMs;
  const action = "ask the provider again to destroy it, if a listing still shows it";
  return at > now
    ? nextAt("destroy", `${action} after that`, at, "provider")
    : nextBy("destroy", action, "provider");
}
