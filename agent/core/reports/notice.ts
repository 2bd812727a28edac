// What does a notice of the provider say: when will this machine be gone?
import type { Report } from "../../../src/schema/host.ts";
import { parseDuration } from "../../../src/shared/duration.ts";
import { MAX_TEXT_CHARS, NOTICE_DRIFT_MS } from "../../../src/shared/limits.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { LAST_WORDS_MS, NOTICE_EVERY_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, NoticeState } from "../types.ts";
import { fullWanted } from "./line.ts";
import { withNews } from "./pace.ts";

/** The line of a notice that says when the machine will be gone: `gone in 2m`. */
const GONE_IN = /^gone in (\S+)$/;

/** A notice as it is written: what it says, and for how long the machine will be there, if that is known. */
export function readNotice(said: string): { text: string; goneInMs: number | undefined } {
  const lines = said.split("\n").map((line) => line.trim());
  const times = lines.flatMap((line) => parseDuration(GONE_IN.exec(line)?.[1] ?? "") ?? []);
  const rest = lines.filter((line) => line !== "" && !GONE_IN.test(line)).join("\n");
  return { text: (rest || "notice").slice(0, MAX_TEXT_CHARS), goneInMs: times.at(-1) };
}

/**
 * Folds in what a look has found. `said`: null, there is no notice; absent, it could not be found out, and
 * what was known stays. Words that stay the same were said when they came: their time runs from then on.
 */
export function noticed(state: HostState, said: string | null | undefined, now: Instant): HostState {
  const { looking: _, ...before } = state.notice;
  const known = said === undefined || said === before.said ? before : heard(said, now);
  const notice = { ...known, looking: false, nextAt: now + NOTICE_EVERY_MS };
  const next = { ...state, notice };
  return isNews(state.notice, notice) ? fullWanted(withNews(next, now), now) : next;
}

function heard(said: string | null, now: Instant): Pick<NoticeState, "said" | "text" | "goneAt"> {
  if (said === null) return { said };
  const { text, goneInMs } = readNotice(said);
  return { said, text, ...(goneInMs === undefined ? {} : { goneAt: now + goneInMs }) };
}

/** A time that is said anew with each look says the same as long as it only runs. */
function isNews(before: NoticeState, after: NoticeState): boolean {
  if (before.text !== after.text || (before.goneAt === undefined) !== (after.goneAt === undefined))
    return true;
  return Math.abs((before.goneAt ?? 0) - (after.goneAt ?? 0)) > NOTICE_DRIFT_MS;
}

/** What a full report says of it: nothing, before the first look has ended. */
export function noticeReport({ notice }: HostState, now: Instant): Pick<Report, "draining" | "goneInMs"> {
  const { said, text, goneAt } = notice;
  if (said === undefined) return {};
  if (text === undefined) return { draining: null };
  return { draining: text, ...(goneAt === undefined ? {} : { goneInMs: Math.max(0, goneAt - now) }) };
}

/** When all trees must be killed because the machine goes: what is left is for telling it. */
export function noticeKillAt({ notice }: HostState): Instant | undefined {
  return notice.goneAt === undefined ? undefined : notice.goneAt - LAST_WORDS_MS;
}

/**
 * When an attempt must begin to stop because the machine goes: as late as its kill timeout allows. Whoever
 * needs less than the notice is long may end by itself.
 */
export function noticeStopAt(state: HostState, { plan }: AttemptState): Instant | undefined {
  const killAt = noticeKillAt(state);
  return killAt === undefined ? undefined : killAt - (plan?.timeoutMs ?? 0);
}

/** Begins a look whose time has come. */
export function elapseNotice(notice: NoticeState, now: Instant): NoticeState {
  if (notice.nextAt === undefined || notice.nextAt > now) return notice;
  const { nextAt: _, ...rest } = notice;
  return { ...rest, looking: true };
}

/** The look that is owed. */
export function dueLook({ notice, ending }: HostState): HostMessage[] {
  return notice.looking && ending === undefined ? [{ to: "notice", kind: "look", repeatedBy: "self" }] : [];
}
