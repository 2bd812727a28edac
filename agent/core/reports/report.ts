// What is in the next report?
import type { AttemptReport, Report } from "../../../src/schema/host.ts";
import { MAX_REPORT_BYTES, MAX_REPORT_WAIT_MS } from "../../../src/shared/limits.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { MAX_STAMPS } from "../../../src/shared/time/stamps.ts";
import { isWaiting } from "../attempts/attempt.ts";
import { saidOfHold } from "../attempts/hold.ts";
import { isOver, owesOutputs } from "../attempts/outputs.ts";
import { staleReport } from "../attempts/remains.ts";
import { dataReport, keptReport } from "../attempts/sticky.ts";
import { MAX_REPORT_LOG_BYTES, MAX_REPORT_STAMPS, STAMP_CHARS } from "../bounds.ts";
import { checkReports, unhealthyReport } from "../checks/checks.ts";
import { devicesReport } from "../devices/looks.ts";
import type { LogPiecePlan, MessageOf } from "../messages.ts";
import type { AttemptState, HostState } from "../types.ts";
import { fitnessReport } from "./fitness.ts";
import { allUnackedBytes, piecesToSend, shareLogBudget, streamsOf } from "./logs.ts";
import { noticeReport } from "./notice.ts";
import { attemptsOfDelta } from "./socket.ts";
import { usageOf } from "./usage.ts";

/** Room for the JSON around the log bytes, and for an instant that gets one more digit. */
const REPORT_SLACK_BYTES = 1_024;

/** The latest report of each state: a report is made when it is due, and noted when it is sent. */
const made = new WeakMap<HostState, { now: Instant; report: MessageOf<"report"> | undefined }>();

/**
 * The next report. By webhook every report is full; on a socket some are full, and the others contain only
 * changes (host-protocol.md#report). The state comes first; log bytes fill the rest of 1 MiB. The control
 * plane may hold back its answer only if the report has no log bytes to acknowledge.
 */
export function makeReport(state: HostState, now: Instant): MessageOf<"report"> | undefined {
  const known = made.get(state);
  if (known?.now === now) return known.report;
  const report = newReport(state, now);
  made.set(state, { now, report });
  return report;
}

function newReport(state: HostState, now: Instant): MessageOf<"report"> | undefined {
  const { setup, exchange, boot } = state;
  if (setup === undefined) return undefined;
  const onSocket = state.socket.phase === "open";
  const full = !onSocket || state.ending !== undefined || now >= state.socket.fullBy;
  const named = full ? Object.values(state.attempts) : attemptsOfDelta(state, now);
  const attempts = named.filter(isReported);
  const usage = usageOf(state, full, now);
  const checksOf = checkReports(now);
  const report: Report = {
    incarnation: setup.incarnation,
    seq: exchange.seq + 1,
    clock: Math.max(0, now),
    full,
    ordersSeen: state.ordersSeen,
    ...(boot.outcome === undefined || boot.acked ? {} : { boot: boot.outcome }),
    ...(full ? aboutMachine(state, now) : {}),
    means: state.means,
    attempts: attempts.map((one) => {
      return { ...reportOfAttempt(one, now), ...checksOf(one), ...dataReport(state, one.id) };
    }),
    ...keptReport(state),
    ...(usage === undefined ? {} : { usage }),
  };
  const sendLogs = exchange.logRetryAt === undefined || exchange.logRetryAt <= now;
  // The report of an attempt's end contains all output that was not acknowledged, even if it was sent before.
  // So the end is never known without the output, whatever happens to this machine afterwards.
  const carriers = sendLogs ? attempts : attempts.filter(isOver);
  const waiting = piecesToSend(state, carriers);
  // Without log bytes nobody needs to know how large the rest is.
  const pieces = waiting.length === 0 ? [] : shareLogBudget(waiting, logBudget(report, waiting));
  const waitMs = onSocket || pieces.length > 0 || state.ending !== undefined ? 0 : holdMs(state, now);
  const by = onSocket ? "socket" : "webhook";
  return { to: setup.reportUrl, kind: "report", seq: report.seq, by, waitMs, report, pieces };
}

/** What only full reports say of the machine. */
function aboutMachine(state: HostState, now: Instant): Partial<Report> {
  return {
    ...noticeReport(state, now),
    ...fitnessReport(state),
    ...staleReport(state),
    ...devicesReport(state),
  };
}

/** An ended attempt is reported until the orders no longer name it (host-protocol.md#report). */
function isReported({ wanted, treeGone }: AttemptState): boolean {
  return wanted !== "nothing" || !treeGone;
}

