// What does a pool do with the news of a run, and what does it answer?
import { projectsServed, servesProject } from "../../../shared/access/project.ts";
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import { formatSize, sizeBytes } from "../../../shared/size.ts";
import { backOffMs } from "../../../shared/time/backoff.ts";
import { LATE_MS } from "../../audit/export.ts";
import { newEntries } from "../../audit/outbox.ts";
import { submissionOf } from "../../audit/submissions.ts";
import type { Answered } from "../../inbox.ts";
import type { EndRun, PlacementTerms, PoolAnswer, RunUpsert } from "../../messages.ts";
import { ownValue } from "../../own-value.ts";
import { refusalByKey } from "../concurrency/refusals.ts";
import { turnField } from "../concurrency/round-robin.ts";
import { markSuperseded } from "../concurrency/superseded.ts";
import { keepsMachinesApart } from "../projects.ts";
import { rateOf } from "../read/money.ts";
import { isLeft, isOpen, type RunRow, runKey } from "../record.ts";
import {
  type Configured,
  isRemoved,
  type PoolState,
  type ReadonlyConfigured,
  type ReadonlyPool,
} from "../state.ts";
import { refusalOfContainers } from "./allowed-containers.ts";
import { dropRow, isOver, keepLogsMs } from "./forget.ts";
import { markReplaced } from "./replaced.ts";
import { escalationOutOfReach, isInReach, resourcesText, termsOfNextTry, typesText } from "./retries.ts";

/** Why a run that the pool does not have is refused; null: it is accepted (messages.md#submission). */
function refusal(
  state: ReadonlyPool,
  upsert: RunUpsert,
  now: Instant,
): Extract<PoolAnswer, { kind: "refused" }> | null {
  // The words of the second case are those of the first: the pool does not exist for other projects.
  if (state.record === null || isRemoved(state) || !servesProject(state.record.config, upsert.project)) {
    return { kind: "refused", code: "unknown_pool", text: "there is no pool of this name" };
  }
  if (state.record.leaving === true) {
    const text = "the pool is being deleted, and takes no more runs; use another, or put it again";
    return { kind: "refused", code: "pool_draining", text };
  }
  const configured: ReadonlyConfigured = { ...state, record: state.record };
  const { config } = state.record;
  if (upsert.hostPaths && !config.allowHostPaths) {
    const text =
      "`dir` is absolute, and this pool does not allow that: leave it out, make it relative to the task's " +
      "own directory, or set `allowHostPaths` of the pool";
    return { kind: "refused", code: "host_paths_not_allowed", text };
  }
  if (upsert.fakes && !config.allowFakeDriver) {
    const text =
      "a task has the fake driver, and this pool does not allow that; leave `driver` out, or set " +
      "`allowFakeDriver` of a pool for tests";
    return { kind: "refused", code: "fake_driver_not_allowed", text };
  }
  const refused =
    upsert.containers === undefined ? null : refusalOfContainers(upsert.containers, config.allowContainers);
  if (refused !== null) return { kind: "refused", code: "container_not_allowed", text: refused };
  if (!isInReach(configured, upsert)) {
    const asked = resourcesText(upsert.resources);
    const types = typesText(configured);
    const text = `no instance type of the pool can hold it: it asks for ${asked}; there is ${types}`;
    return { kind: "refused", code: "unsatisfiable", text };
  }
  const later = escalationOutOfReach(configured, upsert);
  if (later !== undefined) return { kind: "refused", code: "unsatisfiable", text: later };
  const full = fullProject(configured, upsert);
  if (full !== null) return { kind: "refused", code: "project_full", text: full };
  const crowded = refusalByKey(configured, upsert);
  if (crowded !== null) return { kind: "refused", ...crowded };
  const busy = fullQueue(configured, upsert);
  if (busy === null) return null;
  const retryAfterMs = configured.memo.index.queueRate.retryAfterMs(config.maxQueue, now);
  return { kind: "refused", code: "busy", text: busy, retryAfterMs };
}

/**
 * Why the queue has no place for another run of the project. Null: it has one. In a pool of several projects
 * each has a part of the queue, so that none can shut out the others (projects.md#queue).
 */
function fullQueue({ record, memo }: ReadonlyConfigured, { project }: RunUpsert): string | null {
  const { config } = record;
  // Those that wait for other runs will come into the queue, too.
  const { queue, deferred } = memo.index;
  const waiting = queue.length + deferred.size;
  const { length: served } = projectsServed(config);
  const part = Math.max(1, Math.floor(config.maxQueue / served));
  if (served > 1 && waiting >= part) {
    const isOwn = (row: RunRow) => row.project === project;
    const own = queue.filter(isOwn).length + [...deferred.values()].filter(isOwn).length;
    if (own >= part) {
      return (
        `project "${project}" has as many runs in the pool's queue as it may (${part} of ` +
        `${config.maxQueue}, since the pool serves ${served} projects); try again when some have been placed`
      );
    }
  }
  if (waiting < config.maxQueue) return null;
  return `the pool's queue is full (${config.maxQueue} runs); try again when some have been placed`;
}

