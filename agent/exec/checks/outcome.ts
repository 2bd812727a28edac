// What do tries of all kinds share: their results, and their end (health.md#tries)?
import { errorCode } from "../../../posix/errors.ts";
import { formatDuration } from "../../../src/shared/duration.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { errorText } from "../../../src/shared/words.ts";
import type { CheckResult } from "../../core/checks/results.ts";

/** The result of a try that has failed. `output`: what the task has said. */
export function critical(text: string, output = ""): CheckResult {
  return { level: "critical", text, output };
}

export const PASSING: CheckResult = { level: "passing", text: "", output: "" };

/** The result of a connection that could not be made, or that broke. */
export function unreached(error: unknown, at: string): CheckResult {
  if (errorCode(error) === "ECONNREFUSED") {
    return critical(
      `connection refused on ${at}. Nothing listens there: let the task open this port, or correct the ` +
        "`port` of the check",
    );
  }
  return critical(`no answer from ${at}: ${errorText(error)}`);
}

/** The result of a try that took too long. */
export function late(what: string, timeoutMs: Millis): CheckResult {
  return critical(
    `${what} within ${formatDuration(timeoutMs)}. Make it faster, or give the check a longer \`timeout\``,
  );
}
