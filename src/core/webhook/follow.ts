// How does an endpoint keep up with the pools that it follows (webhooks.md#following)?
import type { RunSummary } from "../../schema/run/run.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Letter } from "../inbox.ts";
import { ownValue } from "../own-value.ts";
import { deliverRun, roomOf } from "./deliveries.ts";
import type { Follow, FollowAnswer, News, NewsAnswer, Reach } from "./messages.ts";
import { typeOfRun } from "./payload.ts";
import {
  type Cursor,
  type Endpoint,
  endpointOf,
  type ReadonlyEndpoint,
  type ReadonlyWebhook,
  type WebhookState,
} from "./record.ts";

/** How many runs one page of a pool's changes has at most. */
export const FOLLOW_PAGE = 50;
/** With room for fewer deliveries no page is asked for, so that a page is worth its request. */
export const MIN_ROOM = 10;

const NOTHING: Reach = { ends: 0, changes: 0 };

/** The cursors after a change of the followed pools. */
export function cursorsFor(
  before: Record<string, Cursor>,
  pools: Record<string, Instant>,
): Record<string, Cursor> {
  const cursors: Record<string, Cursor> = {};
  for (const [pool, listedAt] of Object.entries(pools)) {
    const known = ownValue(before, pool);
    // A pool that comes back before it was read to its end goes on where it was: nothing unread is lost.
    cursors[pool] = known === undefined ? freshCursor(listedAt) : { ...known, listedAt, leaving: false };
  }
  // What ended before the pool was left out is still owed.
  for (const [pool, cursor] of Object.entries(before)) {
    if (!Object.hasOwn(pools, pool)) cursors[pool] = { ...cursor, leaving: true };
  }
  return cursors;
}

/** A cursor that begins at an instant: the ends of which the pool learned since then are owed. */
export function freshCursor(listedAt: Instant, since = listedAt): Cursor {
  return { ...NOTHING, listedAt, since, placed: false, told: NOTHING, leaving: false };
}

/** Whether anything that the pool has is not read yet. */
export function isBehind(cursor: Cursor, wantsUpdates: boolean): boolean {
  return isBehindInEnds(cursor) || (wantsUpdates && cursor.told.changes > cursor.changes);
}

/** Whether it asks for as long as it exists, whatever becomes of its settings. */
function isBehindInEnds({ placed, leaving, told, ends }: Cursor): boolean {
  return !placed || leaving || told.ends > ends;
}

/** Whether an endpoint is told of every change of a run, and not only of its end. */
export function wantsUpdates({ record }: ReadonlyEndpoint): boolean {
  return record.settings.fields.types.includes("run.updated");
}

/** The pages that the endpoint asks its pools for. It asks for no more than it may keep waiting. */
export function followsOwed(state: ReadonlyEndpoint): Letter<"pool", "follow">[] {
  const { record } = state;
  const limit = Math.min(FOLLOW_PAGE, roomOf(state));
  if (limit < MIN_ROOM || record.disabled !== null) return [];
  const updates = wantsUpdates(state);
  const behind = Object.entries(record.cursors).filter(([, cursor]) => isBehind(cursor, updates));
  return behind.map(([pool, { placed, ends, changes, since }]) => {
    const { project, fields } = record.settings;
    const { labels } = fields;
    const marks = { ends: placed ? ends : null, changes: updates ? changes : null };
    const body: Follow = { webhook: record.id, pool, ...marks, since, project, labels, limit };
    return { object: "pool", to: pool, kind: "follow", repeatedBy: "self", body };
  });
}

/**
 * Notes how far the changes of a pool go. Stored is only what makes the endpoint ask again. All of it is in
 * memory, too, since the answer that is on its way may be older than the news. That is enough if there are
 * ends to ask for: after a crash it asks again, and learns everything. If there are only updates, other
 * settings may end that, so the news is stored: the pool does not repeat it.
 */
