// What does a reader see of a pool and its workers, and why does a run wait?
import type { Resources } from "../../../schema/common.ts";
import type { ProviderConfig } from "../../../schema/pool/provider-config.ts";
import type { PoolView, WorkerSummary } from "../../../schema/pool.ts";
import type { NextCode, Why } from "../../../schema/why.ts";
import { FIELDS_OF_HOSTS } from "../../../shared/compat.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import { formatSize, sizeBytes } from "../../../shared/size.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import { clause } from "../../../shared/words.ts";
import { type Awaited, nextAt, nextBy } from "../../next.ts";
import { ownValue } from "../../own-value.ts";
import { machineMade } from "../../refusal.ts";
import { accommodates, reservedBy } from "../../resources.ts";
import { shownState } from "../../worker/read/activity.ts";
import { whyAwaitsArrays } from "../arrays/why-awaiting.ts";
import { keyWait } from "../concurrency/why.ts";
import { mayUseGpus, offersOf, undersizedTypes } from "../plan/eligible.ts";
import type { Plan } from "../plan/pass.ts";
import { haveGpus, plan } from "../plan/plan.ts";
import { enginelessText } from "../plan/seen/engineless.ts";
import { isOpenTo, ownerOf } from "../projects.ts";
import { isInForce } from "../provider/hold-offs.ts";
import { type MachineWait, waitForMachine } from "../provider/unmade.ts";
import {
  isOpen,
  isUnmade,
  type PoolRecord,
  type RunRow,
  undestroyed,
  usableOfRow,
  type WorkerRow,
} from "../record.ts";
import { runToOutlive } from "../rows/replaced.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { keptRunsText } from "./kept-runs.ts";
import { heldText, isBeyondReach } from "./limit-text.ts";
import { priceOfRow, spendOf } from "./money.ts";
import { projectUses } from "./project-uses.ts";

/** A run on a worker, as far as lists of workers are concerned. */
type PlacedRun = Pick<RunRow, "run" | "resources">;

/** A worker as lists show it, with the runs that the pool has placed on it, and what is reserved for them. */
export function workerSummary(
  row: WorkerRow,
  placed: readonly PlacedRun[],
  { name, config }: Pick<PoolRecord, "name" | "config">,
): WorkerSummary {
  return {
    id: row.worker,
    pool: name,
    project: ownerOf(config, row),
    state: shownState(row.phase, placed.length),
    idleBehavior: row.idleBehavior,
    instanceType: row.instanceType,
    providerType: row.kind === "cloud" ? (row.type.providerType ?? row.instanceType) : null,
    own: row.kind === "self-hosted",
    instance: row.instance,
    address: row.address,
    price: priceOfRow(row),
    resources: usableOfRow(row),
    used: reservedBy(placed.map(({ resources }) => resources)),
    runs: placed.map(({ run }) => run),
    askedAt: iso(row.askedAt),
    readyAt: isoOrNull(row.readyAt),
    machine: row.kind === "cloud" ? machineMade(row) : null,
    doubles: row.doubles,
    reason: row.reason,
  };
}

/** Runs with an open epoch, by worker (invariant 6: counts are queries over rows). */
export function runsByWorker({ memo }: ReadonlyConfigured): Map<string, RunRow[]> {
  return new Map([...memo.index.placed].map(([worker, on]) => [worker, [...on.values()]]));
}

/** A pool as its readers see it, without the provider's secret. */
export function poolView(state: ReadonlyConfigured, now: Instant): PoolView {
  const { name, config, holds } = state.record;
  const { queue } = state.memo.index;
  const oldest = queue.reduce<Instant | null>(
    (at, row) => Math.min(at ?? row.submittedAt, row.submittedAt),
    null,
  );
  const counts = { pending: 0, running: 0 };
  for (const row of state.runs.live()) {
    if (!isTerminal(row.state)) counts[row.state === "running" ? "running" : "pending"] += 1;
  }
  const workers: Record<string, number> = {};
  const unmade = { asked: 0, refused: 0, unconfirmed: 0 };
  const runs = runsByWorker(state);
  for (const row of state.workers.live()) {
    const shown = shownState(row.phase, runs.get(row.worker)?.length ?? 0);
    workers[shown] = (workers[shown] ?? 0) + 1;
    const machine = machineMade(row);
    if (isUnmade(row) && machine !== "made") unmade[machine] += 1;
  }
  return {
    name,
    config: { ...config, provider: shownProvider(config.provider) },
    queue: { depth: queue.length, oldestAgeMs: oldest === null ? null : now - oldest },
    runs: counts,
    workers,
    unmade,
    holdOffs: holds.filter(isInForce).map(({ cause, scope, until, tries, reason }) => {
      return { scope, cause, until: isoOrNull(until), trying: until !== null && until <= now, tries, reason };
    }),
    ...(state.record.leaving === true ? { leaving: true } : {}),
    spend: spendOf(state),
    ...(config.projects === undefined ? {} : { projects: projectUses(state, config.projects) }),
    strangers: state.memo.strangers,
    cloudError: cloudErrorOf(state),
  };
}

