// How does a worker answer a report over HTTP?
import { ordersFor, verdictOn } from "../../core/worker/host/report.ts";
import type { WorkerEvent, WorkerMessage } from "../../core/worker/machine.ts";
import { type ExistingWorker, ordersRevision, type WorkerState } from "../../core/worker/state.ts";
import type { Orders, Report } from "../../schema/host.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { Actor } from "../actor.ts";
import { platformTimer, type Timer, until } from "../waiting.ts";

/**
 * How long the answer to a report waits for the allocations that the report concerns: the orders depend on
 * the answers of these allocations.
 */
const OBSERVED_WAIT_MS: Millis = 5_000;

export type WorkerActor = Actor<WorkerState, WorkerEvent, WorkerMessage>;

/** The number of reports whose answers are being held, by worker. */
const waiting = new WeakMap<WorkerActor, number>();

/**
 * How many reports of the host wait for an answer. If any report waits, an order reaches the host
 * immediately.
 */
export function waitingReports(actor: WorkerActor): number {
  return waiting.get(actor) ?? 0;
}

/** The worker of an actor. Throws `unknown_worker` if it does not exist. */
export function existingWorker(actor: WorkerActor, name: string): ExistingWorker {
  const { state } = actor;
  if (state.record === null) throw new DroverError("unknown_worker", `there is no worker "${name}"`);
  return { ...state, record: state.record };
}

/**
 * Whether a report is new. An old report is noted and ignored: the host may have sent it again after a
 * connection broke. Throws `stale_incarnation` if the report is not from the latest start of the agent.
 */
export function admit(actor: WorkerActor, report: Report): "old" | "fresh" {
  const living = existingWorker(actor, "of this report");
  const verdict = verdictOn(living, report);
  if (verdict === "earlier_start" || verdict === "later_start") {
    const text = `incarnation ${report.incarnation} is not the latest start of this host's agent`;
    throw new DroverError("stale_incarnation", `${text}: stop everything and exit`);
  }
  if (verdict === "old") {
    const reason = `report ${report.seq} was repeated or late, and is ignored`;
    actor.apply({ type: "refused_host", kind: "repeated_report", reason });
  }
  return verdict;
}

/**
 * The exchange between host and control plane: a report in, orders out (host-protocol.md#exchange). The
 * answer is held for up to `waitMs` while the host has the current orders and no newer report comes. Throws
 * `stale_incarnation` if the report is not from the latest start of the agent.
 */
export async function exchange(
  actor: WorkerActor,
  report: Report,
  waitMs: Millis,
  now: () => Instant,
  timer: Timer = platformTimer,
): Promise<Orders> {
  const living = () => existingWorker(actor, "of this report");
  const verdict = admit(actor, report);
  actor.apply({ type: "report", report });
  await until(actor, () => !actor.busy("observed"), OBSERVED_WAIT_MS, timer);
  const news = () => {
    const { record, memo } = living();
    const newer = ordersRevision(living()) > report.ordersSeen || memo.lastSeq > report.seq;
    return newer || record.phase === "shutdown";
  };
  waiting.set(actor, waitingReports(actor) + 1);
  try {
    await until(actor, news, verdict === "fresh" ? waitMs : 0, timer);
  } finally {
    waiting.set(actor, waitingReports(actor) - 1);
  }
  actor.apply({ type: "orders_sent" });
  return ordersFor(living(), report.seq, now());
}
