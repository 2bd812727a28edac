// Which part of a run's output was dropped because it went over the limit of its log?
import type { RunStatus } from "../client/types.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** The output that was shown. */
export interface ShownOutput {
  task: string;
  streams: readonly string[];
}

/** Says on stderr what is missing from the output that was shown. */
export async function sayLimits(io: Io, run: RunStatus, { task: name, streams }: ShownOutput): Promise<void> {
  const events = run.tasks.find((task) => task.name === name)?.events ?? [];
  for (const { type, message, details } of events) {
    if (type !== "Log Limit" || !streams.includes(details.stream ?? "")) continue;
    await io.say(`The output of run ${run.id} is incomplete: ${printable(message)}.`);
  }
}
