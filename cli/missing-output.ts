// Is a part of a run's output missing: beyond the size limit of its log, or not received before its end?
import type { RunStatus } from "../client/types.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** Says on stderr what is missing from the shown output of these streams of the task. */
export async function sayMissing(io: Io, run: RunStatus, task: string, streams: string[]): Promise<void> {
  const events = run.tasks.find(({ name }) => name === task)?.events ?? [];
  for (const { type, message, details } of events) {
    const isMissing = type === "Log Limit" || type === "Log Truncated";
    if (!isMissing || !streams.includes(details.stream ?? "")) continue;
    await io.say(`The output of run ${run.id} is incomplete: ${printable(message)}.`);
  }
}
