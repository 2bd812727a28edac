import type { RunSpec } from "../../../schema/run/run.ts";
import { durationMs } from "../../../shared/duration.ts";
import { DroverError, type FieldError } from "../../../shared/errors.ts";
import type { Instant } from "../../../shared/machine.ts";
import { resultTaskOf } from "../../../shared/result-task.ts";
import { groupOf } from "../../spec.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord } from "../state.ts";

/** What of a run may change while it runs (api.md#update): the rest is another run. */
const CHANGEABLE = new Set([
  "restart",
  "reschedule",
  "timeout",
  "queueTimeout",
  "killTimeout",
  "killSignal",
  "shutdownDelay",
  "env",
  "meta",
  "labels",
  "priority",
]);

/** The same of a task. */
const CHANGEABLE_OF_TASK = new Set(["restart", "killTimeout", "killSignal", "shutdownDelay", "env", "meta"]);

/**
 * What of a run that is being stopped may change, to hurry that. None of it can get longer: a host that was
 * told to stop something gives it no more time.
 */
const HURRYING = new Set(["timeout", "killTimeout", "shutdownDelay"]);

/**
 * Why an update is not taken: `terminal`, `stale_index`, or `invalid_request` with each field that cannot
 * change in place; null if it is (tasks.md#update-in-place).
 */
export function refusalOfUpdate(
  record: AllocationRecord,
  spec: RunSpec,
  specIndex: number,
): DroverError | null {
  if (record.ended || record.outcome !== null)
    return new DroverError("terminal", "the run has ended: its spec is final");
  const stops = record.wish !== null;
  if (stops && fixedFields(record.spec, spec, HURRYING, HURRYING).length > 0) {
    const text = "the run is being stopped: only `timeout`, `killTimeout` and `shutdownDelay` can change yet";
    return new DroverError("terminal", text);
  }
  if (stops && isSlower(record.spec, spec)) {
    const text =
      "the run is being stopped: `timeout`, `killTimeout` and `shutdownDelay` can only get shorter";
    return new DroverError("terminal", text);
  }
  const current = record.specIndex ?? 1;
  if (specIndex !== current) {
    const text = `the spec has index ${current} by now, not ${specIndex}; read the run again`;
    return new DroverError("stale_index", text);
  }
  const fields = fixedFields(record.spec, spec);
  const [first] = fields;
  if (first === undefined) return null;
  return new DroverError("invalid_request", `${first.pointer} ${first.detail}`, { fields });
}

/** Whether a spec gives anything of a run more time to stop than another one. */
function isSlower(old: RunSpec, spec: RunSpec): boolean {
  const [before, after] = [groupOf(old), groupOf(spec)];
  const limitOf = ({ timeout }: RunSpec) => (timeout === undefined ? Infinity : durationMs(timeout));
  const slower = after.tasks.some((task) => {
    const known = before.tasks.find(({ name }) => name === task.name) ?? task;
    const longerKill = task.spec.killTimeoutMs > known.spec.killTimeoutMs;
    return longerKill || task.shutdownDelayMs > known.shutdownDelayMs;
  });
  return slower || after.shutdownDelayMs > before.shutdownDelayMs || limitOf(spec) > limitOf(old);
}

const FIXED = "cannot change while the run exists; submit another one";

function fixedFields(
  old: RunSpec,
  spec: RunSpec,
  may = CHANGEABLE,
  mayOfTask = CHANGEABLE_OF_TASK,
): FieldError[] {
  const changed = (a: object, b: object, free: Set<string>) =>
    [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
      (key) => !free.has(key) && !same(a[key as keyof typeof a], b[key as keyof typeof b]), // keys of either
    );
  const errors = changed(old, spec, may)
    .filter((key) => key !== "tasks" && key !== "id")
    .map((key) => ({ pointer: `/spec/${key}`, detail: FIXED }));
  if ((old.tasks === undefined) !== (spec.tasks === undefined))
    errors.push({ pointer: "/spec/tasks", detail: FIXED });
  // What it leaves behind would be another task's, of which nobody had said that before it began.
  if (spec.outputs !== undefined && resultTaskOf(old.tasks ?? []) !== resultTaskOf(spec.tasks ?? []))
    errors.push({ pointer: "/spec/tasks", detail: "must keep the task whose files are the `outputs`" });
  for (const [i, task] of (spec.tasks ?? []).entries()) {
    const before = old.tasks?.find(({ name }) => name === task.name);
    if (before === undefined) {
      errors.push({ pointer: `/spec/tasks/${i}`, detail: "is a new task; tasks can only be removed" });
      continue;
    }
    for (const key of changed(before, task, mayOfTask))
      errors.push({ pointer: `/spec/tasks/${i}/${key}`, detail: FIXED });
  }
  return errors;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The same value with its keys in order: two clients write the same spec in two ways. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sorted(one)]),
  );
}

/** Takes a new spec. Only a change moves the index. A task that it lacks is stopped, and is no failure. */
export function foldUpdate(
  record: AllocationRecord,
  spec: RunSpec,
  specIndex: number,
  by: string,
  now: Instant,
): AllocationRecord {
  if (refusalOfUpdate(record, spec, specIndex) !== null || same(record.spec, spec)) return record;
  const kept = new Set(groupOf(spec).tasks.map(({ name }) => name));
  const removed = groupOf(record.spec).tasks.filter(({ name }) => !kept.has(name));
  const tasks = record.tasks.map((task) => {
    const gone = removed.find(({ name }) => name === task.name);
    return gone === undefined ? task : { ...task, removed: gone };
  });
  const text = removed.length === 0 ? "" : `; without ${removed.map(({ name }) => name).join(", ")}`;
  const timed = spec.timeout === record.spec.timeout ? {} : { timeoutSetAt: now };
  const next: AllocationRecord = { ...record, spec, specIndex: specIndex + 1, tasks, ...timed };
  return addEvent(next, "Updated", now, `${by} changed its spec${text}`, { details: { by } });
}
