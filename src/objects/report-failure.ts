import type { Envelope } from "../shared/machine.ts";

/**
 * Says in the log that a message failed: the first time, and then each time the number of tries has doubled.
 * A peer that is away for an hour shall not fill the log.
 */
export function logFailure(from: string, message: Envelope, error: unknown, tries: number): void {
  if (!Number.isInteger(Math.log2(tries))) return;
  const text = error instanceof Error ? error.message : String(error);
  console.warn({ event: "message_failed", from, to: message.to, kind: message.kind, tries, error: text });
}