/** What to do if the runs of the project have stored all that its quota allows. Null: they have not. */
function fullProject({ record, memo }: ReadonlyConfigured, { project }: RunUpsert): string | null {
  const { maxStoredBytes } = ownValue(record.config.projects, project) ?? {};
  if (maxStoredBytes === undefined) return null;
  const stored = memo.storedBytes.of(project);
  if (stored < sizeBytes(maxStoredBytes)) return null;
  return (
    `the runs of project "${project}" have stored ${formatSize(stored)} of output in this pool, and may ` +
    `store ${formatSize(sizeBytes(maxStoredBytes))} (\`maxStoredBytes\`): delete ended runs, or let the ` +
    "operator shorten `retention.runs` of the pool or raise the quota"
  );
}

/** Applies an allocation's upsert. The row changes only if the upsert has a newer version than the row. */
export function foldRun(state: PoolState, upsert: RunUpsert, now: Instant): PoolState {
  if (state.record === null) return state;
  const key = runKey(upsert.submittedAt, upsert.run);
  const row = state.runs.get(key);
  if (row === undefined) {
    const isNew = upsert.wants === "place" || upsert.deferred === true;
    if (isNew && refusal(state, upsert, now) !== null) return state;
    const fresh = { ...view(state, upsert, 0, now), ...submitted(state, upsert, now) };
    const turn = isNew ? turnField(state, upsert) : {};
    const made: RunRow = { ...fresh, ...turn, opened: upsert.ended, worker: null, heardAt: now };
    state.runs.set(key, made, now);
    if (isNew) markReplaced(state, made, now);
    if (isNew && made.wants === "place") markSuperseded(state, made, now);
    state.audit.note(state.memo.changes.latest);
    return state;
  }
  if (upsert.epoch === row.opened) acknowledge(state, row);
  if (upsert.version > row.version) {
    const ended = Math.max(row.ended, upsert.ended);
    // The numbering continues after an ended epoch that this pool does not know (rule R1).
    const opened = Math.max(row.opened, ended);
    const seen = view(state, upsert, row.audited, now);
    state.runs.set(key, { ...withoutWishes(row), ...seen, ended, opened, heardAt: now }, now);
    if (ended >= row.opened) state.memo.index.unacknowledge(row);
    const comesIn = row.deferred === true && row.opened === 0 && row.wants !== "place";
    // One that is to end itself takes nobody's place.
    if (comesIn && upsert.wants === "place" && row.replacedBy === undefined) markSuperseded(state, row, now);
    if (isOpen(row) && ended >= row.opened && upsert.wants === "place") pauseWorker(state, row.worker, now);
  }
  return state;
}

/** A row without what its run awaits: an upsert that does not say it awaits nothing any more. */
function withoutWishes({ deferred: _, awaitsArrays: _arrays, ...row }: RunRow): RunRow {
  return row;
}

/**
 * The part of an upsert that the row stores. Stores the entries of the audit log that come with it. Of a run
 * that was accepted, only that it has containers matters, and not what they need (containers.md#allowed).
 */
function view({ record, audit: table }: PoolState, upsert: RunUpsert, audited = 0, now: Instant) {
  const { audit, containers, escalations: _checked, ...run } = upsert;
  const rest = containers === undefined ? run : { ...run, containers: {} };
  if (audit === undefined) return rest;
  const about = {
    target: { kind: "run", id: rest.run } as const,
    pool: record?.name ?? null,
    run: rest.run,
    project: rest.project,
  };
  const { entries, upTo } = newEntries(audit, audited, about);
  for (const entry of entries) table.add(entry, now);
  return { ...rest, audited: upTo };
}

/** A submission that comes too late for the export of its day gets an entry (audit.md#submissions). */
function submitted({ record, audit }: PoolState, upsert: RunUpsert, now: Instant): { late?: true } {
  if (record === null || upsert.submittedAt > now - LATE_MS) return {};
  audit.add(submissionOf(upsert, record.name), now);
  return { late: true };
}

/** The first and the longest pause of a worker. */
const PAUSE = { firstMs: 1_000, longestMs: 60_000 };

/** Pauses a worker that did not start a run: it gets no other run until it reports or the pause is over. */
function pauseWorker(state: PoolState, worker: string | null, now: Instant): void {
  const row = worker === null ? undefined : state.workers.get(worker);
  if (row === undefined || row.phase === "gone") return;
  const refusals = row.refusals + 1;
  const pausedUntil = now + backOffMs(PAUSE, refusals);
  state.workers.set(row.worker, { ...row, refusals, pausedUntil }, now);
}

/**
 * The pool's present view of a run (rule R6). If the pool has no row for the run: why the run is refused, or
 * `none`.
 */
