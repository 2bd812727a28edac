import { describe, expect, test } from "vitest";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import { runKey } from "../../../src/core/pool/record.ts";
import { answerFollow, FOLLOW_SCAN, NEWS_PACE_MS } from "../../../src/core/pool/rows/followers.ts";
import { MAX_ENDS_KEPT, RecentEnds } from "../../../src/core/pool/rows/recent-ends.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { Follow, FollowPage, NewsAnswer } from "../../../src/core/webhook/messages.ts";
import type { RunState } from "../../../src/shared/run-state.ts";
import { at, configured, existing, owed, pool, upsert } from "../support/pool.ts";

const T0 = Date.UTC(2026, 0, 1);
const HOOK = "wh-1";

const follow = (more: Partial<Follow> = {}): Follow => ({
  webhook: HOOK,
  pool: "default",
  ends: null,
  changes: null,
  since: 0,
  project: "default",
  labels: {},
  limit: 50,
  ...more,
});

const follows = (more: Partial<Follow> = {}) => ({ type: "follow", body: follow(more) }) as const;
/** A run that the pool first hears of as pending, and then as ended. */
function ends(state: Configured, now: number, id: string, over: { state?: RunState; labels?: object } = {}) {
  const labels = { ...over.labels };
  const begun = at(state, now, { type: "run", body: upsert(id, { submittedAt: now, labels }) });
  const last = {
    submittedAt: now,
    labels,
    version: 2,
    state: over.state ?? "complete",
    wants: "nothing",
  } as const;
  const done = at(begun, now, { type: "run", body: upsert(id, last) });
  done.runs.flush();
  return done;
}
/** The run's allocation has forgotten it, and so does the pool. */
function deleted(state: Configured, id: string): Configured {
  const sent = { run: id, submittedAt: T0 };
  return at(state, T0, { type: "forget_answered", sent, answer: { kind: "forgotten" } });
}
function page(state: Configured, more: Partial<Follow> = {}): FollowPage {
  const answer = answerFollow(state, follow(more));
  if (answer.kind !== "page") throw new Error("the pool has no page");
  return answer;
}
const runsOf = ({ ends: items }: FollowPage) => items.map(({ run }) => run.id);
/** The pool after a restart: what it has stored is all that it knows. */
function restarted(state: Configured, ...ids: string[]): Configured {
  const rows = ids.flatMap((id) => state.runs.get(runKey(T0, id)) ?? []);
  return existing(pool(state.record, rows));
}
const news = (state: Configured, now: number) => owed(state, now, "news").map(({ body }) => body);
const heard = (state: Configured, now: number, answer: NewsAnswer) => {
  const [body] = news(state, now);
  if (body === undefined) throw new Error("no news is owed");
  return at(state, now, { type: "news_answered", sent: body, answer });
};

describe("a pool tells its followers (webhooks.md#following)", () => {
  test("without followers it owes nothing", () => {
    const state = ends(configured(), T0, "a");
    expect(news(state, T0)).toEqual([]);
    expect(state.record.followers).toEqual({});
  });

  test("of news until it is confirmed, and then once a second at most", () => {
    let state = ends(at(configured(), T0, follows()), T0, "a");
    expect(news(state, T0)).toMatchObject([{ webhook: HOOK, pool: "default", ends: 1 }]);
    expect(news(state, T0 + 60_000)).toHaveLength(1);
    state = heard(state, T0, { kind: "noted" });
    expect(news(state, T0 + 60_000)).toEqual([]);
    state = ends(ends(state, T0 + 1, "b"), T0 + 2, "c");
    expect(news(state, T0 + 3)).toEqual([]);
    expect(poolMachine.wakeAt(state)).toBeLessThanOrEqual(T0 + NEWS_PACE_MS);
    expect(news(state, T0 + NEWS_PACE_MS)).toMatchObject([{ ends: 3 }]);
  });

  test("again after a restart, if they have not confirmed it", () => {
    const state = ends(at(configured(), T0, follows()), T0, "a");
    expect(news(restarted(state, "a"), T0)).toMatchObject([{ ends: 1 }]);
  });

  test("of nothing after a restart, if they have confirmed everything: an idle pool is silent", () => {
    const state = heard(ends(at(configured(), T0, follows()), T0, "a"), T0, { kind: "noted" });
    expect(news(restarted(state, "a"), T0)).toEqual([]);
  });

  test("of nothing that the first page has shown, and of what ends after that", () => {
    const state = at(ends(configured(), T0, "a"), T0, follows());
    expect(news(state, T0)).toEqual([]);
    expect(news(restarted(state, "a"), T0)).toEqual([]);
    expect(news(ends(state, T0 + 1, "b"), T0 + 1)).toMatchObject([{ ends: 2 }]);
  });

  test("once more, if one that refuses news has asked for a page since that was sent", () => {
    const state = ends(at(configured(), T0, follows()), T0, "a");
    const [sent] = news(state, T0);
    if (sent === undefined) throw new Error("no news is owed");
    const asked = at(state, T0, follows());
    const late = at(asked, T0, { type: "news_answered", sent, answer: { kind: "not_following" } });
    expect(news(late, T0)).toMatchObject([{ ends: 1 }]);
    expect(heard(late, T0, { kind: "not_following" }).record.followers).toEqual({});
  });

  test.each<NewsAnswer>([{ kind: "no_such" }, { kind: "not_following" }])(
    "no more once one answers $kind",
    (answer) => {
      const state = heard(ends(at(configured(), T0, follows()), T0, "a"), T0, answer);
      expect(state.record.followers).toEqual({});
      expect(news(state, T0 + 60_000)).toEqual([]);
    },
  );
});

