// Which fields of a run may change while it exists, and what does an update change?
import type { RunSpec } from "../../../schema/run/run.ts";
import { durationMs } from "../../../shared/duration.ts";
import { DroverError, type FieldError } from "../../../shared/errors.ts";
import { type Group, groupOf } from "../../spec.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord } from "../state.ts";

/** The fields of a run that can change (api.md#update). Any other change needs a new run. */
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

/** The fields of a task that can change. */
const CHANGEABLE_OF_TASK = new Set(["restart", "killTimeout", "killSignal", "shutdownDelay", "env", "meta"]);

/**
 * The fields that can change while a run is being stopped, so that it stops sooner. Their values can only
 * become smaller: once a host was told to stop a task, the host gives the task no extra time.
 */
const HURRYING = new Set(["timeout", "killTimeout", "shutdownDelay"]);

/**
 * Why an update is refused: `terminal`, `stale_index`, or `invalid_request` with each field that cannot
 * change. Null: it is accepted (tasks.md#update-in-place).
 */
export function refusalOfUpdate(
  record: AllocationRecord,
  spec: RunSpec,
  specIndex: number,
): DroverError | null {
  if (record.ended || record.outcome !== null)
    return new DroverError("terminal", "the run has ended: its spec is final");
  const change = { old: record.spec, spec, before: groupOf(record.spec), after: groupOf(spec) };
  if (record.stopRequest !== null && fixedFields(change, HURRYING, HURRYING).length > 0) {
    const text =
      "the run is being stopped: only `timeout`, `killTimeout` and `shutdownDelay` can still change";
    return new DroverError("terminal", text);
  }
  if (record.stopRequest !== null && isSlower(change)) {
    const text =
      "the run is being stopped: `timeout`, `killTimeout` and `shutdownDelay` can only get shorter";
    return new DroverError("terminal", text);
  }
  const current = record.specIndex;
  if (specIndex !== current) {
    const text = `the spec is at index ${current}, not ${specIndex}; read the run again`;
    return new DroverError("stale_index", text);
  }
  const fields = fixedFields(change);
  const [first] = fields;
  if (first === undefined) return null;
  return new DroverError("invalid_request", `${first.pointer} ${first.detail}`, { fields });
}

/** The old spec, the new spec, and the groups that they describe. */
interface Change {
  old: RunSpec;
  spec: RunSpec;
  before: Group;
  after: Group;
}

/** Whether the new spec gives any task more time to stop. */
function isSlower({ old, spec, before, after }: Change): boolean {
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
  { old, spec, before, after }: Change,
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
  // When the host started the task, it was not asked for outputs. A new result task would thus have none.
  if (spec.outputs !== undefined && before.result !== after.result)
    errors.push({ pointer: "/spec/tasks", detail: "must keep the task whose files are the `outputs`" });
  for (const [i, task] of (spec.tasks ?? []).entries()) {
    const known = old.tasks?.find(({ name }) => name === task.name);
    if (known === undefined) {
      errors.push({ pointer: `/spec/tasks/${i}`, detail: "is a new task; tasks can only be removed" });
      continue;
    }
    for (const key of changed(known, task, mayOfTask))
      errors.push({ pointer: `/spec/tasks/${i}/${key}`, detail: FIXED });
  }
  return errors;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b));
}

/** The value with sorted keys, since clients may write the keys of one spec in any order. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sortKeys(one)]),
  );
}

/**
 * Applies a new spec. The index rises only if the spec changes. A removed task is stopped, and not failed.
 */
export function foldUpdate(run: RunDraft, spec: RunSpec, specIndex: number, by: string): void {
  const { record, now } = run;
  if (same(record.spec, spec) || refusalOfUpdate(record, spec, specIndex) !== null) return;
  const present = run.view.members.filter(({ known }) => known.removed === undefined).map(({ task }) => task);
  const removed = present.filter((task) => spec.tasks?.every(({ name }) => name !== task.name));
  const timed = spec.timeout === record.spec.timeout ? {} : { timeoutSetAt: now };
  run.set({ spec, specIndex: specIndex + 1, ...timed });
  for (const task of removed) run.changeTask(task, { removed: task });
  const text = removed.length === 0 ? "" : `; removed: ${removed.map(({ name }) => name).join(", ")}`;
  run.note("Updated", now, `${by} changed the spec${text}`, { details: { by } });
}
