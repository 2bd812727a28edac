import type { PoolView, WorkerSummary } from "../../schema/pool.ts";
import type { RunSummary, Why } from "../../schema/run.ts";
import type { Instant } from "../machine.ts";
import { isTerminal } from "../run-state.ts";
import { shownState } from "../worker/status.ts";
import { plan, queueOf, type WaitCode } from "./plan.ts";
import { type Configured, capacityOfRow, isOpen, type RunRow, type WorkerRow } from "./state.ts";

/** A run as lists show it. */
export function runSummary(row: RunRow, pool: string): RunSummary {
  return {
    id: row.run,
    state: row.state,
    version: row.version,
    pool,
    labels: row.labels,
    priority: row.priority,
    command: row.command,
    exitCode: row.exitCode,
    worker: row.worker,
    submittedAt: iso(row.submittedAt),
    startedAt: orNull(row.startedAt),
    finishedAt: orNull(row.finishedAt),
  };
}

/** A worker as lists show it, with the runs that the pool has placed on it. */
export function workerSummary(row: WorkerRow, runs: string[], pool: string): WorkerSummary {
  return {
    id: row.worker,
    pool,
    state: shownState(row.phase, runs.length),
    idleBehavior: row.idleBehavior,
    instanceType: row.instanceType,
    own: row.own !== undefined,
    instance: row.instance,
    address: row.address,
    price: row.type.price,
    resources: capacityOfRow(row),
    runs,
    askedAt: iso(row.askedAt),
    readyAt: orNull(row.readyAt),
    reason: row.reason,
  };
}

/** The runs with an open epoch, by worker (invariant 6: counts are queries over rows). */
export function runsByWorker(state: Configured): Map<string, string[]> {
  const runs = new Map<string, string[]>();
  for (const row of state.runs.live()) {
    if (isOpen(row) && row.worker !== null) runs.set(row.worker, [...(runs.get(row.worker) ?? []), row.run]);
  }
  return runs;
}

/** A pool as it is read. The provider's secret is never shown again. */
export function poolView(state: Configured, now: Instant): PoolView {
  const { name, config, hold } = state.record;
  const queue = queueOf(state);
  const oldest = queue.reduce<Instant | null>(
    (at, row) => Math.min(at ?? row.submittedAt, row.submittedAt),
    null,
  );
  const counts = { pending: 0, running: 0 };
  for (const row of state.runs.live()) {
    if (!isTerminal(row.state)) counts[row.state === "running" ? "running" : "pending"] += 1;
  }
  const workers: Record<string, number> = {};
  const runs = runsByWorker(state);
  for (const row of state.workers.live()) {
    const shown = shownState(row.phase, runs.get(row.worker)?.length ?? 0);
    workers[shown] = (workers[shown] ?? 0) + 1;
  }
  const { secret: _secret, ...provider } = config.provider;
  const held = hold !== null && now < hold.until;
  return {
    name,
    config: { ...config, provider },
    queue: { depth: queue.length, oldestAgeMs: oldest === null ? null : now - oldest },
    runs: counts,
    workers,
    holdOffs: held ? [{ scope: "all", until: iso(hold.until), reason: hold.reason }] : [],
    cloudError: state.memo.sweepError,
  };
}

/** Why a run waits for a place, and what the pool does next (invariant 5); null if it does not wait. */
export function explainRun(state: Configured, run: string, now: Instant): Why | null {
  const queue = queueOf(state);
  const position = queue.findIndex((row) => row.run === run) + 1;
  if (position === 0) return null;
  const wait = plan(state, now).waits.get(run);
  const code = wait?.code ?? "machine_booting";
  const reason = { code, text: waitText(state, code), position, queued: queue.length };
  const { hold } = state.record;
  const at = code === "hold_off" && hold !== null ? iso(hold.until) : null;
  return {
    state: "pending",
    reason,
    next: { action: NEXT[code], at },
    chain: workersInChain(state, wait?.worker),
  };
}

const NEXT: Record<WaitCode, string> = {
  machine_booting: "place it as soon as the machine is ready",
  machine_asked: "place it as soon as the machine is ready",
  no_workers: "place it as soon as a machine joins",
  max_instances: "place it as soon as a machine has room, or is gone",
  hold_off: "ask for a machine again",
  own_machine: "place it as soon as such a machine has room",
  no_type: "place it as soon as the pool has an instance type that fits",
};

function waitText(state: Configured, code: WaitCode): string {
  const { config, hold } = state.record;
  switch (code) {
    case "machine_booting":
      return "a machine for it is booting";
    case "machine_asked":
      return "a machine for it is being asked for";
    case "no_workers":
      return "the pool has no machine for it and may create none (`maxInstances` is 0)";
    case "max_instances":
      return `${phasesText(state)}, and there may be no more (\`maxInstances\` is ${config.maxInstances})`;
    case "hold_off":
      return `no machine is created for now, since the latest failed: ${hold?.reason ?? ""}`;
    case "own_machine":
      return "only machines of one's own can hold it, and none of them has room";
    case "no_type":
      return "no instance type of the pool can hold it any more";
  }
}

/**
 * The pool's machines in words: that none has room can be because they are full, or because they are no good.
 */
function phasesText(state: Configured): string {
  const counts = new Map<string, number>();
  const runs = runsByWorker(state);
  for (const row of state.workers.live()) {
    const { idleBehavior, phase, worker } = row;
    const shown = idleBehavior === "run" ? shownState(phase, runs.get(worker)?.length ?? 0) : idleBehavior;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  const parts = [...counts].map(([shown, count]) => `${count} ${shown}`);
  return `no machine has room (${parts.join(", ")})`;
}

function workersInChain(state: Configured, worker: string | undefined): Why["chain"] {
  const row = worker === undefined ? undefined : state.workers.get(worker);
  if (row === undefined) return [];
  return [{ what: `worker ${row.worker}`, state: shownState(row.phase, 0), text: row.reason }];
}

function iso(at: Instant): string {
  return new Date(at).toISOString();
}

function orNull(at: Instant | null): string | null {
  return at === null ? null : iso(at);
}
