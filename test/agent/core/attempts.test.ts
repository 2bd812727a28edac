import { describe, expect, test } from "vitest";
import { KILL_WAITS_MS } from "../../../agent/core/attempts/attempt.ts";
import { LAST_WORDS_MS, LEASE_KILL_MS } from "../../../agent/core/bounds.ts";
import { type AttemptJournal, type FoundAttempt, journalOf } from "../../../agent/core/journal.ts";
import { isLeaseEnding, type LeaseJournal } from "../../../agent/core/lease.ts";
import { reportOfAttempt } from "../../../agent/core/reports/report.ts";
import { busyHost, Driven, EXIT, ID, idleHost, LEASE_MS, run, SETUP, stop } from "./drive.ts";

const gone = { type: "tree_gone", id: ID, killed: false } as const;
const exited = { type: "exited", id: ID, exit: EXIT } as const;

/** A host of which an earlier start of the agent has left one attempt. */
function found(main: FoundAttempt["main"], journal?: AttemptJournal, lease?: LeaseJournal): Driven {
  return new Driven({ attempts: [{ id: ID, main, journal }], lease });
}

describe("what is owed to an attempt", () => {
  test.each<[string, () => Driven, string[]]>([
    ["ordered to run: it is started", () => idleHost().order([run()]), ["start"]],
    ["ordered twice: it is started once", () => busyHost().order([run()]), []],
    ["to keep, and here: nothing", () => busyHost().order([{ id: ID, want: "run" }]), []],
    ["to keep, and not here: rid of", () => idleHost().order([{ id: ID, want: "run" }]), ["kill_tree"]],
    ["to stop, and not here: never to be started", () => idleHost().order([stop()]), ["kill_tree"]],
    ["to stop: it is signaled", () => busyHost().order([stop()]), ["signal"]],
    [
      "signaled: its grace is waited for",
      () => busyHost().order([stop()]).tell({ type: "signaled", id: ID }),
      [],
    ],
    ["grace over: its tree is killed", () => busyHost().order([stop()]).pass(5_000), ["kill_tree"]],
    ["no grace: its tree is killed at once", () => busyHost().order([stop(ID, 0)]), ["kill_tree"]],
    [
      "to stop before it was launched: killed",
      () => idleHost().order([run()]).order([stop()]),
      ["kill_tree"],
    ],
    [
      "launched after all: killed still",
      () => late().tell({ type: "launched", id: ID, by: "processes" }).pass(5_000),
      ["kill_tree"],
    ],
    ["ended: what is left of its tree is killed", () => busyHost().tell(exited), ["kill_tree"]],
    ["refused, because it ran here before: rid of", () => refused(), ["kill_tree"]],
    ["its tree gone: nothing", () => busyHost().tell(exited).tell(gone), []],
    ["gone and omitted: forgotten", () => busyHost().tell(exited).tell(gone).order([]), ["forget"]],
    ["omitted: it is stopped", () => busyHost().order([]), ["signal"]],
    ["lost by an earlier start: killed, joined or not", () => found({ kind: "lost" }), ["kill_tree"]],
    ["found to run: adopted", () => found({ kind: "running" }), []],
    [
      "found ended: what is left of its tree is killed",
      () => found({ kind: "ended", at: 1, exit: EXIT }),
      ["kill_tree"],
    ],
    ["of an earlier boot: nothing, not even a kill", () => found({ kind: "rebooted" }), []],
    ["timed out: it is stopped", () => busyHost({ timeoutMs: 60_000 }).pass(60_000), ["signal"]],
    ["timed out before it was launched: never to be", () => unlaunched().pass(60_000), ["kill_tree"]],
  ])("%s", (_, host, owed) => {
    expect(host().owed()).toEqual(owed);
  });

  const late = () => idleHost().order([run()]).order([stop()]);
  const refused = () => idleHost().order([run()]).tell({ type: "refused", id: ID });
  const unlaunched = () => idleHost().order([run(ID, { timeoutMs: 60_000 })]);
});

