// What does one result of a check change: its status, and whether it restarts its task (health.md#statuses)?
import type { CheckRestart, CheckSpec } from "../../../src/schema/run/checks.ts";
import { type CheckStatus, MAX_CHECK_OUTPUT_CHARS } from "../../../src/shared/health/words.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { CheckState } from "../types.ts";

/** What one try of a check has found. `pending` is no result. */
export type CheckLevel = Exclude<CheckStatus, "pending">;

/** A result: in the words of the agent, and in those of the task, if it has said anything. */
export interface CheckResult {
  level: CheckLevel;
  text: string;
  output: string;
}

/** A try whose result has come. `startedAt`: when the attempt started. */
interface Try {
  check: CheckSpec;
  restart: CheckRestart | undefined;
  startedAt: Instant;
  beganAt: Instant;
  result: CheckResult;
}

/** The check after a result (health.md#statuses). When it is tried again is not decided here. */
export function withResult(before: CheckState, made: Try, now: Instant): CheckState {
  const { check, result } = made;
  if (result.level === "passing") {
    const good = before.good + 1;
    const status = good >= check.passAfter ? "passing" : before.status;
    const passed = { ...before, good, bad: 0, unhealthy: 0, hasPassed: true };
    return status === "passing" ? { ...withStatus(passed, status, now), output: undefined } : passed;
  }
  const counts = !isStarting(before, made);
  const bad = before.bad + (counts ? 1 : 0);
  const status = bad >= check.failAfter ? result.level : before.status;
  const failed = { ...before, good: 0, bad, unhealthy: unhealthyAfter(before, made) };
  const next = withStatus(failed, status, now);
  // A text that goes on changing is no news: the control plane would store it each time.
  const isNew = status !== before.status || before.output === undefined;
  return status !== "passing" && isNew ? { ...next, output: textOf(result) } : next;
}

/** Whether the failures of a check restart its task now (health.md#restart). */
export function mustRestart({ unhealthy }: CheckState, restart: CheckRestart | undefined): boolean {
  return restart !== undefined && unhealthy >= restart.limit;
}

/** Whether bad results do not count yet: the start period is not over, and nothing has passed. */
export function isStarting(
  { hasPassed }: Pick<CheckState, "hasPassed">,
  { check, startedAt, beganAt }: Pick<Try, "check" | "startedAt" | "beganAt">,
): boolean {
  return !hasPassed && beganAt < startedAt + check.startPeriodMs;
}

/** How many results in a row count for a restart. */
function unhealthyAfter(before: CheckState, made: Try): number {
  const { restart, startedAt, beganAt, result } = made;
  if (restart === undefined || (result.level === "warning" && restart.ignoreWarnings)) return 0;
  const counts = !isStarting(before, made) && beganAt >= startedAt + restart.graceMs;
  return counts ? before.unhealthy + 1 : 0;
}

function withStatus(check: CheckState, status: CheckStatus, now: Instant): CheckState {
  return status === check.status ? check : { ...check, status, since: now };
}

/** Anything that a terminal would act on, but for tabs and the ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * The text of a result, at most `MAX_CHECK_OUTPUT_CHARS` long: of what the task has said, the end is kept.
 */
export function textOf({ text, output }: CheckResult): string {
  const said = printable(output).trim();
  const own = printable(text).slice(0, MAX_CHECK_OUTPUT_CHARS);
  const room = MAX_CHECK_OUTPUT_CHARS - own.length - ": ".length;
  if (said === "" || room <= 0) return own;
  return `${own}: ${said.length <= room ? said : `…${said.slice(said.length - room + 1)}`}`.toWellFormed();
}

function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, "?");
}