/** Why the provider's machines cannot be listed, or cannot be destroyed although they cost money. */
function cloudErrorOf({ memo, workers }: ReadonlyConfigured): string | null {
  if (memo.sweepError !== null) return memo.sweepError;
  const stuck = undestroyed({ workers });
  const [first] = stuck;
  if (first === undefined) return null;
  const others = stuck.length === 1 ? "" : ` (and ${stuck.length - 1} more machines)`;
  return `worker ${first.worker} still costs money${others}: ${first.destroyFailure}`;
}

/** A provider without the text of its secret, and without the project of a secret. */
function shownProvider(provider: ProviderConfig): PoolView["config"]["provider"] {
  if (provider.kind === "none") return provider;
  if (provider.kind !== "http") {
    const { credentials } = provider;
    const shown = "secret" in credentials ? { secret: credentials.secret } : credentials;
    return { ...provider, credentials: shown };
  }
  const { secret, ...rest } = provider;
  return typeof secret === "string" ? rest : { ...rest, secret: { secret: secret.secret } };
}

/**
 * Why a run waits for a placement or for arrays, and what the pool does next (invariant 5). Null: it waits
 * for neither.
 */
export function explainRun(state: Configured, run: string, now: Instant): Why | null {
  if (!state.memo.index.queue.some((one) => one.run === run)) return whyAwaitsArrays(state, run);
  const planned = plan(state, now);
  const at = planned.queue.findIndex((one) => one.run === run);
  return whyAt(state, at, planned, now);
}

/** Why the run at position `at` of the queue, as a plan walks along it, waits according to that plan. */
export function whyAt(state: ReadonlyConfigured, at: number, planned: Plan, now: Instant): Why {
  const { waits: all, queue } = planned;
  const row = queue[at];
  if (row === undefined) throw new Error(`nothing is at place ${at} of the queue`);
  const position = at + 1;
  const wait = waitForMachine(state, all.get(row.run) ?? { code: "machine_booting" }, now);
  const { code } = wait;
  const counts = code === "machine_booting" || code === "machine_asked" || code === "create_deferred";
  const texts = counts ? [] : [gpusText(state, row), keptText(state, row, planned), keptRunsText(state, row)];
  const more = texts.join("");
  const byKey = keyWait(state, row, planned);
  const waits = byKey?.text ?? waitText(state, wait, row);
  const text = more === "" ? waits : `${clause(waits)}${more}`;
  const reason = { code, text, position, queued: queue.length, ...byKey?.fields };
  return {
    state: "pending",
    reason,
    next: nextOf(state.record, wait),
    chain: [...workersInChain(state, wait.worker), ...runsInChain(state, row, wait), ...(byKey?.chain ?? [])],
  };
}

/** What happens next, and who must act first. */
const NEXT: Record<MachineWait["code"], [code: NextCode, action: string, waitsFor: Awaited]> = {
  machine_booting: ["place", "place it as soon as the machine is ready", "host"],
  machine_asked: ["place", "place it as soon as the machine is ready", "provider"],
  create_deferred: ["create", "ask the provider again to make the machine", "provider"],
  no_workers: ["place", "place it as soon as a machine joins", "operator"],
  max_instances: ["place", "place it as soon as a machine has room, or is gone", "worker"],
  hold_off: ["ask", "ask for a machine again", "provider"],
  self_hosted_only: ["place", "place it as soon as such a machine has room", "worker"],
  agent_too_old: ["place", "place it as soon as a machine with a newer agent has room", "operator"],
  no_engine: ["place", "place it as soon as a machine with a container engine has room", "operator"],
  less_memory: [
    "place",
    "place it as soon as a machine or an instance type has that much memory",
    "operator",
  ],
  fewer_gpus: ["place", "place it as soon as a machine or an instance type has that many GPUs", "operator"],
  no_type: ["place", "place it as soon as the pool has an instance type that fits", "operator"],
  project_not_served: ["place", "place it once the pool serves its project again", "operator"],
  project_quota: ["place", "place it as soon as its project uses less of the quota", "command"],
  max_parallel: ["place", "place it as soon as another run of its array has ended", "command"],
  concurrency_key: ["place", "place it as soon as a run with its key has ended", "command"],
  replacing: ["place", "place it as soon as that run has ended", "command"],
  replaced: ["end", "end it", "command"],
  array_failed: ["end", "end it", "command"],
  budget: ["place", "place it as soon as runs of the same payer cost less", "command"],
};