describe("a page of a pool (webhooks.md#following)", () => {
  test.each([false, true])("has the ends behind the mark, in order (after a restart: %s)", (restarts) => {
    let state = at(configured(), T0, follows());
    for (const id of ["a", "b", "c", "d"]) state = ends(state, T0, id);
    if (restarts) state = restarted(state, "a", "b", "c", "d");
    expect(runsOf(page(state, { ends: 1, limit: 2 }))).toEqual(["b", "c"]);
    expect(page(state, { ends: 1, limit: 2 }).reached.ends).toBe(3);
    expect(page(state, { ends: 3 })).toMatchObject({ reached: { ends: 4 }, latest: { ends: 4 } });
    expect(runsOf(page(state, { ends: 4 }))).toEqual([]);
  });

  test("begins with what the pool has learned since an instant, whatever its number", () => {
    let state = ends(ends(configured(), T0, "before"), T0 + 10, "then");
    state = ends(state, T0 + 20, "later");
    expect(runsOf(page(state, { since: T0 + 10 }))).toEqual(["then", "later"]);
    expect(page(state, { since: T0 + 30 })).toMatchObject({ ends: [], reached: { ends: 3 } });
  });

  test("begins behind what ended before, also if that has changed since", () => {
    let state = ends(ends(configured(), T0, "before"), T0 + 10, "then");
    const again = upsert("before", { submittedAt: T0, version: 3, state: "complete", wants: "nothing" });
    state = at(state, T0 + 20, { type: "run", body: again });
    expect(page(state, { since: T0 + 10 })).toMatchObject({ ends: [{ end: 2 }], gone: 0 });
    expect(runsOf(page(state, { ends: 0, since: T0 + 10 }))).toEqual(["then"]);
  });

  test.each([false, true])("counts the ends whose runs are deleted (after a restart: %s)", (restarts) => {
    let state = at(configured(), T0, follows());
    for (const id of ["a", "b", "c", "d", "e"]) state = ends(state, T0, id);
    for (const id of ["a", "c", "e"]) state = deleted(state, id);
    if (restarts) state = restarted(state, "b", "d");
    const shown = page(state, { ends: 0 });
    expect(shown.ends.map(({ end, gone, run }) => [run.id, end, gone])).toEqual([
      ["b", 2, 1],
      ["d", 4, 2],
    ]);
    expect(shown).toMatchObject({ reached: { ends: 5 }, gone: 3 });
    expect(page(state, { ends: 0, limit: 1 })).toMatchObject({ reached: { ends: 2 }, gone: 1 });
    expect(page(state, { ends: 2 })).toMatchObject({ reached: { ends: 5 }, gone: 2 });
    expect(page(state, { ends: 5 })).toMatchObject({ reached: { ends: 5 }, gone: 0 });
  });

  test("has only runs with the labels, and counts the others as seen", () => {
    let state = ends(configured(), T0, "other");
    state = ends(state, T0, "own", { labels: { team: "x" } });
    state = ends(state, T0, "another", { labels: { team: "y" } });
    const shown = page(state, { labels: { team: "x" }, ends: 0 });
    expect(runsOf(shown)).toEqual(["own"]);
    expect(shown.reached.ends).toBe(3);
  });

  test("has a run that the pool first heard of when it had ended", () => {
    const late = { type: "run", body: upsert("late", { state: "aborted", wants: "nothing" }) } as const;
    const state = at(configured(), T0, late);
    expect(runsOf(page(state, { ends: 0 }))).toEqual(["late"]);
  });

  test("goes on behind what it has looked at, if that is more than one page may look at", () => {
    let state = configured();
    for (let n = 0; n < FOLLOW_SCAN + 5; n += 1) state = ends(state, T0, `r${n}`);
    const first = page(state, { labels: { none: "such" }, ends: 0 });
    expect(first.reached.ends).toBe(FOLLOW_SCAN);
    expect(page(state, { labels: { none: "such" }, ends: FOLLOW_SCAN }).reached.ends).toBe(FOLLOW_SCAN + 5);
  });

  test("has updates for those who want them: a run once, as it is now, and never one that has ended", () => {
    let state = at(configured(), T0, follows({ changes: 0 }));
    const { latest } = page(state, { ends: 0, changes: 0 });
    state = at(state, T0, { type: "run", body: upsert("r", { submittedAt: T0 }) });
    const running = upsert("r", { submittedAt: T0, version: 3, state: "running", startedAt: T0 });
    state = at(state, T0 + 1, { type: "run", body: running });
    state = ends(state, T0 + 2, "over");
    const shown = page(state, { ends: 0, changes: latest.changes });
    expect(shown.updates.map(({ run }) => [run.id, run.state])).toEqual([["r", "running"]]);
    expect(page(state, { ends: 1, changes: shown.reached.changes }).updates).toEqual([]);
  });
});

describe("the ends in memory", () => {
  test(`are the latest ${MAX_ENDS_KEPT}: what is older is in the rows`, () => {
    const recent = new RecentEnds(7);
    expect([recent.remembers(6), recent.remembers(7)]).toEqual([false, true]);
    for (let n = 8; n < 8 + MAX_ENDS_KEPT; n += 1) recent.note(n, `k${n}`);
    expect([...recent.since(7)]).toHaveLength(MAX_ENDS_KEPT);
    recent.note(8 + MAX_ENDS_KEPT, "last");
    expect([recent.remembers(7), recent.remembers(8)]).toEqual([false, true]);
    expect([...recent.since(8)][0]).toEqual([9, "k9"]);
  });
});
