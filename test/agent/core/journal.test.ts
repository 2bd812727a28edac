import { describe, expect, test } from "vitest";
import { LEASE_KILL_MS } from "../../../agent/core/bounds.ts";
import {
  type AttemptJournal,
  adopt,
  type FoundAttempt,
  journalOf,
  leaseOf,
} from "../../../agent/core/journal.ts";
import { reportOfAttempt } from "../../../agent/core/reports/report.ts";
import type { HostState } from "../../../agent/core/types.ts";
import type { Exit } from "../../../src/schema/run/run.ts";
import { busyHost, Driven, EXIT, ID, idleHost, LEASE_MS, run, SETUP, stop } from "./drive.ts";

/** The journal of a host, as it comes back from the disk. */
function journaled(state: HostState): AttemptJournal {
  const attempt = state.attempts[ID];
  if (attempt === undefined) throw new Error("there is no such attempt");
  return JSON.parse(JSON.stringify(journalOf(attempt)));
}

/** The next start of a host's agent, on the same clock, which has found `main`. */
function restarted(host: Driven, main: FoundAttempt["main"] = { kind: "running" }): Driven {
  const next = new Driven({
    attempts: [{ id: ID, journal: journaled(host.state), main }],
    lease: leaseOf(host.state),
  });
  next.revision = host.revision;
  return next.pass(host.now - next.now);
}

function said(host: Driven) {
  const attempt = host.state.attempts[ID];
  return attempt === undefined ? undefined : reportOfAttempt(attempt, host.now);
}

const gone = { type: "tree_gone", id: ID, killed: false } as const;

describe("the next start of the agent (tasks.md#restore)", () => {
  test("reports what lives as running, since when it was (tasks.md#handle-2, tasks.md#start-3)", () => {
    const host = restarted(busyHost().pass(5_000));
    expect(said(host)).toEqual({ id: ID, state: "running", startedAgoMs: 5_000 });
  });

  test.each<[string, FoundAttempt["main"], object]>([
    ["ended meanwhile", { kind: "ended", at: 1_500, exit: EXIT }, { state: "exited", exit: EXIT }],
    ["was never told the exit", { kind: "lost" }, { state: "gone" }],
  ])("reports what %s when its tree is seen to be gone", (_, main, expected) => {
    const host = restarted(busyHost(), main);
    expect(host.owed()).toEqual(["kill_tree"]);
    expect(said(host)?.state).toMatch(/running|stopping/);
    expect(said(host.tell(gone))).toMatchObject(expected);
  });

  test("believes the exit in the journal more than the shim: it knows of the memory", () => {
    const exit = { code: null, signal: "SIGKILL", oomKilled: true, message: "" };
    const host = busyHost().tell({ type: "exited", id: ID, exit });
    const next = restarted(host, { kind: "ended", at: 9, exit: { ...exit, oomKilled: false } });
    expect(said(next.tell(gone))?.exit).toEqual(exit);
  });

  test("reports the peaks that were measured when its cgroup was still there (tasks.md#peaks)", () => {
    const peaks = { memoryBytes: 9_000, cpuMs: 100, diskBytes: 4_096 };
    const host = busyHost().tell({ type: "exited", id: ID, exit: EXIT });
    expect(said(host)?.peaks).toBe(undefined);
    host.tell({ ...gone, peaks });
    expect(said(host)?.peaks).toEqual(peaks);
    const next = restarted(host, { kind: "ended", at: 9, exit: EXIT });
    expect(said(next.tell({ ...gone, peaks: { diskBytes: 0 } }))?.peaks).toEqual(peaks);
    const unmeasured = restarted(busyHost().tell({ type: "exited", id: ID, exit: EXIT }), { kind: "lost" });
    expect(said(unmeasured.tell({ ...gone, peaks: { diskBytes: 0 } }))?.peaks).toEqual({ diskBytes: 0 });
  });

  test("keeps the time limit when the same orders come again, and takes a new one", () => {
    const host = restarted(busyHost({ timeoutMs: 60_000 }).pass(30_000));
    host.tell({ type: "joined", setup: SETUP });
    host.order([run(ID, { timeoutMs: 60_000 })]).pass(29_999);
    expect(host.owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["signal"]);
    const other = restarted(busyHost({ timeoutMs: 60_000 })).tell({ type: "joined", setup: SETUP });
    expect(
      other
        .order([run(ID, { timeoutMs: 90_000 })])
        .pass(89_999)
        .owed(),
    ).toEqual([]);
  });

  test("goes on with a stop that has begun: its grace is not granted twice", () => {
    const host = restarted(busyHost().order([stop()]).tell({ type: "signaled", id: ID }).pass(3_000));
    expect(said(host)?.state).toBe("stopping");
    expect(host.owed()).toEqual([]);
    expect(host.pass(2_000).owed()).toEqual(["kill_tree"]);
  });

  test("keeps the lease, and the time that a stop needs before its end (rule R4)", () => {
    const before = busyHost({ task: { killTimeoutMs: 60_000 } });
    const stopAt = (before.state.leaseUntil ?? 0) - LEASE_KILL_MS - 60_000;
    const host = restarted(before);
    host.pass(stopAt - host.now - 1);
    expect(host.owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["signal"]);
  });

  test("takes a lease for no longer than any that is granted: its clock may be another one", () => {
    const host = new Driven({
      attempts: [{ id: ID, main: { kind: "running" } }],
      lease: { until: 9e9, ms: LEASE_MS },
    });
    expect(host.state.leaseUntil).toBe(host.now + LEASE_MS);
  });

  test("starts nothing of what it found, whatever the orders say", () => {
    for (const kind of ["running", "lost", "rebooted"] as const) {
      const host = restarted(busyHost(), { kind }).tell({ type: "joined", setup: SETUP });
      expect(host.order([run()]).owed()).not.toContain("start");
    }
  });
});