export function answerRun(state: ReadonlyPool, upsert: RunUpsert, now: Instant): PoolAnswer {
  const row = state.runs.get(runKey(upsert.submittedAt, upsert.run));
  if (row === undefined) {
    return refusal(state, upsert, now) ?? { kind: "none", version: 0 };
  }
  if (isOpen(row) && row.worker !== null) {
    return { kind: "placed", worker: row.worker, epoch: row.opened, ...termsOn(state, row, row.worker) };
  }
  const { record } = state;
  const terms = record === null ? {} : termsOfNextTry({ ...state, record }, row);
  if (row.wants === "place") return { kind: "queued", ...terms };
  const keep = record === null ? undefined : keepLogsMs(record.config);
  const logs = keep === undefined ? {} : { keepLogsMs: keep };
  return { kind: "none", version: row.version, ...logs, ...terms };
}

/** The terms of a run's open epoch on its worker. */
export function termsOn(
  { workers }: ReadonlyPool,
  { resources, openedAt }: RunRow,
  worker: string,
): PlacementTerms {
  const row = workers.get(worker);
  const opened = openedAt === undefined ? {} : { openedAt };
  if (row === undefined) return opened;
  const rate = rateOf(resources, row);
  const { maxKillMs } = row.settings;
  return { ...opened, ...(rate === null ? {} : { rate }), maxKillMs };
}

/**
 * Opens the next epoch of a run on a ready worker. The run must want a placement and have none (rule R2). The
 * first run on a machine makes the machine its project's (projects.md#machines).
 */
export function openEpoch(state: Configured, row: RunRow, worker: string, now: Instant): void {
  const placed = { ...row, opened: row.opened + 1, openedAt: now, worker };
  state.runs.set(runKey(row.submittedAt, row.run), placed, now);
  state.memo.index.queueRate.note(now);
  const machine = state.workers.get(worker);
  if (machine === undefined || !keepsMachinesApart(state.record.config)) return;
  if (machine.project === null) state.workers.set(worker, { ...machine, project: row.project }, now);
}

/** Notes that the allocation knows its placement, so no message is owed. */
export function acknowledge(state: PoolState, row: RunRow): void {
  if (isOpen(row)) state.memo.index.acknowledge(row);
}

/** The answer of a run to any message of its pool. */
export type RunAnswered = Answered<"allocation", "place" | "poke_run" | "end_run" | "array_ended" | "forget">;

/**
 * Applies an allocation's answer, which is its present view of the run. If the allocation has no state, or
 * has another submission under the same id, this run is over and uses no capacity. The row of a run is
 * deleted when the allocation has forgotten the run, and when nobody ever had it (messages.md#late-refused).
 */
export function foldRunAnswer(
  state: PoolState,
  { type, sent, answer }: RunAnswered,
  now: Instant,
): PoolState {
  const key = runKey(sent.submittedAt, sent.run);
  const row = state.runs.get(key);
  if (row === undefined) return state;
  const isOwn = answer.kind === "run" && runKey(answer.run.submittedAt, answer.run.run) === key;
  if (type === "forget_answered") {
    if (!isOwn && isOver(row)) dropRow(state, key, row, now);
    return state;
  }
  if (type === "poke_run_answered") state.memo.index.lastHeard.note(key, now);
  if (isOwn) foldRun(state, answer.run, now);
  else if (wasRefused(state, row, answer)) dropRow(state, key, row, now);
  else if (isLeft(row)) {
    // A run that has ended, and that its machine has kept, ended as its row says.
    const known = isTerminal(row.state) ? row.state : "unknown";
    const over = {
      state: known,
      wants: "nothing",
      keptUntil: null,
      ended: row.opened,
      heardAt: now,
    } as const;
    state.runs.set(key, { ...row, ...over }, now);
    state.memo.index.unacknowledge(row);
  }
  const known = state.runs.get(key);
  if (type === "end_run_answered" && known !== undefined && isLeft(known))
    state.runs.set(key, { ...known, ...confirmedEnd(known, sent) }, now);
  return state;
}

/**
 * Whether a row is of a submission that the pool had refused: a copy of its message came late and made the
 * row, and its allocation has submitted the run again since. Only if the pool has the row of that submission,
 * too: without it an array would lack a run, and those that follow it could not start.
 */
function wasRefused({ runs }: PoolState, row: RunRow, answer: RunAnswered["answer"]): boolean {
  if (isTerminal(row.state) || answer.kind !== "run") return false;
  return runs.get(runKey(answer.run.submittedAt, answer.run.run)) !== undefined;
}

/** What the row notes once an allocation has confirmed why its run must end. */
function confirmedEnd({ replacedBy, array }: RunRow, { graceful = false }: EndRun): Partial<RunRow> {
  if (!graceful) return { endAcknowledged: true };
  return {
    ...(replacedBy === undefined ? {} : { replacedBy: { ...replacedBy, confirmed: true } }),
    ...(array?.failAt === undefined ? {} : { endsWithArray: true }),
  };
}
