// Which webhooks follow a pool, what are they told, and what do they read (webhooks.md#following)?
import { earliest, type Instant, type Millis } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import type { Answered, Letter } from "../../inbox.ts";
import { ownValue } from "../../own-value.ts";
import { runSummary } from "../../run/run-summary.ts";
import type { ChangedRun, EndedRun, Follow, FollowAnswer, Reach } from "../../webhook/messages.ts";
import type { Follower, RunRow } from "../record.ts";
import type { Configured, PoolState, ReadonlyConfigured, ReadonlyPool, Talk } from "../state.ts";

/** The shortest time between two messages of news to one endpoint. */
export const NEWS_PACE_MS: Millis = 1_000;
/** How many rows one page looks at, whether they match or not. */
export const FOLLOW_SCAN = 500;

/**
 * Notes an endpoint that reads the pool: from now on it is told of news. The first page says how far the pool
 * goes, and the endpoint asks until it has that page, so no news of it is owed.
 */
export function foldFollow(state: Configured, { webhook, changes }: Follow): PoolState {
  const updates = changes !== null;
  const { notBefore, asked } = talkWith(state, webhook);
  const talks = { ...state.memo.talks, [webhook]: { notBefore, asked: asked + 1 } };
  const next = { ...state, memo: { ...state.memo, talks } };
  const known = ownValue(state.record.followers, webhook);
  if (known?.updates === updates) return next;
  return withFollower(next, webhook, { updates, told: known?.told ?? reachOf(state) });
}

function withFollower(state: Configured, webhook: string, follower: Follower): Configured {
  const followers = { ...state.record.followers, [webhook]: follower };
  return { ...state, record: { ...state.record, followers } };
}

function talkWith({ memo }: ReadonlyConfigured, webhook: string): Talk {
  return ownValue(memo.talks, webhook) ?? { notBefore: 0, asked: 0 };
}

/** The changes behind the marks of an endpoint, as many as it has room for. */
export function answerFollow(state: ReadonlyPool, follow: Follow): FollowAnswer {
  if (state.record === null) return { kind: "no_such" };
  const configured: ReadonlyConfigured = { ...state, record: state.record };
  const latest = reachOf(configured);
  const isMatch = ({ project, labels }: RunRow) =>
    project === follow.project &&
    Object.entries(follow.labels).every(([name, value]) => ownValue(labels, name) === value);
  const { ends, reached, gone } = endsAfter(configured, follow, isMatch);
  const room = follow.limit - ends.length;
  // An endpoint that has only begun to follow takes up the changes from here on.
  const isNew = follow.ends === null || follow.changes === null;
  const changed = isNew
    ? { updates: [], reached: latest.changes }
    : changesAfter(configured, follow.changes ?? 0, room, isMatch);
  return {
    kind: "page",
    ends,
    updates: changed.updates,
    reached: { ends: reached, changes: changed.reached },
    gone,
    latest,
  };
}

/** How far the changes of a pool go. */
function reachOf({ memo }: ReadonlyConfigured): Reach {
  return { ends: memo.counting.ends, changes: memo.changes.latest };
}

function endsAfter(
  state: ReadonlyConfigured,
  { ends: known, since, limit }: Follow,
  isMatch: (row: RunRow) => boolean,
): { ends: EndedRun[]; reached: number; gone: number } {
  const { memo, runs, record } = state;
  const latest = memo.counting.ends;
  const after = known ?? (runs.lowest("endNumber", "endHeardAt", since) ?? latest + 1) - 1;
  const ends: EndedRun[] = [];
  let scanned = 0;
  let there = 0;
  let reached = after;
  // Ordinals have no gaps: one without a row is of a run that is deleted (webhooks.md#gap).
  const goneUpTo = (end: number) => end - after - there;
  for (const [end, row] of rowsOfEnds(state, after)) {
    if (ends.length === limit || scanned === FOLLOW_SCAN) return { ends, reached, gone: goneUpTo(reached) };
    scanned += 1;
    reached = end;
    if (row === undefined) continue;
    there += 1;
    // What the pool learned of before `since` is somebody else's past.
    const { endHeardAt = row.heardAt } = row;
    if (endHeardAt >= since && isMatch(row))
      ends.push({ end, gone: goneUpTo(end), run: runSummary(row, record.name) });
  }
  if (scanned < FOLLOW_SCAN) reached = Math.max(reached, latest);
  return { ends, reached, gone: goneUpTo(reached) };
}

