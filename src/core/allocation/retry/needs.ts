// What does the next try of a run ask for, after what has happened to the earlier ones (retry.md#escalation)?
import type { RunSpec } from "../../../schema/run/run.ts";
import { sizeBytes } from "../../../shared/size.ts";
import type { Needs } from "../../run/run-upsert.ts";
import { groupOf, resourcesOf } from "../../spec.ts";
import type { AllocationRecord } from "../state.ts";
import type { FailedTry, RetryReason } from "./record.ts";

/** By the list of failed tries, which never changes: the last spec, and what it has become. */
const known = new WeakMap<readonly RetryReason[], { spec: RunSpec; inEffect: RunSpec }>();

/**
 * The spec with what later tries get: more memory for tasks that ran out of it, and a machine that its cloud
 * does not take back. It follows from the failed tries, so each of them counts once, whatever is repeated.
 */
export function specInEffect({ spec, retries }: Pick<AllocationRecord, "spec" | "retries">): RunSpec {
  return retries === undefined ? spec : specAfter(spec, retries);
}

function specAfter(spec: RunSpec, retries: readonly RetryReason[]): RunSpec {
  const cached = known.get(retries);
  if (cached?.spec === spec) return cached.inEffect;
  const inEffect = escalated(spec, retries);
  known.set(retries, { spec, inEffect });
  return inEffect;
}

function escalated(spec: RunSpec, retries: readonly RetryReason[]): RunSpec {
  const { retry } = groupOf(spec);
  if (retry === undefined) return spec;
  let after = spec;
  if (retry.onDemand && retries.some(({ cause }) => cause === "interrupted"))
    after = { ...after, machine: { ...after.machine, spot: "never" } };
  if (retry.memory === undefined || !retries.some(({ tasks }) => tasks !== undefined)) return after;
  const grown = (name: string, memory: string | number | undefined) => {
    const times = retries.filter(({ tasks }) => tasks?.includes(name)).length;
    return times === 0 ? memory : memoryAfter(spec, sizeBytes(memory ?? 0), times);
  };
  if (spec.tasks === undefined) {
    const memory = grown("main", spec.resources.memory);
    return { ...after, resources: { ...spec.resources, ...(memory === undefined ? {} : { memory }) } };
  }
  const tasks = spec.tasks.map((task) => {
    const memory = grown(task.name, task.resources?.memory ?? spec.resources.memory);
    return memory === undefined ? task : { ...task, resources: { ...task.resources, memory } };
  });
  return { ...after, tasks };
}

/** The bytes of memory after so many times without enough. */
function memoryAfter(spec: RunSpec, bytes: number, times: number): number {
  const { factor, upToBytes } = groupOf(spec).retry?.memory ?? { factor: 1, upToBytes: bytes };
  return Math.max(bytes, Math.min(upToBytes, Math.ceil(bytes * factor ** times)));
}

/** Whether one of the tasks that ran out of memory can get more than it had. */
export function canGrow(
  { spec, retries = [] }: Pick<AllocationRecord, "spec" | "retries">,
  next: RetryReason,
) {
  const memoryOf = (tries: readonly RetryReason[]) => {
    const { tasks } = groupOf(specAfter(spec, tries));
    return tasks.map((task) => task.spec.resources.memoryBytes);
  };
  const before = memoryOf(retries);
  return memoryOf([...retries, next]).some((bytes, i) => bytes > (before[i] ?? 0));
}

/**
 * What the next try may ask for besides what the first one does, one by one: the pool refuses a run whose
 * next try could never be placed (retry.md#out-of-reach).
 */
export function escalations(spec: RunSpec): Needs[] {
  const { retry, tasks } = groupOf(spec);
  const all = tasks.map(({ name }) => name);
  const steps: RetryReason[] = [
    ...(retry?.memory === undefined ? [] : [{ cause: "oom" as const, tasks: all }]),
    ...(retry?.onDemand === true ? [{ cause: "interrupted" as const }] : []),
  ];
  return steps.map((step) => needsOf(escalated(spec, [step])));
}

function needsOf(spec: RunSpec): Needs {
  return { resources: resourcesOf(spec), ...(spec.machine === undefined ? {} : { asks: spec.machine }) };
}

/** What the try with this number asked for, or asks for. */
export function needsInTry({ spec, retries = [] }: AllocationRecord, n: number): Needs {
  return needsOf(n === 1 ? spec : specAfter(spec, prefix(retries, n - 1)));
}

function prefix(retries: FailedTry[], count: number): readonly FailedTry[] {
  return count === retries.length ? retries : retries.slice(0, count);
}
