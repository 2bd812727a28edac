import { describe, expect, test } from "vitest";
import {
  DELIVERIES_IN_FLIGHT,
  DELIVERY_KEPT_MS,
  MAX_WAITING,
  TESTS_IN_FLIGHT,
} from "../../../src/core/webhook/deliveries.ts";
import { webhookMachine } from "../../../src/core/webhook/machine.ts";
import { MAX_PAYLOAD_BYTES, runPayload } from "../../../src/core/webhook/payload.ts";
import {
  DISABLED_AFTER_MS,
  MAX_PAUSE_MS,
  MAX_TRIES,
  RETRY_PAUSES_MS,
  retryAt,
} from "../../../src/core/webhook/schedule.ts";
import { WEBHOOK_TYPES } from "../../../src/shared/webhooks/words.ts";
import { answered, configure, DOWN, Endpoint, ID, OK, run, settings, T0 } from "./endpoint.ts";

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("an endpoint keeps a level, and no queue (webhooks.md#following)", () => {
  test("10,000 ends arrive once each, in order, with never more than 50 waiting", () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 10_000; n += 1) endpoint.ended.push(run(`r${n}`));
    let most = 0;
    endpoint.receiver = () => {
      most = Math.max(most, [...endpoint.state.deliveries.live()].length);
      return OK;
    };
    endpoint.news();
    for (let rounds = 0; rounds < 10; rounds += 1) {
      try {
        endpoint.settle();
        break;
      } catch {
        // More than one round of steps is needed.
      }
    }
    expect(endpoint.runsGot()).toEqual(endpoint.ended.map(({ id }) => id));
    expect(most).toBeLessThanOrEqual(MAX_WAITING);
  });

  test("a crash at any moment loses nothing, and doubles keep their id and their bytes", () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 200; n += 1) endpoint.ended.push(run(`r${n}`));
    let calls = 0;
    endpoint.receiver = () => {
      calls += 1;
      return calls % 3 === 0 ? null : OK;
    };
    endpoint.news();
    endpoint.settle();
    const bodies = new Map<string, string>();
    for (const { id, body } of endpoint.got) {
      expect(bodies.get(id) ?? JSON.stringify(body)).toBe(JSON.stringify(body));
      bodies.set(id, JSON.stringify(body));
    }
    expect(new Set(endpoint.runsGot())).toEqual(new Set(endpoint.ended.map(({ id }) => id)));
    expect(bodies.size).toBe(200);
  });

  test("at most five are in flight, and what is in flight stays due until its outcome", () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 20; n += 1) endpoint.ended.push(run(`r${n}`));
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    endpoint.on({ type: "follow_answered", sent: follow.body, answer: endpoint.page(follow.body) });
    const first = endpoint.sending();
    expect(first).toHaveLength(DELIVERIES_IN_FLIGHT);
    endpoint.on({ type: "attempted", number: first[1] ?? 0, tries: 0, outcome: OK });
    expect(endpoint.sending()).toEqual([...first.filter((one) => one !== first[1]), 6]);
  });

  test("a page that is answered twice, or late, makes nothing twice", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    const answer = {
      type: "follow_answered",
      sent: follow.body,
      answer: endpoint.page(follow.body),
    } as const;
    endpoint.on(answer, answer);
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["a"]);
  });

  test("news of what is known is not stored, and news for a deleted endpoint says so", () => {
    const endpoint = new Endpoint();
    endpoint.settle();
    const { record } = endpoint.state;
    endpoint.news();
    expect(endpoint.state.record).toBe(record);
    endpoint.on(configure(2, null));
    expect(endpoint.due()).toEqual([]);
    endpoint.on(configure(1)); // a late one does not bring it back
    expect(endpoint.state.record?.settings).toBeNull();
  });

  test("an end of which it hears while it is behind in updates alone outlives a change of its types", () => {
    const updates = settings({}, { types: [...WEBHOOK_TYPES] });
    const endpoint = new Endpoint(updates);
    for (let n = 0; n < 45; n += 1) endpoint.ended.push(run(`r${n}`));
    endpoint.receiver = () => DOWN;
    endpoint.settle();
    const news = (ends: number, changes: number) => {
      endpoint.on({ type: "news", body: { webhook: ID, pool: "default", ends, changes, asked: 0 } });
    };
    news(45, 7);
    endpoint.ended.push(run("last"));
    news(46, 8);
    endpoint.on(configure(2, settings({}, { types: WEBHOOK_TYPES.filter((one) => one !== "run.updated") })));
    endpoint.receiver = () => OK;
    endpoint.pass(DAY);
    expect(endpoint.runsGot()).toContain("last");
  });

  test("a pool that is left is read to its end, and then dropped", () => {
    const endpoint = new Endpoint();
    endpoint.settle();
    endpoint.ended.push(run("last"));
    endpoint.on(configure(2, settings({ pools: {} })));
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["last"]);
    expect(endpoint.state.record?.cursors).toEqual({});
  });

  test("types that are not wanted are passed over", () => {
    const endpoint = new Endpoint(settings({}, { types: ["run.failed"] }));
    endpoint.ended.push(run("good"), run("bad", { state: "failed" }), run("stopped", { state: "aborted" }));
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["bad"]);
  });
});

