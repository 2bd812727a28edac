import { describe, expect, test } from "vitest";
import { type AttemptJournal, journalOf, leaseOf } from "../../../agent/core/journal.ts";
import { reportOfAttempt } from "../../../agent/core/reports/report.ts";
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { busyHost, Driven, EXIT, ID, LEASE_MS, run, SETUP, stop } from "./drive.ts";

const globs = ["dist/**"];
const stored = { snapshot: `sha256:${"0".repeat(64)}`, files: 2, bytes: 300 };
const failed = { ...EXIT, code: 3 };

/** A host whose one attempt has outputs, and runs. */
const running = (more: Parameters<typeof run>[1] = {}) => busyHost({ ...more, task: { outputs: globs } });
const exited = (host: Driven, exit = EXIT) => host.tell({ type: "exited", id: ID, exit });
const gone = (host: Driven) => host.tell({ type: "tree_gone", id: ID, killed: false });
const collecting = (more?: Parameters<typeof run>[1]) => gone(exited(running(more)));
const collected = (host: Driven, outputs: typeof stored | { error: string } = stored) =>
  host.tell({ type: "collected", id: ID, outputs });
const said = (host: Driven) => {
  const attempt = host.state.attempts[ID];
  return attempt === undefined ? undefined : reportOfAttempt(attempt, host.now);
};
const owes = (host: Driven) => host.owed().includes("collect");

// decisions/files.md#outputs
describe("the outputs of a task are collected when it has ended by itself", () => {
  test.each<[string, () => Driven, string]>([
    ["it runs", () => running(), "running"],
    ["its tree lives", () => exited(running()), "uploading"],
    ["its status is lost", () => gone(running()), "gone"],
    ["it could not start", () => gone(unstarted(running({ task: {} }))), "exited"],
    ["it was stopped by an order", () => gone(exited(running().order([stop()]))), "exited"],
    ["it was told to stop as it ended", () => gone(exited(running()).order([stop()])), "exited"],
    ["its time was over", () => gone(exited(running({ timeoutMs: 10 }).pass(10))), "exited"],
    ["its lease was over", () => gone(exited(running().pass(LEASE_MS))), "exited"],
    ["it has none", () => gone(exited(busyHost())), "exited"],
  ])("not while, or when, %s", (_, make, state) => {
    const host = make();
    expect([owes(host), said(host)?.state]).toEqual([false, state]);
    expect(said(host)?.outputs).toBeUndefined();
  });

  test.each([[EXIT], [failed]])("whatever it has exited with: %o", (exit) => {
    const host = gone(exited(running(), exit));
    expect(host.message("collect")).toMatchObject({ id: ID, globs });
    expect(said(host)).toMatchObject({ state: "uploading", exit });
    expect(said(collected(host))).toMatchObject({ state: "exited", exit, outputs: stored });
    expect(host.owed()).toEqual([]);
  });

  test("also if they are lost, and that is said", () => {
    const host = collected(collecting(), { error: "too large" });
    expect(said(host)).toMatchObject({ state: "exited", exit: EXIT, outputs: { error: "too large" } });
  });

  test("not before the host has joined", () => {
    const host = restarted(collecting());
    gone(host);
    expect([owes(host), said(host)?.state]).toEqual([false, "uploading"]);
    host.tell({ type: "joined", setup: SETUP });
    expect(owes(host)).toBe(true);
  });
});