export function foldNews(state: WebhookState, { pool, ...news }: News): WebhookState {
  const endpoint = endpointOf(state);
  const cursor = ownValue(endpoint?.record.cursors, pool);
  if (endpoint === undefined || cursor === undefined) return state;
  const heard = further(ownValue(state.memo.news, pool) ?? NOTHING, news);
  const noted = { ...state, memo: { ...state.memo, news: { ...state.memo.news, [pool]: heard } } };
  const told = further(cursor.told, news);
  const isKnown = told.ends === cursor.told.ends && told.changes === cursor.told.changes;
  if (isBehindInEnds(cursor) || isKnown) return noted;
  return { ...noted, record: withCursor(endpoint, pool, { ...cursor, told }) };
}

function further(one: Reach, other: Reach): Reach {
  return { ends: Math.max(one.ends, other.ends), changes: Math.max(one.changes, other.changes) };
}

/** What a pool learns from its news. */
export function answerNews(state: ReadonlyWebhook, { pool }: News): NewsAnswer {
  const endpoint = endpointOf(state);
  if (endpoint === undefined) return { kind: "no_such" };
  return { kind: Object.hasOwn(endpoint.record.cursors, pool) ? "noted" : "not_following" };
}

/**
 * Makes deliveries of a page, in its order, and moves the cursor behind them: both in one step. News that has
 * overtaken the page counts once: if the pool's next answer does not reach so far, the pool is right.
 */
export function foldFollowAnswer(
  state: Endpoint,
  sent: Follow,
  answer: FollowAnswer,
  now: Instant,
): Endpoint {
  const cursor = ownValue(state.record.cursors, sent.pool);
  const isAsked = cursor?.since === sent.since && (cursor.placed ? cursor.ends : null) === sent.ends;
  if (cursor === undefined || !isAsked) return state;
  if (answer.kind === "no_such") {
    // A pool that never had a configuration has no runs.
    return cursor.leaving ? dropCursor(state, sent.pool) : state;
  }
  const { types } = state.record.settings.fields;
  const isWanted = ({ run }: { run: RunSummary }) => types.includes(typeOfRun(run.state));
  const [ends, updates] = [answer.ends.filter(isWanted), answer.updates.filter(isWanted)];
  const room = roomOf(state);
  const shownEnds = ends.slice(0, room);
  const shownUpdates = updates.slice(0, room - shownEnds.length);
  let next = state;
  for (const { run } of [...shownUpdates, ...shownEnds]) next = deliverRun(next, run, now);
  // What did not fit, since other pools had news as well, is asked for again.
  const beyondEnds = ends[shownEnds.length];
  const beyondUpdates = updates[shownUpdates.length];
  const reached = {
    ends: beyondEnds === undefined ? answer.reached.ends : beyondEnds.end - 1,
    changes: beyondUpdates === undefined ? answer.reached.changes : beyondUpdates.number - 1,
  };
  next = withGap(next, beyondEnds === undefined ? answer.gone : beyondEnds.gone, now);
  const { [sent.pool]: heard = NOTHING, ...news } = state.memo.news;
  next = { ...next, memo: { ...next.memo, news } };
  const moved: Cursor = { ...cursor, ...reached, placed: true, told: further(answer.latest, heard) };
  if (moved.leaving && moved.ends >= moved.told.ends) return dropCursor(next, sent.pool);
  return { ...next, record: withCursor(next, sent.pool, moved) };
}

/** Counts ends whose runs are deleted, in the step in which the cursor passes them (webhooks.md#gap). */
function withGap(state: Endpoint, gone: number, now: Instant): Endpoint {
  if (gone === 0) return state;
  const { record } = state;
  return { ...state, record: { ...record, gap: { runs: (record.gap?.runs ?? 0) + gone, at: now } } };
}

function withCursor<E extends ReadonlyEndpoint>(state: E, pool: string, cursor: Cursor): E["record"] {
  return { ...state.record, cursors: { ...state.record.cursors, [pool]: cursor } };
}

function dropCursor(state: Endpoint, pool: string): Endpoint {
  const { [pool]: _dropped, ...cursors } = state.record.cursors;
  return { ...state, record: { ...state.record, cursors } };
}