describe("the order of one run (webhooks.md#order)", () => {
  const update = (version: number, number: number) => ({
    number,
    run: run("r", { state: "running", version, finishedAt: null, exitCode: null }),
  });

  /** An endpoint of updates, and a way to tell it of some. */
  function follower() {
    const endpoint = new Endpoint(settings({}, { types: [...WEBHOOK_TYPES] }));
    endpoint.settle();
    const tell = (page: Pick<ReturnType<Endpoint["page"]>, "ends" | "updates">, upTo: number) => {
      endpoint.on({
        type: "news",
        body: { webhook: ID, pool: "default", ends: page.ends.length, changes: upTo, asked: 0 },
      });
      const follow = endpoint.due().find(({ kind }) => kind === "follow");
      if (follow?.kind !== "follow") throw new Error("the pool is not asked");
      const reach = { ends: page.ends.length, changes: upTo };
      const answer = { kind: "page", ...page, gone: 0, reached: reach, latest: reach } as const;
      endpoint.on({ type: "follow_answered", sent: follow.body, answer });
    };
    return { endpoint, tell };
  }

  test("an end waits for the update that is in flight, and replaces one that waits for a retry", () => {
    const { endpoint, tell } = follower();
    tell({ ends: [], updates: [update(1, 10)] }, 10);
    tell({ ends: [{ end: 1, gone: 0, run: run("r") }], updates: [] }, 20);
    expect(endpoint.sending()).toEqual([1]);
    endpoint.on({ type: "attempted", number: 1, tries: 0, outcome: DOWN });
    expect(endpoint.row(1)?.state).toBe("superseded");
    expect(endpoint.sending()).toEqual([2]);
    expect(JSON.parse(endpoint.row(2)?.body ?? "{}")).toMatchObject({ type: "run.completed" });
  });

  test("an update that is in flight is waited for, too, if the clock was set back since it began", () => {
    const { endpoint, tell } = follower();
    tell({ ends: [], updates: [update(1, 10)] }, 10);
    endpoint.now -= 10 * SECOND;
    tell({ ends: [{ end: 1, gone: 0, run: run("r") }], updates: [] }, 20);
    expect([endpoint.row(1)?.state, endpoint.sending().includes(2)]).toEqual(["waiting", false]);
    endpoint.on({ type: "attempted", number: 1, tries: 0, outcome: OK });
    expect(endpoint.sending()).toEqual([2]);
  });

  test("updates that wait for a retry are coalesced, and an end never is", () => {
    const { endpoint, tell } = follower();
    tell({ ends: [], updates: [update(1, 10)] }, 10);
    endpoint.on({ type: "attempted", number: 1, tries: 0, outcome: DOWN });
    tell({ ends: [], updates: [update(2, 20)] }, 20);
    tell({ ends: [], updates: [update(3, 30)] }, 30);
    tell({ ends: [{ end: 1, gone: 0, run: run("r", { version: 4 }) }], updates: [] }, 40);
    endpoint.pass(HOUR);
    const versions = endpoint.got.map(({ body }) => body.data.version);
    expect(versions).toEqual([...versions].sort());
    expect(versions.at(-1)).toBe(4);
    expect([1, 2, 3, 4].map((number) => endpoint.row(number)?.state)).not.toContain("waiting");
  });
});