/** The ended runs after an ordinal: by the ends in memory or, after a restart, by a scan of the table. */
function* rowsOfEnds(
  { memo, runs }: ReadonlyConfigured,
  after: number,
): Generator<[number, RunRow | undefined]> {
  if (memo.recentEnds.remembers(after)) {
    for (const [end, key] of memo.recentEnds.since(after)) yield [end, runs.get(key)];
    return;
  }
  for (const row of runs.above("endNumber", after, "", FOLLOW_SCAN)) yield [row.endNumber ?? after, row];
}

/** The runs that have changed and not ended. Changes may be skipped: a run is shown as it is now. */
function changesAfter(
  { memo, runs, record }: ReadonlyConfigured,
  after: number,
  room: number,
  isMatch: (row: RunRow) => boolean,
): { updates: ChangedRun[]; reached: number } {
  const changed = memo.changes.isComplete(after)
    ? [...memo.changes.since(after)].flatMap(({ table, key }) =>
        table === "run" ? (runs.get(key) ?? []) : [],
      )
    : [...runs.above("number", after, "", FOLLOW_SCAN)];
  const updates: ChangedRun[] = [];
  for (const row of changed) {
    const { number = 0 } = row;
    if (isTerminal(row.state) || number <= after || !isMatch(row)) continue;
    if (updates.length >= room) return { updates, reached: updates.at(-1)?.number ?? after };
    updates.push({ number, run: runSummary(row, record.name) });
  }
  const isAll = changed.length < FOLLOW_SCAN || memo.changes.isComplete(after);
  return { updates, reached: isAll ? memo.changes.latest : (changed.at(-1)?.number ?? after) };
}

/** The endpoints that have not confirmed the latest news. */
function untold(state: ReadonlyConfigured): [webhook: string, reach: Reach][] {
  const reach = reachOf(state);
  const isUntold = ({ updates, told }: Follower) =>
    told.ends < reach.ends || (updates && told.changes < reach.changes);
  const followers = Object.entries(state.record.followers).filter(([, follower]) => isUntold(follower));
  return followers.map(([webhook]) => [webhook, reach]);
}

/** The news that is owed: at most one message a second and endpoint, however much has happened. */
export function newsOwed(state: ReadonlyConfigured, now: Instant): Letter<"webhook", "news">[] {
  return untold(state).flatMap(([webhook, reach]) => {
    const { notBefore, asked } = talkWith(state, webhook);
    if (notBefore > now) return [];
    const body = { webhook, pool: state.record.name, ...reach, asked };
    return { object: "webhook", to: webhook, kind: "news", repeatedBy: "self", body };
  });
}

/** When the next news may be told. */
export function newsAt(state: ReadonlyConfigured): Instant | undefined {
  return earliest(...untold(state).map(([webhook]) => talkWith(state, webhook).notBefore || undefined));
}

/**
 * The answer of an endpoint to news. What it has confirmed is stored, so that a pool that is loaded again
 * owes nothing. An endpoint that does not follow the pool is forgotten, unless it has asked since.
 */
export function foldNewsAnswer(
  state: Configured,
  { sent, answer }: Answered<"webhook", "news">,
  now: Instant,
): PoolState {
  const { webhook, ends, changes } = sent;
  const { asked } = talkWith(state, webhook);
  const known = ownValue(state.record.followers, webhook);
  if (known === undefined) return state;
  if (answer.kind !== "noted") {
    if (asked !== sent.asked) return state;
    const { [webhook]: _gone, ...followers } = state.record.followers;
    return { ...state, record: { ...state.record, followers } };
  }
  const talks = { ...state.memo.talks, [webhook]: { notBefore: now + NEWS_PACE_MS, asked } };
  return withFollower({ ...state, memo: { ...state.memo, talks } }, webhook, {
    ...known,
    told: { ends, changes },
  });
}
