import { describe, expect, test } from "vitest";
import { lacksDevices } from "../../../../agent/core/devices/assign.ts";
import { type AttemptJournal, type FoundAttempt, journalOf } from "../../../../agent/core/journal.ts";
import type { HostMessage } from "../../../../agent/core/messages.ts";
import { reportOfAttempt } from "../../../../agent/core/reports/report.ts";
import { Driven, EXIT, idleHost, run, stop } from "../drive.ts";
import { failing, gpu, hostWith, NO_SOURCE, needs, seen } from "./gpus.ts";

const [A, B, C] = ["a/main/1.1", "b/main/1.1", "c/main/1.1"] as const;
const one = (id: string, gpus = 1, more = {}) => run(id, { task: needs(gpus, more) });
const launched = (id: string) => ({ type: "launched", id, by: "processes" }) as const;
const exited = (id: string) => ({ type: "exited", id, exit: { ...EXIT, code: 3 } }) as const;
const gone = (id: string) => ({ type: "tree_gone", id, killed: false }) as const;

/** The ids of the devices of an attempt. */
function devicesOf(host: Driven, id: string): string[] | string | undefined {
  const devices = host.state.attempts[id]?.devices;
  return Array.isArray(devices) ? devices.map((device) => device.id) : devices;
}
const started = (host: Driven) =>
  host.due().flatMap((message: HostMessage) => (message.kind === "start" ? [message.id] : []));
const errorOf = (host: Driven, id: string) => host.state.attempts[id]?.startError;

/** The attempts as the journal keeps them, for the next start of the agent. */
function found(host: Driven, main: FoundAttempt["main"] = { kind: "running" }): FoundAttempt[] {
  return Object.values(host.state.attempts).map((attempt) => {
    const journal: AttemptJournal = JSON.parse(JSON.stringify(journalOf(attempt)));
    return { id: attempt.id, journal, main };
  });
}

/** The next start of the agent, which has joined and knows the orders. */
function restarted(attempts: FoundAttempt[], orders: Parameters<Driven["order"]>[0]): Driven {
  const host = new Driven({ attempts, lease: { until: 1_000_000, ms: 1_800_000 } });
  const next = idleHost();
  next.state = { ...next.state, attempts: { ...host.state.attempts } };
  return next.order(orders);
}

describe("devices are given to attempts (devices.md#assignment)", () => {
  test("the first free ones of the list, each to one attempt, before it starts", () => {
    const host = hostWith(gpu("g0"), gpu("g1"), gpu("g2")).order([one(A, 2), one(B)]);
    expect([devicesOf(host, A), devicesOf(host, B)]).toEqual([["g0", "g1"], ["g2"]]);
    expect(started(host)).toEqual([A, B]);
  });

  test("none to a task that asks for none", () => {
    const host = hostWith(gpu("g0")).order([one(A, 0)]);
    expect([devicesOf(host, A), started(host)]).toEqual([undefined, [A]]);
  });

  test("none that cannot be used", () => {
    const host = hostWith(gpu("g0", { healthy: false }), gpu("g1")).order([one(A)]);
    expect(devicesOf(host, A)).toEqual(["g1"]);
  });

  test("none before somebody has looked: the attempt waits", () => {
    const host = idleHost().order([one(A)]);
    expect([started(host), errorOf(host, A)]).toEqual([[], undefined]);
    expect(started(host.tell(seen(gpu("g0"))))).toEqual([A]);
  });

  test("none before the attempt's time has come: another may have them meanwhile", () => {
    const host = hostWith(gpu("g0")).order([{ ...one(A), startInMs: 60_000 }, one(B)]);
    expect([devicesOf(host, A), devicesOf(host, B)]).toEqual([undefined, ["g0"]]);
    host.tell(launched(B)).tell(exited(B)).tell(gone(B)).pass(60_000);
    expect(devicesOf(host, A)).toEqual(["g0"]);
  });

  test("none to an attempt that is stopped before its start", () => {
    const host = idleHost()
      .order([one(A)])
      .order([stop(A)]);
    expect(devicesOf(host.tell(seen(gpu("g0"))), A)).toBeUndefined();
  });

  test("in the journal, before the start is due", () => {
    const host = hostWith(gpu("g0")).order([one(A)]);
    const attempt = host.state.attempts[A];
    expect(attempt && journalOf(attempt).devices).toEqual([gpu("g0")]);
    expect(attempt && lacksDevices(attempt)).toBe(false);
  });

  test("and are named in each report of the attempt, after its end too", () => {
    const host = hostWith(gpu("g0"))
      .order([one(A)])
      .tell(launched(A))
      .tell(exited(A))
      .tell(gone(A));
    const attempt = host.state.attempts[A];
    expect(attempt && reportOfAttempt(attempt, host.now)).toMatchObject({ state: "exited", devices: ["g0"] });
  });
});

describe("an attempt for which none is free (devices.md#none-free)", () => {
  test("does not start, says who has them, and may be tried again", () => {
    const host = hostWith(gpu("g0"), gpu("g1", { healthy: false }))
      .order([one(A)])
      .tell(launched(A));
    host.order([one(A), one(B)]);
    expect(started(host)).toEqual([]);
    expect(errorOf(host, B)).toEqual({
      code: "start_failed",
      recoverable: true,
      text:
        "The task needs 1 GPU, and this machine has 0 free of 1 (1 of its GPUs cannot be used; " +
        `${A} has g0). Another attempt may find them free; \`drover workers <id>\` shows who has them.`,
    });
    expect(host.message("kill_tree")?.id).toBe(B);
  });

  test("says why the devices are not known", () => {
    const host = idleHost()
      .tell(failing("the driver is not loaded"))
      .order([one(A)]);
    expect(errorOf(host, A)?.text).toContain("its devices are not known: the driver is not loaded");
  });

  test("names a few of many holders", () => {
    const host = hostWith(...Array.from({ length: 12 }, (_, index) => gpu(`g${index}`))).order([one(A, 12)]);
    expect(errorOf(host.order([one(A, 12), one(B)]), B)?.text).toMatch(/a\/main\/1.1 has g7; and 4 more are/);
  });
});