describe("the schedule (webhooks.md#schedule)", () => {
  test("has ten attempts over three days, each pause with up to a quarter more", () => {
    expect(MAX_TRIES).toBe(10);
    expect(RETRY_PAUSES_MS.map((ms) => ms / SECOND)).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
    for (const [index, pause] of RETRY_PAUSES_MS.entries()) {
      const at = retryAt("msg", index + 1, T0, 0) - T0;
      expect(at).toBeGreaterThanOrEqual(pause);
      expect(at).toBeLessThan(1.25 * pause);
    }
    expect(retryAt("msg", 1, T0, T0 + HOUR)).toBe(T0 + HOUR);
  });

  test("a receiver that is down for three days gets everything, in order, soon after it is back", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = () => DOWN;
    for (let n = 0; n < 300; n += 1) {
      endpoint.ended.push(run(`r${n}`));
      endpoint.news();
      endpoint.pass(DAY / 100);
    }
    expect(endpoint.state.record?.failing).toMatchObject({ since: T0 });
    expect(endpoint.state.record?.disabled).toBeNull();
    const before = endpoint.got.length;
    endpoint.receiver = () => OK;
    endpoint.pass(DAY * 1.25);
    const got = endpoint.runsGot().slice(before);
    expect(new Set(got)).toEqual(new Set(endpoint.ended.map(({ id }) => id)));
    expect(got).toHaveLength(300);
    expect(endpoint.state.record?.failing).toBeNull();
    const times = endpoint.got.slice(before).map(({ at }) => at);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(SECOND);
  });

  test("one event that is never accepted fails after ten attempts, and holds nothing else up", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = (row) => (row.run === "poison" ? answered(500) : OK);
    endpoint.ended.push(run("poison"));
    for (let n = 0; n < 200; n += 1) {
      endpoint.ended.push(run(`r${n}`));
      endpoint.news();
      endpoint.pass(DAY / 20);
    }
    expect(endpoint.row(1)).toMatchObject({ state: "failed", tries: MAX_TRIES });
    expect(new Set(endpoint.runsGot()).size).toBe(201);
    expect(endpoint.state.record?.disabled).toBeNull();
  });

  test("an answer after the deadline counts as none, and its double keeps the id", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("late"));
    endpoint.receiver = ({ tries }) => (tries === 0 ? DOWN : OK);
    endpoint.pass(HOUR);
    expect(endpoint.got.map(({ id }) => id)).toEqual([`msg_${ID}_1`, `msg_${ID}_1`]);
  });
});

describe("throttling (webhooks.md#throttling)", () => {
  test.each([
    [429, 60 * SECOND, 60 * SECOND],
    [503, 2 * SECOND, 5 * SECOND],
    [502, null, 5 * SECOND],
    [504, 30 * DAY, MAX_PAUSE_MS],
  ])("%i with Retry-After %s pauses everything until then", (status, retryAfterMs, leastMs) => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.receiver = () => answered(status, retryAfterMs);
    endpoint.settle();
    endpoint.receiver = () => OK;
    endpoint.ended.push(run("b"));
    endpoint.news();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["a"]);
    endpoint.pass(Math.min(leastMs * 2, 2 * DAY));
    const [, second] = endpoint.got;
    expect((second?.at ?? 0) - T0).toBeGreaterThanOrEqual(Math.min(retryAfterMs ?? leastMs, MAX_PAUSE_MS));
    expect(new Set(endpoint.runsGot())).toEqual(new Set(["a", "b"]));
  });

  test("another error pauses nothing", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = (row) => (row.run === "a" ? answered(500, HOUR) : OK);
    endpoint.ended.push(run("a"), run("b"));
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["a", "b"]);
  });
});