/** What happens next if the provider has not been asked for the machine yet. */
const TURN: (typeof NEXT)["machine_asked"] = ["ask", "ask the provider for the machine in its turn", "pool"];

/** What happens next if a limit allows no machine that can hold the run, whatever else is in use. */
const ONCE_ALLOWED = "place it once the limit allows that much, or a cheaper machine can hold it";

/** What happens next if only an operator can end the hold-off. */
const ONCE_APPLIED = "ask for a machine once the pool has been applied again";

function nextOf({ holds }: PoolRecord, wait: MachineWait): Why["next"] {
  const { code, until, scope } = wait;
  const isForGood = code === "hold_off" && holds.some((one) => one.scope === scope && one.until === null);
  const hasNoTurn = code === "machine_asked" && (until !== undefined || wait.waitsFor !== undefined);
  const [next, action, waitsFor] = hasNoTurn ? TURN : NEXT[code];
  if (wait.held !== undefined && isBeyondReach(wait.held)) return nextBy(next, ONCE_ALLOWED, "operator");
  if (isForGood || wait.waitsFor === "operator") return nextBy(next, ONCE_APPLIED, "operator");
  // Drover does not call the provider before `until`, so nobody else has to act first.
  if (until !== undefined) return nextAt(next, action, until, null);
  return nextBy(next, action, wait.waitsFor ?? waitsFor);
}

/** All reason codes of waiting runs (`docs/operating.md` says what to do about each). */
export const WAIT_CODES: readonly string[] = Object.keys(NEXT);

