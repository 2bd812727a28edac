// How has a run, or one of its tries, ended, in words?
import { formatSize } from "../../../shared/size.ts";
import { tasksOf } from "../../spec.ts";
import { specInEffect } from "../retry/needs.ts";
import type { AllocationRecord, Outcome } from "../state.ts";
import { reasonOf } from "./why-stopped.ts";

/** How a run, or one of its tries, has ended, in words (api.md#one-run). */
export function describeEnd(record: AllocationRecord, { state, exitCode, signal, failure }: Outcome): string {
  const memory = outOfMemory(record);
  if (failure !== null) {
    const why = failure.code === "task_failed" ? memory : [];
    return [failure.text, ...why].join("; ");
  }
  const endedBadly = signal !== null || (exitCode !== null && exitCode !== 0);
  if (endedBadly && memory[0] !== undefined) return memory[0];
  if (signal !== null) return `ended by ${signal}`;
  if (exitCode !== null) return `ended with exit code ${exitCode}`;
  return record.stopRequest === null ? state : reasonOf(record.stopRequest);
}

/** Which tasks ran out of memory on the last machine that started any, and their limits. */
function outOfMemory(record: AllocationRecord): string[] {
  const { tasks } = record;
  const epoch = Math.max(...tasks.map(({ attempts }) => attempts.at(-1)?.epoch ?? 0));
  const short = tasks.filter(({ attempts }) => {
    const last = attempts.at(-1);
    return last?.epoch === epoch && last.exit?.oomKilled === true;
  });
  return short.map(({ name }) => {
    const of = tasksOf(specInEffect(record)).find((task) => task.name === name);
    const limit = of?.memoryLimitBytes ?? of?.resources.memoryBytes ?? 0;
    const most = limit === 0 ? "its machine had no more" : formatSize(limit);
    return `${tasks.length === 1 ? "" : `task ${name} `}ran out of memory (${most})`;
  });
}