describe("disabling (webhooks.md#disabling)", () => {
  test("410 disables at once, and what waits is sent when the endpoint is enabled", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = () => answered(410);
    endpoint.ended.push(run("a"), run("b"));
    endpoint.news();
    endpoint.settle();
    expect(endpoint.state.record?.disabled).toMatchObject({ code: "gone", by: null });
    expect(endpoint.got).toHaveLength(1);
    endpoint.ended.push(run("c"));
    endpoint.news();
    endpoint.pass(DAY);
    endpoint.receiver = () => OK;
    endpoint.on({ type: "enable", from: "last", by: "ann" });
    endpoint.settle();
    expect(new Set(endpoint.runsGot().slice(1))).toEqual(new Set(["a", "b", "c"]));
  });

  test("five days of failures disable it, and four do not", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = () => DOWN;
    endpoint.ended.push(run("a"));
    endpoint.pass(DISABLED_AFTER_MS - DAY);
    expect(endpoint.state.record?.disabled).toBeNull();
    endpoint.pass(3 * DAY);
    expect(endpoint.state.record?.disabled).toMatchObject({ code: "failing" });
    expect(endpoint.state.record?.disabled?.text).toContain("nobody is there");
    expect(endpoint.row(1)?.state).toBe("waiting");
  });

  test("that Drover was away for a week is not held against the receiver", () => {
    const endpoint = new Endpoint();
    endpoint.receiver = () => DOWN;
    endpoint.ended.push(run("a"));
    endpoint.settle();
    endpoint.now += 7 * DAY;
    endpoint.crash();
    endpoint.on({ type: "tick" });
    endpoint.settle();
    expect(endpoint.state.record?.disabled).toBeNull();
  });

  test("enabled from when it began, it starts over, which is no step back (webhooks.md#following)", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.news();
    endpoint.settle();
    expect(endpoint.state.record?.cursors.default).toMatchObject({ placed: true, since: T0, ends: 1 });
    endpoint.on({ type: "enable", from: T0, by: "ann" });
    expect(endpoint.state.record?.cursors.default).toMatchObject({ placed: false, since: T0 });
  });

  test("enabled from now, it skips what waits and what ended before", () => {
    const endpoint = new Endpoint();
    endpoint.on({ type: "disable", by: "token:ops" });
    expect(endpoint.state.record?.disabled).toMatchObject({ code: "asked", by: "token:ops" });
    endpoint.ended.push(run("a"));
    endpoint.news();
    endpoint.settle();
    expect(endpoint.got).toEqual([]);
    endpoint.now += HOUR;
    endpoint.on({ type: "enable", from: endpoint.now, by: "ann" });
    const [follow] = endpoint.due();
    expect(follow).toMatchObject({ kind: "follow", body: { ends: null, since: T0 + HOUR } });
  });

  test("a test is sent once, also while it is disabled, and changes nothing else", () => {
    const endpoint = new Endpoint();
    endpoint.on({ type: "disable", by: "admin" }, { type: "test", by: "admin" });
    endpoint.receiver = () => DOWN;
    endpoint.pass(DAY);
    expect(endpoint.got).toHaveLength(1);
    expect(endpoint.row(1)).toMatchObject({ type: "webhook.test", state: "failed", tries: 1 });
    expect(endpoint.state.record).toMatchObject({ failing: null, disabled: { code: "asked" } });
  });
});