describe("what an update changes of what runs (decisions/tasks.md#update-in-place)", () => {
  const MINUTE = 60_000;
  const limited = () => busyHost({ timeoutMs: 10 * MINUTE });
  const longer = () => limited().order([run(ID, { timeoutMs: 15 * MINUTE })]);
  const kept = () => limited().order([{ id: ID, want: "run" }]);

  test.each<[string, () => Driven, string[]]>([
    ["a longer time limit counts", () => longer().pass(15 * MINUTE - 1), []],
    ["from when it was said", () => longer().pass(15 * MINUTE), ["signal"]],
    [
      "no limit is none",
      () =>
        limited()
          .order([run()])
          .pass(15 * MINUTE),
      [],
    ],
    ["what only is to be kept keeps its limit", () => kept().pass(10 * MINUTE), ["signal"]],
  ])("%s", (_, host, owed) => {
    expect(host().owed()).toEqual(owed);
  });

  test("the host's own stop has the new signal and kill timeout", () => {
    const task = { killSignal: "SIGINT" as const, killTimeoutMs: 2 * MINUTE };
    const host = limited().order([run(ID, { task, timeoutMs: 15 * MINUTE })]);
    host.pass(15 * MINUTE);
    expect(host.message("signal")).toMatchObject({ signal: "SIGINT" });
    expect(
      host
        .tell({ type: "signaled", id: ID })
        .pass(2 * MINUTE - 1)
        .owed(),
    ).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["kill_tree"]);
  });
});

describe("signals (host-protocol.md#orders)", () => {
  const hup = (n: number) => ({ id: ID, signal: "SIGHUP" as const, n });
  const passedOn = (n: number) => ({ type: "passing_on", id: ID, n }) as const;
  const signals = [hup(2), hup(1)];

  test.each<[string, () => Driven, number | undefined]>([
    ["the first comes first", () => busyHost().order([run()], { signals }), 1],
    ["then the next", () => busyHost().order([run()], { signals }).tell(passedOn(1)), 2],
    ["each once", () => heard().order([run()], { signals }), undefined],
    ["also if an older is named again", () => heard().order([run()], { signals: [hup(1), hup(3)] }), 3],
    ["a word that comes twice changes nothing", () => heard().tell(passedOn(1)), undefined],
    ["what the orders no longer name is not sent", () => named().order([run()]), undefined],
    ["that of another attempt is not for this one", () => other(), undefined],
    ["none before there is a process", () => early(), undefined],
    ["but then", () => early().tell({ type: "launched", id: ID, by: "cgroup" }), 1],
    ["none to what is being stopped", () => named().order([stop()], { signals }), undefined],
    ["none to what has ended", () => named().tell(exited), undefined],
    ["a new start of the agent sends none again", () => again(1, 2), undefined],
    ["and sends what the last has not", () => again(1), 2],
  ])("%s", (_, host, n) => {
    expect(host().message("pass_on")?.n).toBe(n);
  });

  const named = () => busyHost().order([run()], { signals });
  const heard = () => named().tell(passedOn(1)).tell(passedOn(2));
  const early = () => idleHost().order([run()], { signals });
  const other = () => busyHost().order([run()], { signals: [{ ...hup(1), id: "b/main/1.1" }] });
  const again = (...heard: number[]) => {
    const { state } = heard.reduce((host, n) => host.tell(passedOn(n)), named());
    const lease = { until: LEASE_MS, ms: LEASE_MS };
    const journal = journalOf(state.attempts[ID] ?? never());
    const host = found({ kind: "running" }, JSON.parse(JSON.stringify(journal)), lease);
    host.tell({ type: "joined", setup: SETUP }).tell({ type: "probed", ok: true, output: "" });
    host.send();
    return host.answer([run()], { revision: 7, signals });
  };
  const never = (): never => {
    throw new Error("the attempt is not there");
  };
});

