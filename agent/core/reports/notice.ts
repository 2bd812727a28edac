// What does a notice of the provider say: when will this machine be gone?
import type { Report } from "../../../src/schema/host.ts";
import { parseDuration } from "../../../src/shared/duration.ts";
import { MAX_TEXT_CHARS, NOTICE_DRIFT_MS } from "../../../src/shared/limits.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { LAST_WORDS_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, NoticeState } from "../types.ts";
import { reportFully } from "./socket.ts";

/** How often the host checks whether its machine is about to be taken away (workers.md#notice). */
export const NOTICE_EVERY_MS: Millis = 5_000;

/** A line of a notice that says when the machine will be gone: `gone in 2m`. */
const GONE_IN = /^gone in (\S+)$/;

/** Parses a notice: its text, and the time until the machine will be gone, if it names one. */
export function readNotice(raw: string): { text: string; goneInMs: number | undefined } {
  const lines = raw.split("\n").map((line) => line.trim());
  const times = lines.flatMap((line) => parseDuration(GONE_IN.exec(line)?.[1] ?? "") ?? []);
  const rest = lines.filter((line) => line !== "" && !GONE_IN.test(line)).join("\n");
  return { text: (rest || "notice").slice(0, MAX_TEXT_CHARS), goneInMs: times.at(-1) };
}

/**
 * Applies the result of a check. `raw`: the notice; null if there is none; undefined if the check has failed,
 * which changes nothing. The time in a notice counts from the check that first saw this notice.
 */
export function foldNotice(state: HostState, raw: string | null | undefined, now: Instant): HostState {
  const before = state.notice;
  const known = raw === undefined || raw === before.raw ? before : contentOf(raw, now);
  const notice = { ...known, running: false, nextAt: now + NOTICE_EVERY_MS };
  const next = { ...state, notice };
  return isNews(before, notice) ? reportFully(next, now) : next;
}

function contentOf(raw: string | null, now: Instant): Pick<NoticeState, "raw" | "text" | "goneAt"> {
  if (raw === null) return { raw };
  const { text, goneInMs } = readNotice(raw);
  return { raw, text, ...(goneInMs === undefined ? {} : { goneAt: now + goneInMs }) };
}

/** Whether the notice has changed. A remaining time that shrinks from check to check is not a change. */
function isNews(before: NoticeState, after: NoticeState): boolean {
  if (before.text !== after.text || (before.goneAt === undefined) !== (after.goneAt === undefined))
    return true;
  return Math.abs((before.goneAt ?? 0) - (after.goneAt ?? 0)) > NOTICE_DRIFT_MS;
}

/** The notice in a full report. There is nothing to report before the first check has ended. */
export function noticeReport({ notice }: HostState, now: Instant): Pick<Report, "draining" | "goneInMs"> {
  const { raw, text, goneAt } = notice;
  if (raw === undefined) return {};
  if (text === undefined) return { draining: null };
  return { draining: text, ...(goneAt === undefined ? {} : { goneInMs: Math.max(0, goneAt - now) }) };
}

/**
 * When all processes must be killed because the machine goes away: the rest of the time is for the report.
 */
export function noticeKillAt({ notice }: HostState): Instant | undefined {
  return notice.goneAt === undefined ? undefined : notice.goneAt - LAST_WORDS_MS;
}

/**
 * When an attempt must begin to stop because the machine goes away: as late as the attempt's kill timeout
 * allows, since the attempt may end by itself before.
 */
export function noticeStopAt(state: HostState, { plan }: AttemptState): Instant | undefined {
  const killAt = noticeKillAt(state);
  return killAt === undefined ? undefined : killAt - (plan?.timeoutMs ?? 0);
}

/** The check for a notice, if it is due. */
export function dueLook({ notice, ending }: HostState): HostMessage[] {
  return notice.running && ending === undefined ? [{ to: "notice", kind: "look" }] : [];
}