describe("the journal says that an attempt has secrets (secrets.md#handed)", () => {
  const secrets = { KEY: { secret: "deploy", as: "file" as const } };

  test("from its orders on, and for as long as it exists", () => {
    expect(journaled(idleHost().order([run(ID, { task: { secrets } })]).state).hasSecrets).toBe(true);
    const host = busyHost({ task: { secrets } });
    expect(journaled(host.state).hasSecrets).toBe(true);
    const next = restarted(host).tell({ type: "joined", setup: SETUP });
    expect(journaled(next.order([]).state).hasSecrets).toBe(true);
  });

  test("also if only later orders say so", () => {
    const host = new Driven({ attempts: [{ id: ID, main: { kind: "lost" } }] });
    host.tell({ type: "joined", setup: SETUP }).order([run(ID, { task: { secrets } })]);
    expect(journaled(host.state).hasSecrets).toBe(true);
  });

  test("not of one that has none", () => {
    expect(journaled(busyHost().state).hasSecrets).toBeUndefined();
  });
});

describe("a full disk takes no journal, but the lease is known", () => {
  const lease = { until: 300_000, ms: 300_000 };
  const killed = { code: null, signal: "SIGTERM", oomKilled: false, message: "" } as const;
  const plan = { signal: "SIGTERM", timeoutMs: 5_000 } as const;
  // It stops for its end so early: 30 s for the kill, and the grace that the attempt may have.
  const stopsAt = lease.until - 35_000;
  test.each<[string, Partial<AttemptJournal>, number, Exit, typeof lease | undefined, string | undefined]>([
    ["a signal as late as the lease's own", { plan }, stopsAt, killed, lease, "lease"],
    ["an earlier one", { plan }, stopsAt - 1, killed, lease, undefined],
    ["an exit", { plan }, stopsAt, { ...killed, code: 1, signal: null }, lease, undefined],
    ["a signal under a lease that nobody knows", { plan }, stopsAt, killed, undefined, undefined],
    [
      "one that was ordered",
      { plan, stop: { signal: "SIGTERM", killAt: 0, killing: false, signaled: true } },
      stopsAt,
      killed,
      lease,
      undefined,
    ],
  ])("%s", (_what, journal, at, exit, known, by) => {
    const main = { kind: "ended" as const, at, exit };
    const found = { id: ID, journal: { timedOut: false, ...journal }, main };
    expect(adopt(found, at + 1, known).stop?.by).toBe(by);
  });
});