describe("devices are freed with proof only (devices.md#freed)", () => {
  const busy = (more = {}) =>
    hostWith(gpu("g0"))
      .order([one(A, 1, more)])
      .tell(launched(A));
  const next = (host: Driven, held: Parameters<Driven["order"]>[0] = [one(A)]) => {
    host.order([...held, one(B)]);
    return devicesOf(host, B);
  };

  test.each<[string, () => Driven]>([
    ["runs", () => busy()],
    ["has ended, and its tree may live", () => busy().tell(exited(A))],
    ["is being killed", () => busy().order([stop(A, 0)])],
    [
      "cannot be killed",
      () =>
        busy()
          .order([stop(A, 0)])
          .tell({ type: "kill_failed", id: A, error: "pid 7 lives" }),
    ],
    ["has failed, and is kept", () => busy({ keep: true }).tell(exited(A)).tell(gone(A))],
    [
      "was kept, and what was started there is being ended",
      () => {
        const host = busy({ keep: true }).tell(exited(A)).tell(gone(A));
        return host.order([{ id: A, want: "run", holdMs: 0 }]);
      },
    ],
    [
      "was never started, but may have been",
      () =>
        hostWith(gpu("g0"))
          .order([one(A)])
          .tell({ type: "refused", id: A }),
    ],
  ])("not while their attempt %s", (_, host) => {
    expect(next(host(), [{ id: A, want: "run" }])).toBeUndefined();
  });

  test("not because the orders omit the attempt", () => {
    expect(next(busy(), [])).toBeUndefined();
  });

  test.each<[string, () => Driven]>([
    ["the last process has ended", () => busy().tell(exited(A)).tell(gone(A))],
    [
      "a kill has succeeded at last",
      () => busy().tell({ type: "kill_failed", id: A, error: "pid 7 lives" }).tell(exited(A)).tell(gone(A)),
    ],
    [
      "what was kept is over",
      () =>
        busy({ keep: true })
          .tell(exited(A))
          .tell(gone(A))
          .order([{ id: A, want: "run", holdMs: 0 }])
          .tell({ type: "hold_ended", id: A }),
    ],
  ])("once %s", (_, host) => {
    expect(next(host())).toEqual(["g0"]);
  });
});

describe("the next start of the agent (devices.md#restart)", () => {
  const busy = () =>
    hostWith(gpu("g0"), gpu("g1"))
      .order([one(A)])
      .tell(launched(A));

  test.each<[string, FoundAttempt["main"]]>([
    ["lives", { kind: "running" }],
    ["is lost, and may live", { kind: "lost" }],
    ["has ended, with a tree that may live", { kind: "ended", at: 1_000, exit: EXIT }],
  ])("gives nothing away of an attempt that %s", (_, main) => {
    const host = restarted(found(busy(), main), [one(A), one(B), one(C)]).tell(seen(gpu("g0"), gpu("g1")));
    expect([devicesOf(host, A), devicesOf(host, B), devicesOf(host, C)]).toEqual([["g0"], ["g1"], undefined]);
    expect(errorOf(host, C)?.text).toContain(`${A} has g0`);
  });

  test("gives all away after a boot of the machine, which no process survives", () => {
    const host = restarted(found(busy(), { kind: "rebooted" }), [one(B)]).tell(seen(gpu("g0")));
    expect(devicesOf(host, B)).toEqual(["g0"]);
  });

  test("gives nothing away while an attempt without a journal may live", () => {
    const host = restarted([{ id: A, main: { kind: "lost" } }], [one(B)]).tell(seen(gpu("g0")));
    expect([started(host), errorOf(host, B)]).toEqual([[], undefined]);
    expect(devicesOf(host.tell(gone(A)), B)).toEqual(["g0"]);
  });
});

describe("a machine on which nothing names devices (devices.md#source)", () => {
  test("lets nobody use any while an attempt without a journal may live (devices.md#restart)", () => {
    const host = restarted([{ id: A, main: { kind: "lost" } }], [one(B)]).tell(NO_SOURCE);
    expect([devicesOf(host, B), started(host)]).toEqual([undefined, []]);
    expect(devicesOf(host.tell(gone(A)), B)).toBe("any");
  });

  test("starts tasks without giving them any, as its control plane counts them", () => {
    const host = idleHost()
      .tell(NO_SOURCE)
      .order([one(A), one(B)]);
    expect([devicesOf(host, A), started(host)]).toEqual(["any", [A, B]]);
  });

  test("and that names them later gives none away while such an attempt lives", () => {
    const host = idleHost()
      .tell(NO_SOURCE)
      .order([one(A)])
      .tell(launched(A))
      .tell(seen(gpu("g0")));
    host.order([one(A), one(B)]);
    expect([devicesOf(host, B), errorOf(host, B)]).toEqual([undefined, undefined]);
    expect(devicesOf(host.tell(exited(A)).tell(gone(A)), B)).toEqual(["g0"]);
  });
});