function waitText(state: ReadonlyConfigured, wait: MachineWait, run: RunRow): string {
  const { config } = state.record;
  switch (wait.code) {
    case "machine_booting":
      return "a machine for it is booting";
    case "machine_asked":
      return "a machine for it is being created";
    case "create_deferred":
      return `there is no machine for it yet: ${wait.reason}`;
    case "no_workers":
      return config.provider.kind === "none"
        ? "no machine has joined the pool that can hold it, and the pool has no provider to create one"
        : "the pool has no machine for it and may create none (`maxInstances` is 0)";
    case "max_instances":
      return (
        `${phasesText(state, run)} and the pool is at its limit ` +
        `(\`maxInstances\` = ${config.maxInstances})`
      );
    case "hold_off":
      return `no machine is created for now (${wait.scope}), since the latest attempt failed: ${wait.reason}`;
    case "self_hosted_only":
      return "only self-hosted machines can hold it, and none of them has capacity";
    case "agent_too_old":
      return (
        "on each machine with room, the agent is missing or too old for the run, which uses at least one " +
        `of ${FIELDS_OF_HOSTS.map((field) => `\`${field}\``).join(", ")}`
      );
    case "no_engine":
      return (
        "it has containers, and no machine with a container engine can hold it " +
        `(${enginelessText(state, run.project)}): install Docker or podman on the machines, or see why it ` +
        "does not answer"
      );
    case "less_memory":
      return lessMemoryText(state.record, run.resources);
    case "fewer_gpus":
      return fewerGpusText(state.record, run.resources);
    case "no_type":
      return "no instance type of the pool can hold it now";
    case "project_not_served":
      return `the pool no longer serves its project, "${run.project}"`;
    case "replacing":
      return `it replaces run ${wait.run}, and starts only when that run has ended`;
    case "replaced":
      return `run ${wait.run} replaces it, and so it is being ended`;
    case "array_failed":
      return `${wait.reason}; so it is being ended`;
    case "project_quota":
    case "max_parallel":
    case "concurrency_key":
    case "budget":
      return heldText(wait.held, run);
  }
}

/** The memory that the run asks for, and the memory that was measured for types that should hold it. */
function lessMemoryText(record: PoolRecord, need: Resources): string {
  const short = undersizedTypes(record).filter(({ room }) => accommodates(room, need));
  const found = short.flatMap(({ name, type }) => {
    const measured = ownValue(record.learned, name);
    if (measured === undefined) return [];
    return [`${name} ${formatSize(measured)} of ${formatSize(sizeBytes(type.memory))}`];
  });
  const asked = `it asks for ${formatSize(need.memoryBytes)} of memory`;
  return `${asked}, and machines were measured to have less than their type says: ${found.join(", ")}`;
}

/** The GPUs that the run asks for, and those that hosts of types can use that should hold it. */
function fewerGpusText(record: PoolRecord, need: Resources): string {
  const short = undersizedTypes(record).filter(({ room }) => accommodates(room, need));
  const found = short.flatMap(({ name, type: { gpus } }) => {
    const usable = ownValue(record.learnedGpus, name);
    return usable === undefined ? [] : [`${name} ${usable} of ${gpus}`];
  });
  const asked = `it asks for ${need.gpus} GPUs, and machines can use fewer than their type says`;
  return `${asked}: ${found.join(", ")}; the worker of such a machine says why`;
}

/** Says that a machine is reserved for this run, or for an earlier run (decisions/pool.md#d20). */
function keptText(state: ReadonlyConfigured, { run, project }: RunRow, { queue, reserved }: Plan): string {
  if (reserved === null) return "";
  const { record, workers } = state;
  const { worker, evict } = reserved;
  const isOwn = reserved.run === run;
  if (worker === null) return isOwn ? "; a machine that is ending makes room for this run" : "";
  const first = queue.findIndex((one) => one.run === reserved.run || one.run === run);
  // The reservation does not affect runs that are ahead of it in the queue.
  if (queue[first]?.run !== reserved.run) return "";
  const row = workers.get(worker);
  const isOthers = row !== undefined && !isOpenTo(record.config, project, row);
  // A machine of another project is not named, and matters only to the run for which it leaves.
  if (isOthers && !isOwn) return "";
  const what = isOthers ? "a machine of another project" : `worker ${worker}`;
  const whom = isOwn ? "this run" : "a run that comes first";
  const why = evict ? "and ends when it is idle, to make room for" : "since it is reserved for";
  return `; ${what} takes no other runs, ${why} ${whom}`;
}

/** Says that machines with room are kept for runs that need GPUs. */
function gpusText({ record, workers }: ReadonlyConfigured, run: RunRow): string {
  if (mayUseGpus(record.config, run, offersOf(record)) || !workers.derive(haveGpus)) return "";
  return "; machines with GPUs are kept for runs that ask for GPUs";
}

/** Why no machine has room: the number of machines in each state, and how many the run may not use. */
function phasesText(state: ReadonlyConfigured, { project }: RunRow): string {
  const counts = new Map<string, number>();
  const runs = runsByWorker(state);
  for (const row of state.workers.live()) {
    const { idleBehavior, phase, worker } = row;
    const isOpen = isOpenTo(state.record.config, project, row);
    const own = idleBehavior === "run" ? shownState(phase, runs.get(worker)?.length ?? 0) : idleBehavior;
    const shown = isOpen ? own : "of other projects";
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  const parts = [...counts].map(([shown, count]) => `${count} ${shown}`);
  return `no machine has capacity (${parts.join(", ")})`;
}

/** The run whose end the run awaits. */
function runsInChain(state: ReadonlyConfigured, row: RunRow, { code, run }: MachineWait): Why["chain"] {
  const other = code === "replacing" ? runToOutlive(state, row) : undefined;
  if (run === undefined || other === undefined) return [];
  const where = isOpen(other) ? `placed on worker ${other.worker}` : "not placed";
  return [{ what: `run ${run}`, state: other.state, text: `${where}; it has been asked to end` }];
}

function workersInChain(state: ReadonlyConfigured, worker: string | undefined): Why["chain"] {
  const row = worker === undefined ? undefined : state.workers.get(worker);
  if (row === undefined) return [];
  const runs = state.memo.index.placed.get(row.worker)?.size ?? 0;
  return [{ what: `worker ${row.worker}`, state: shownState(row.phase, runs), text: row.reason }];
}