describe("a test that a person asks for is sent at once (webhooks.md#tests)", () => {
  const ask = (endpoint: Endpoint) => endpoint.on({ type: "test", by: "ann" });
  /** How many deliveries were made so far, so that the test has the next number. */
  const made = (endpoint: Endpoint) => (endpoint.state.record?.nextNumber ?? 1) - 1;

  test.each([429, 502, 503, 504])("while the receiver has asked by %i for a pause", (status) => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.receiver = () => answered(status, DAY);
    endpoint.settle();
    const { pausedUntil } = endpoint.state.record ?? {};
    ask(endpoint);
    expect(endpoint.sending()).toEqual([2]);
    expect(webhookMachine.wakeAt(endpoint.state)).toBe(endpoint.now);
    endpoint.receiver = () => OK;
    endpoint.settle();
    expect(endpoint.row(2)?.state).toBe("delivered");
    expect(endpoint.runsGot().filter((id) => id !== undefined)).toEqual(["a"]);
    expect(endpoint.state.record?.pausedUntil).toBe(pausedUntil);
  });

  test("while as many deliveries are in flight as may be, and more wait", () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 40; n += 1) endpoint.ended.push(run(`r${n}`));
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    endpoint.on({ type: "follow_answered", sent: follow.body, answer: endpoint.page(follow.body) });
    const inFlight = endpoint.sending();
    expect(inFlight).toHaveLength(DELIVERIES_IN_FLIGHT);
    endpoint.now += SECOND;
    ask(endpoint);
    expect(endpoint.sending()).toEqual([made(endpoint), ...inFlight]);
  });

  test(`with at most ${TESTS_IN_FLIGHT} others at a time`, () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < TESTS_IN_FLIGHT + 2; n += 1) ask(endpoint);
    expect(endpoint.sending()).toHaveLength(TESTS_IN_FLIGHT);
    endpoint.settle();
    expect(endpoint.got).toHaveLength(TESTS_IN_FLIGHT + 2);
  });
});

describe("replay (webhooks.md#replay)", () => {
  test("one is sent again with its id and its bytes", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("a"));
    endpoint.settle();
    endpoint.on({ type: "replay", numbers: [1, 7], by: "ann" });
    endpoint.settle();
    expect(endpoint.got).toHaveLength(2);
    expect(endpoint.got[1]).toEqual(endpoint.got[0]);
  });

  test.each([
    [false, ["r100", "r101", "r102"]],
    [true, undefined],
  ])("a range of more than fits is sent in steps (all: %s)", (all, expected) => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 600; n += 1) endpoint.ended.push(run(`r${n}`));
    endpoint.settle();
    // Three of them did not arrive, after all.
    for (const number of [101, 102, 103]) {
      const row = endpoint.row(number);
      if (row !== undefined)
        endpoint.state.deliveries.set(String(number).padStart(12, "0"), { ...row, state: "failed" }, T0);
    }
    endpoint.state.deliveries.flush();
    const before = endpoint.got.length;
    endpoint.on({ type: "replay_range", range: { since: T0, until: T0 + 1, all }, by: "ann" });
    for (let ticks = 0; ticks < 20; ticks += 1) {
      endpoint.on({ type: "tick" });
      endpoint.settle();
    }
    expect(endpoint.runsGot().slice(before).sort()).toEqual(
      expected ?? endpoint.ended.map(({ id }) => id).sort(),
    );
    expect(endpoint.state.record?.replay).toBeNull();
  });

  test("what was over 30 days ago is forgotten", () => {
    const endpoint = new Endpoint();
    endpoint.ended.push(run("old"));
    endpoint.settle();
    endpoint.pass(DELIVERY_KEPT_MS - HOUR);
    expect(endpoint.row(1)).toBeDefined();
    endpoint.pass(2 * HOUR);
    expect(endpoint.row(1)).toBeUndefined();
  });
});

describe("the body (webhooks.md#body)", () => {
  test.each([
    ["fits", 100, false],
    ["is too large with its labels, leaves them out and says so", 1_024, true],
  ])("%s", (_, chars, omitted) => {
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_one, n) => [`l${n}`, "x".repeat(chars)]));
    const body = runPayload(run("r", { labels }), "https://drover.example.com", T0);
    expect(new TextEncoder().encode(body).byteLength).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
    expect(JSON.parse(body).data.labelsOmitted ?? false).toBe(omitted);
  });

  test("says that the run is parked, and not why: that may be its own words (webhooks.md#body)", () => {
    const parked = { since: "2026-11-21T08:30:00.000Z", tries: 3 };
    const reason = "after 3 tries: check `db` has failed: connection of admin:s3cret@db refused";
    const dataOf = (more: object) => JSON.parse(runPayload(run("r", more), "https://d.example.com", T0)).data;
    expect(dataOf({ parked: { ...parked, reason } }).parked).toEqual(parked);
    expect(dataOf({})).not.toHaveProperty("parked");
  });
});
