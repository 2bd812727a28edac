import type { RunStatus } from "../client/types.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** Which output was shown. */
export interface Shown {
  task: string;
  streams: readonly string[];
}

/** Says on stderr what of the output that was shown is missing, because it was more than is kept. */
export async function sayLimits(io: Io, run: RunStatus, { task: name, streams }: Shown): Promise<void> {
  const events = run.tasks.find((task) => task.name === name)?.events ?? [];
  for (const { type, message, details } of events) {
    if (type !== "Log Limit" || !streams.includes(details.stream ?? "")) continue;
    await io.say(`The output of run ${run.id} is not whole: ${printable(message)}.`);
  }
}