describe("a kill (tasks.md#kill)", () => {
  // tasks.md#kill-6
  test("is tried five times with growing waits, then its error is told; the tries go on", () => {
    const host = busyHost().tell(exited);
    const waits: (number | undefined)[] = [];
    for (const wait of [...KILL_WAITS_MS, 120_000]) {
      waits.push(host.message("kill_tree")?.waitMs);
      const { error } = host.state.attempts[ID]?.kill ?? {};
      expect(error === null).toBe(waits.length <= KILL_WAITS_MS.length);
      host.pass(wait).tell({ type: "kill_failed", id: ID, error: "pid 7 lives" });
    }
    expect(waits).toEqual([5_000, 20_000, 80_000, 120_000, 120_000, 120_000]);
    const report = host.report()?.attempts[0];
    expect(report).toMatchObject({
      state: "running",
      kill: { tries: 6, error: "pid 7 lives", treeGone: false },
    });
  });

  test("a second order to stop shortens the grace and never prolongs it", () => {
    const host = busyHost()
      .order([stop(ID, 60_000)])
      .order([stop(ID, 1_000)])
      .order([stop(ID, 90_000)]);
    expect(host.pass(1_000).owed()).toEqual(["kill_tree"]);
  });

  test("the same orders again shorten nothing", () => {
    const host = busyHost()
      .order([stop(ID, 10_000)])
      .tell({ type: "signaled", id: ID })
      .pass(9_000);
    host.order([stop(ID, 500)], { revision: host.revision });
    expect(host.pass(600).owed()).toEqual([]);
  });
});

describe("what is said of an attempt (host-protocol.md#report)", () => {
  const ask = (host: Driven) => host.pass(60_000).report()?.attempts[0];
  test.each<[string, () => Driven, object | undefined]>([
    ["ordered", () => idleHost().order([run()]), { state: "preparing" }],
    ["launched", () => busyHost(), { state: "running" }],
    ["being stopped", () => busyHost().order([stop()]), { state: "stopping" }],
    ["ended, but its tree lives: no exit yet", () => busyHost().tell(exited), { state: "running" }],
    ["ended, tree and all", () => busyHost().tell(exited).tell(gone), { state: "exited", exit: EXIT }],
    [
      "its status lost",
      () =>
        busyHost()
          .tell({ ...exited, exit: null })
          .tell(gone),
      { state: "gone" },
    ],
    ["its tree gone without a word", () => busyHost().tell(gone), { state: "gone" }],
    ["not to be started, and something of it lives", () => failedStart(), { state: "preparing" }],
    ["not to be started", () => notStarted(), { state: "exited", startError: { code: "not_executable" } }],
    ["timed out", () => busyHost({ timeoutMs: 5 }).pass(5).tell(exited).tell(gone), { timedOut: true }],
    [
      "stopped for the end of its agent",
      () => busyHost().tell({ type: "shutdown" }),
      { state: "stopping", stopped: "agent" },
    ],
    ["omitted and gone: nothing", () => busyHost().tell(exited).tell(gone).order([]), undefined],
  ])("%s", (_, host, said) => {
    const report = ask(host());
    if (said === undefined) expect(report).toBeUndefined();
    else expect(report).toMatchObject(said);
    if (said !== undefined && !("exit" in said))
      expect(report?.exit?.code).toBe("timedOut" in said ? 0 : undefined);
  });

  const failedStart = () => {
    const startError = { code: "not_executable" as const, text: "no" };
    return idleHost().order([run()]).tell({ type: "launch_failed", id: ID, startError });
  };
  const notStarted = () => failedStart().tell(gone);

  test("the first end stands", () => {
    const later = { ...exited, exit: { ...EXIT, code: 9 } };
    const host = busyHost()
      .tell(exited)
      .tell(later)
      .tell({ ...exited, exit: null });
    expect(ask(host.tell(gone))).toMatchObject({ state: "exited", exit: EXIT });
  });

  test("an exit that is told before the launch is not lost", () => {
    expect(ask(idleHost().order([run()]).tell(exited).tell(gone))).toMatchObject({
      state: "exited",
      exit: EXIT,
    });
  });
});