describe("what ends the collection (api.md#abort; issue: one deadline over all phases)", () => {
  test.each<[string, () => Driven, object]>([
    ["an order", () => collecting().order([stop()]), { kill: { treeGone: true } }],
    ["the deadline", () => collecting({ timeoutMs: 60_000 }).pass(60_000), { timedOut: true }],
    ["the lease", () => collecting().pass(LEASE_MS), { stopped: "lease" }],
    ["the end of the agent", () => collecting().tell({ type: "shutdown" }), { stopped: "agent" }],
    [
      "the deadline before its tree is gone",
      () => gone(exited(running({ timeoutMs: 9 })).pass(9)),
      { timedOut: true },
    ],
    [
      "the end of the agent before its tree is gone",
      () => gone(exited(running()).tell({ type: "shutdown" })),
      { stopped: "agent" },
    ],
    [
      "the end of the machine",
      () => collecting().tell({ type: "noticed", raw: "gone in 30s" }).pass(30_000),
      { stopped: "interruption" },
    ],
  ])("%s", (_, make, more) => {
    const host = make();
    expect(owes(host)).toBe(false);
    expect(said(host)).toMatchObject({ state: "exited", exit: EXIT, ...more });
    expect(said(collected(host))?.outputs).toBeUndefined();
  });

  test("its absence from the orders, and then it is forgotten", () => {
    expect(collecting().order([]).owed()).toContain("forget");
    expect(owes(collecting().order([]))).toBe(false);
  });

  test("nothing, once they are stored", () => {
    const host = collected(collecting({ timeoutMs: 60_000 })).pass(60_000);
    expect(said(host.order([stop()]))).toMatchObject({ state: "exited", outputs: stored });
    expect(said(host)?.timedOut).toBeUndefined();
  });

  test("no grace: there is nothing to be killed", () => {
    expect(
      collecting()
        .order([stop(ID, 60_000)])
        .owed(),
    ).toEqual([]);
  });
});

describe("what is told of it", () => {
  const dueAt = (host: Driven) => host.state.exchange.newsBy;

  test("that it is uploading, soon; a quick end of that takes no report of its own", () => {
    const host = collecting();
    expect(dueAt(host)).toBe(host.now + START_REPORT_DELAY_MS);
    expect(dueAt(collected(host))).toBe(host.now);
  });

  test("its end at once, also when a stop has brought it", () => {
    const host = collecting();
    expect(dueAt(host.order([stop()]))).toBe(host.now);
  });
});

/** The next start of the agent, which has found that it has ended. */
function restarted(host: Driven): Driven {
  const attempt = host.state.attempts[ID];
  if (attempt === undefined) throw new Error("there is no such attempt");
  const journal: AttemptJournal = JSON.parse(JSON.stringify(journalOf(attempt)));
  const main = { kind: "ended", at: host.now, exit: EXIT } as const;
  return new Driven({ attempts: [{ id: ID, journal, main }], lease: leaseOf(host.state) });
}

describe("the next start of the agent (tasks.md#restore)", () => {
  const next = (host: Driven) => gone(restarted(host)).tell({ type: "joined", setup: SETUP });

  test("collects again what was being collected", () => {
    expect(next(collecting()).message("collect")).toMatchObject({ globs });
  });

  test("says of it that it is uploading, and never again that it runs", () => {
    const host = restarted(collecting());
    expect([host.owed(), said(host)?.state]).toEqual([["kill_tree"], "uploading"]);
  });

  test("says again what was stored", () => {
    const host = next(collected(collecting()));
    expect(owes(host)).toBe(false);
    expect(said(host)).toMatchObject({ state: "exited", exit: EXIT, outputs: stored });
  });

  test("does not collect what was stopped meanwhile", () => {
    expect(owes(next(collecting().order([stop()])))).toBe(false);
  });
});

test("the data of a sticky run do not go on elsewhere while something is collected of them", () => {
  const next = { ...run("build-17/main/2.1"), sticky: { from: 1 } };
  const sticky = { ...run(ID, { task: { outputs: globs } }), sticky: { from: null } };
  const host = gone(exited(busyHost({ task: { outputs: globs } })));
  host.order([sticky, next]);
  expect(host.owed()).toEqual(["collect"]);
  expect(collected(host).owed()).toEqual(["begin"]);
});

/** It was never started. */
function unstarted(host: Driven): Driven {
  const startError = { code: "start_failed", text: "no" } as const;
  return host.tell({ type: "launch_failed", id: ID, startError });
}
