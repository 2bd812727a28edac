// How is a failed message logged?
import type { Envelope } from "../shared/machine.ts";
import { errorText } from "../shared/words.ts";

/**
 * Logs a failed message at its first try, and then each time the number of tries doubles, so that a peer that
 * cannot be reached for an hour does not fill the log.
 */
export function logFailure(from: string, message: Envelope, error: unknown, tries: number): void {
  if (!Number.isInteger(Math.log2(tries))) return;
  console.warn({
    event: "message_failed",
    from,
    to: message.to,
    kind: message.kind,
    tries,
    error: errorText(error),
  });
}