describe("who has begun a stop is told, and nobody else's is (rule R4)", () => {
  const ask = (host: Driven) => host.pass(60_000).report()?.attempts[0]?.stopped;
  const nearEnd = () => busyHost().pass(LEASE_MS - LEASE_KILL_MS);
  const shutdown = { type: "shutdown" } as const;
  test.each<[string, () => Driven, string | undefined]>([
    ["the end of the lease", nearEnd, "lease"],
    ["the end of the agent", () => busyHost().tell(shutdown), "agent"],
    [
      "the end of the lease, in place of its agent",
      () => busyHost().tell({ ...shutdown, by: "lease" }),
      "lease",
    ],
    ["orders", () => busyHost().order([stop()]), undefined],
    ["orders, and then the end of its agent", () => busyHost().order([stop()]).tell(shutdown), undefined],
    ["its lease, and then orders", () => nearEnd().order([stop()]), "lease"],
    ["its time limit", () => busyHost({ timeoutMs: 5 }).pass(5), undefined],
    ["nobody: it had ended before its agent did", () => busyHost().tell(exited).tell(shutdown), undefined],
  ])("%s", (_, host, said) => {
    expect(ask(host())).toBe(said);
  });

  test("a new start of the agent tells it too", () => {
    const attempt = busyHost().tell(shutdown).state.attempts[ID];
    if (attempt === undefined) throw new Error("it is not known");
    const next = found({ kind: "ended", at: 1, exit: EXIT }, journalOf(attempt)).state.attempts[ID];
    expect(next && reportOfAttempt(next, 2).stopped).toBe("agent");
  });
});

describe("orders are ordered by (incarnation, revision)", () => {
  test("older ones change nothing", () => {
    const host = busyHost();
    host.order([], { revision: host.revision - 1 });
    expect([host.owed(), host.state.ordersSeen]).toEqual([[], 2]);
  });

  test("those of another incarnation change nothing", () => {
    expect(busyHost().order([], { incarnation: 2 }).owed()).toEqual([]);
  });

  test("an omitted id that is named again is told, and not forgotten under way", () => {
    const host = busyHost()
      .tell(exited)
      .tell(gone)
      .order([])
      .order([run()])
      .tell({ type: "forgotten", id: ID });
    expect(host.owed()).toEqual([]);
    expect(host.report()?.attempts[0]?.state).toBe("exited");
  });
});

describe("the lease (rule R4)", () => {
  const held = { task: { killTimeoutMs: 60_000 } };

  test("nothing is started without one", () => {
    expect(idleHost().order([run()]).owed()).toEqual(["start"]);
    const host = new Driven();
    host.tell({ type: "joined", setup: SETUP }).send();
    expect(host.answer([run()], { revision: 1, leaseMs: 0 }).owed()).toEqual([]);
  });

  test("it counts from when the report was sent, not from when it was answered", () => {
    const host = idleHost();
    const sentAt = host.now;
    host.pass(4_000).order([run()]);
    expect(host.state.leaseUntil).toBe(sentAt + LEASE_MS);
  });

  test.each([
    ["an answer that names another report", { answers: 1 }],
    ["an answer that grants nothing", { leaseMs: 0 }],
    ["an answer that grants less than there is", { leaseMs: 1_000 }],
  ])("%s changes nothing", (_, more) => {
    const host = busyHost();
    const { leaseUntil } = host.state;
    expect(host.pass(2_000).order([run()], more).state.leaseUntil).toBe(leaseUntil);
  });

  test("near its end each attempt is stopped, early enough for its kill timeout and 30 s", () => {
    const host = busyHost(held);
    const stopAt = (host.state.leaseUntil ?? 0) - LEASE_KILL_MS - 60_000;
    expect(host.pass(stopAt - 1 - host.now).owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["signal"]);
  });

  test("30 s before it all trees are killed, whatever grace a stop was given", () => {
    const host = busyHost()
      .order([stop(ID, 10 * LEASE_MS)])
      .tell({ type: "signaled", id: ID });
    const killAt = (host.state.leaseUntil ?? 0) - LEASE_KILL_MS;
    expect(host.pass(killAt - 1 - host.now).owed()).toEqual([]);
    expect(host.pass(1).owed()).toEqual(["kill_tree"]);
  });

  test("a kill timeout that no lease could hold does not end the attempt at its start", () => {
    const host = busyHost({ task: { killTimeoutMs: 10 * LEASE_MS } });
    expect(host.pass(LEASE_MS / 3).owed()).toEqual([]);
  });

  test("a stop that has begun goes on, even if the lease is extended then", () => {
    const host = busyHost(held).pass(LEASE_MS - LEASE_KILL_MS - 60_000);
    expect(host.order([run()]).owed()).toEqual(["signal"]);
  });
});

