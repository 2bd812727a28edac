import { ordersFor, verdictOn } from "../../core/worker/host/report.ts";
import type { WorkerEventIn, WorkerMessage } from "../../core/worker/machine.ts";
import { type Living, ordersRevision, type WorkerState } from "../../core/worker/state.ts";
import type { Orders, Report } from "../../schema/host.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { Actor } from "../actor.ts";
import { platformTimer, type Timer, until } from "../waiting.ts";

/**
 * How long an answer waits for the allocations that the report concerns: what they say is in the orders then.
 */
const OBSERVED_WAIT_MS: Millis = 5_000;

export type WorkerActor = Actor<WorkerState, WorkerEventIn, WorkerMessage>;

/** Reports whose answers are held now, by worker. */
const held = new WeakMap<WorkerActor, number>();

/** How many hosts wait for an answer: an order reaches them at once. */
export function heldReports(actor: WorkerActor): number {
  return held.get(actor) ?? 0;
}

/** The worker that an actor is. Throws `unknown_worker` if there is none. */
export function livingWorker(actor: WorkerActor, name: string): Living {
  const { state } = actor;
  if (state.record === null) throw new DroverError("unknown_worker", `there is no worker "${name}"`);
  return { ...state, record: state.record };
}

/**
 * Whether a report that is let in is news. One that is not is noted, and changes nothing: it may be the
 * host's own, sent again because a connection closed. Throws `stale_incarnation` for another start of the
 * agent than the latest.
 */
export function admit(actor: WorkerActor, report: Report): "old" | "fresh" {
  const living = livingWorker(actor, "of this report");
  const verdict = verdictOn(living, report);
  if (verdict === "earlier_start" || verdict === "later_start") {
    const text = `incarnation ${report.incarnation} is not the latest start of this host's agent`;
    throw new DroverError("stale_incarnation", `${text}: stop everything and exit`);
  }
  if (verdict === "old") {
    const reason = `report ${report.seq} came again, or late: nothing of it counts`;
    actor.apply({ type: "refused_host", kind: "repeated_report", reason });
  }
  return verdict;
}

/**
 * The one exchange between host and control plane: a report goes in, orders come out
 * (host-protocol.md#exchange). The answer is held for up to `waitMs` while the host has the current orders; a
 * newer report ends that at once. Throws `stale_incarnation` for another start of the agent than the latest.
 */
export async function exchange(
  actor: WorkerActor,
  report: Report,
  waitMs: Millis,
  now: () => Instant,
  timer: Timer = platformTimer,
): Promise<Orders> {
  const living = () => livingWorker(actor, "of this report");
  const verdict = admit(actor, report);
  actor.apply({ type: "report", report });
  await until(actor, () => !actor.busy("observed"), OBSERVED_WAIT_MS, timer);
  const news = () => {
    const { record, memo } = living();
    const newer = ordersRevision(living()) > report.ordersSeen || memo.lastSeq > report.seq;
    return newer || record.phase === "shutdown";
  };
  held.set(actor, heldReports(actor) + 1);
  try {
    await until(actor, news, verdict === "fresh" ? waitMs : 0, timer);
  } finally {
    held.set(actor, heldReports(actor) - 1);
  }
  actor.apply({ type: "told" });
  return ordersFor(living(), report.seq, now());
}