/** The report of one attempt, without log bytes. */
export function reportOfAttempt(attempt: AttemptState, now: Instant): AttemptReport {
  const { id, startedAt, endedAt, exit, startError, stop, kill, treeGone } = attempt;
  const { timedOut, collected, saved, secretsOnDisk, devices, peaks, by = "processes" } = attempt;
  const { doing, image, unhealthy } = attempt;
  const hold = saidOfHold(attempt);
  const log = logOf(attempt);
  return {
    id,
    state: reportedState(attempt),
    ...(isWaiting(attempt) ? { waits: true } : {}),
    ...(startedAt === undefined ? {} : { startedAgoMs: Math.max(0, now - startedAt) }),
    ...(endedAt === undefined ? {} : { endedAgoMs: Math.max(0, now - endedAt) }),
    ...(treeGone && exit !== undefined ? { exit } : {}),
    ...(treeGone && startError !== undefined ? { startError } : {}),
    ...(treeGone && collected !== undefined ? { outputs: collected } : {}),
    ...(treeGone && peaks !== undefined ? { peaks } : {}),
    ...(saved === undefined ? {} : { saved }),
    ...(hold === undefined ? {} : { hold }),
    ...(doing === undefined || attempt.main !== "waiting" ? {} : { doing }),
    ...(image === undefined ? {} : { image }),
    ...(Array.isArray(devices) ? { devices: devices.map((device) => device.id) } : {}),
    ...(timedOut ? { timedOut } : {}),
    ...(secretsOnDisk ? { secretsOnDisk } : {}),
    ...(stop?.by === undefined || stop.by === "check" ? {} : { stopped: stop.by }),
    ...(unhealthy === undefined ? {} : { unhealthy: unhealthyReport(unhealthy, now) }),
    ...(stop === undefined && kill.tries === 0
      ? {}
      : { kill: { tries: kill.tries, error: kill.error, treeGone, by } }),
    ...(log === undefined ? {} : { log }),
  };
}

/**
 * `exited` and `gone` mean that no process is left; an exit is not reported earlier. An attempt that has
 * ended and still has outputs to store is `uploading`, never `running` again, even after a restart of the
 * agent: it cannot be signaled. An attempt whose start has failed is `preparing` until no process is left.
 */
function reportedState(attempt: AttemptState): AttemptReport["state"] {
  const { main, stop, startedAt, exit, startError, treeGone } = attempt;
  const known = exit !== undefined || startError !== undefined;
  if (owesOutputs(attempt)) return "uploading";
  if (treeGone) return known ? "exited" : "gone";
  if (stop !== undefined || (main === "over" && !known)) return "stopping";
  return startedAt === undefined ? "preparing" : "running";
}

function logOf(attempt: AttemptState): AttemptReport["log"] {
  const written = streamsOf(attempt).filter(({ log }) => log.size > 0);
  if (written.length === 0) return undefined;
  return Object.fromEntries(
    written.map(({ stream, log: { acked: from, size } }) => [stream, { from, size }]),
  );
}

/**
 * How many raw log bytes fit: base64 turns 3 bytes into 4, and each piece has a name, quotes and padding, and
 * stamps if its attempt has started.
 */
function logBudget(report: Report, waiting: LogPiecePlan[]): number {
  if (waiting.length === 0) return 0;
  const pieceBytes = '"data":"","stamps":[],'.length + 4;
  const stamped = waiting.filter(({ startedAt }) => startedAt !== undefined).length;
  const stampBytes = Math.min(MAX_REPORT_STAMPS, stamped * MAX_STAMPS) * STAMP_CHARS;
  const around = REPORT_SLACK_BYTES + waiting.length * pieceBytes + stampBytes;
  const left = MAX_REPORT_BYTES - bytesOf(JSON.stringify(report)) - around;
  return Math.max(0, Math.min(MAX_REPORT_LOG_BYTES, Math.floor((left * 3) / 4)));
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** How long the answer may be held back: the host must report again within the probe interval. */
function holdMs(state: HostState, now: Instant): Millis {
  const { setup, exchange, reportWithinMs } = state;
  const untilRetryMs =
    exchange.logRetryAt !== undefined && allUnackedBytes(state) > 0 ? exchange.logRetryAt - now : Infinity;
  const longestMs = Math.min(MAX_REPORT_WAIT_MS, setup?.probe.intervalMs ?? 0, reportWithinMs, untilRetryMs);
  return Math.max(0, Math.floor(longestMs));
}