describe("the end of the agent", () => {
  test("all attempts are stopped, that is told, then it exits", () => {
    const host = busyHost({ task: { killTimeoutMs: 60_000 } }).tell({ type: "shutdown" });
    expect(host.owed()).toEqual(["signal"]);
    expect(host.pass(5_000).owed()).toEqual(["kill_tree"]);
    host.tell(exited).tell(gone);
    expect(host.owed()).toEqual([]);
    expect(host.send().waitMs).toBe(0);
    expect(host.answer([run()]).message("exit")?.code).toBe(0);
  });

  test("it exits without an answer when that takes too long, and says what it could not end", () => {
    const host = busyHost({ task: { killTimeoutMs: 0 } }).tell({ type: "shutdown" });
    expect(host.pass(LAST_WORDS_MS).message("exit")).toMatchObject({
      code: 1,
      reason: expect.stringContaining(ID),
    });
  });

  test("nothing is started any more, and what was ordered too late does not keep it", () => {
    const host = idleHost().tell({ type: "shutdown" });
    host.send();
    expect(host.answer([run()], { revision: 2 }).owed()).toEqual(["exit"]);
  });

  test("a stale one says nothing more", () => {
    const host = busyHost().tell({ type: "stale", code: 3, reason: "a later start has joined" });
    expect([host.owed(), host.message("report")]).toEqual([["signal"], undefined]);
    expect(host.tell(exited).tell(gone).message("exit")).toMatchObject({
      code: 3,
      reason: "a later start has joined",
    });
  });

  test("powerOff ends the machine with it, and its own end does not", () => {
    const told = idleHost().order([], { powerOff: true });
    expect(told.pass(LAST_WORDS_MS).message("exit")?.powerOff).toBe(true);
    const asked = idleHost().tell({ type: "shutdown" });
    expect(asked.pass(LAST_WORDS_MS).message("exit")?.powerOff).toBe(false);
  });

  test("a machine that can end itself does at the end of its lease, joined or not (invariant 8)", () => {
    const lease = { until: 500_000, ms: LEASE_MS };
    const host = new Driven({ attempts: [], lease, powersOff: true });
    expect(host.pass(lease.until - 1 - host.now).owed()).toEqual([]);
    expect(host.pass(1).message("exit")).toMatchObject({ code: 0, powerOff: true });
    const stays = new Driven({ attempts: [], lease });
    expect(stays.pass(lease.until).owed()).toEqual([]);
  });

  test.each([
    ["of a lease that is about to end", 35_000, true],
    ["of one with more left than that takes", 35_001, false],
    ["of none", undefined, true],
  ])("whoever guards the lease may end what is left %s", (_, leftMs, may) => {
    const lease = leftMs === undefined ? undefined : { until: 100_000 + leftMs, ms: LEASE_MS };
    expect(isLeaseEnding(lease, 100_000)).toBe(may);
  });

  test("powerOff stops what the orders still want", () => {
    expect(busyHost().order([run()], { powerOff: true }).owed()).toEqual(["signal"]);
  });
});
