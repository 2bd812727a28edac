import { describe, expect, test } from "vitest";
import { LAST_WORDS_MS } from "../../../agent/core/bounds.ts";
import { NOTICE_EVERY_MS, readNotice } from "../../../agent/core/reports/notice.ts";
import { MAX_TEXT_CHARS } from "../../../src/shared/limits.ts";
import { busyHost, type Driven, ID, idleHost, run } from "./drive.ts";

/** A look that has found this. */
const found = (host: Driven, said: string | null | undefined) => host.tell({ type: "noticed", raw: said });
const SPOT = "spot interruption";

describe("a notice as it is written", () => {
  test.each([
    ["only words", "spot interruption\n", "spot interruption", undefined],
    ["with a time", "spot interruption\ngone in 2m\n", "spot interruption", 120_000],
    ["only a time", "gone in 90s", "notice", 90_000],
    ["the last time counts", "a\ngone in 1m\ngone in 2m", "a", 120_000],
    ["a time that is none is words", "gone in a while", "gone in a while", undefined],
    [
      "no more than fits into a report",
      "x".repeat(MAX_TEXT_CHARS + 1),
      "x".repeat(MAX_TEXT_CHARS),
      undefined,
    ],
  ])("%s", (_what, said, text, goneInMs) => {
    expect(readNotice(said)).toEqual({ text, goneInMs });
  });
});

describe("a host looks for a notice (workers.md#notice, cases.md#case-9)", () => {
  test("from its join on, every few seconds, one look at a time", () => {
    const host = idleHost();
    expect(host.message("look")).toBeDefined();
    found(host, null);
    expect(host.message("look")).toBeUndefined();
    expect(host.pass(NOTICE_EVERY_MS - 1).message("look")).toBeUndefined();
    expect(host.pass(1).message("look")).toBeDefined();
  });

  test("what it finds is told at once, and in each full report from then on", () => {
    const host = found(idleHost(), `${SPOT}\ngone in 2m`);
    expect(host.report()).toMatchObject({ draining: SPOT, goneInMs: 120_000 });
    host.send();
    host.pass(30_000);
    expect(host.report()).toMatchObject({ draining: SPOT, goneInMs: 90_000 });
  });

  test("before the first look has ended nothing is said of it", () => {
    expect(idleHost().pass(60_000).report()).not.toHaveProperty("draining");
    expect(found(idleHost(), undefined).pass(60_000).report()).not.toHaveProperty("draining");
  });

  test("it is taken back when it is there no more, and stays while a look fails", () => {
    const host = found(found(idleHost(), SPOT), undefined);
    expect(host.report()).toMatchObject({ draining: SPOT });
    host.send();
    expect(found(host, null).report()).toMatchObject({ draining: null });
  });

  test("words that stay the same were said when they came: their time runs", () => {
    const host = found(idleHost(), "gone in 2m").pass(60_000);
    expect(found(host, "gone in 2m").state.notice.goneAt).toBe(host.now + 60_000);
    expect(found(host, "gone in 90s").state.notice.goneAt).toBe(host.now + 90_000);
  });
});

describe("before its machine goes, a host stops what runs there (cases.md#case-9)", () => {
  /** With the 5 s of its kill timeout it must begin then. */
  const BEGINS = 120_000 - LAST_WORDS_MS - 5_000;

  test("as late as its kill timeout allows, and it says why", () => {
    const host = found(busyHost(), "gone in 2m").pass(BEGINS - 1);
    expect(host.message("signal")).toBeUndefined();
    host.pass(1);
    expect(host.message("signal")).toMatchObject({ id: ID, signal: "SIGTERM" });
    expect(host.state.attempts[ID]?.stop?.by).toBe("interruption");
    host.tell({ type: "signaled", id: ID }).pass(5_000);
    expect(host.message("kill_tree")).toBeDefined();
  });

  test("without a time nothing is stopped: nobody knows for how long it may go on", () => {
    expect(found(busyHost(), SPOT).pass(600_000).state.attempts[ID]?.stop).toBeUndefined();
  });

  test("too short a notice for its kill timeout: at once, and killed in time all the same", () => {
    const host = found(busyHost({ task: { killTimeoutMs: 60_000 } }), "gone in 30s");
    expect(host.message("signal")).toBeDefined();
    host.tell({ type: "signaled", id: ID }).pass(30_000 - LAST_WORDS_MS);
    expect(host.message("kill_tree")).toBeDefined();
  });

  test("taken back before that, it stops nothing; afterwards what has begun goes on", () => {
    const early = found(found(busyHost(), "gone in 2m"), null).pass(200_000);
    expect(early.state.attempts[ID]?.stop).toBeUndefined();
    const late = found(found(busyHost(), "gone in 2m").pass(BEGINS), null);
    expect(late.state.attempts[ID]?.stop).toBeDefined();
  });

  test("nothing is started that would only be stopped", () => {
    const host = found(idleHost(), "gone in 14s").order([run()]);
    expect(host.message("start")).toBeUndefined();
    expect(found(idleHost(), "gone in 16s").order([run()]).message("start")).toBeDefined();
  });
});
