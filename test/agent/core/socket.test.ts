import { describe, expect, test } from "vitest";
import { BACKOFF_LONGEST_MS, EXCHANGE_TIMEOUT_MS, WEBHOOK_PATIENCE_MS } from "../../../agent/core/bounds.ts";
import { hostMachine } from "../../../agent/core/host.ts";
import { SOCKET_LOG_RETRY_FIRST_MS } from "../../../agent/core/reports/exchange.ts";
import { BACKOFF_FIRST_MS } from "../../../agent/core/reports/pace.ts";
import {
  FULL_REPORT_MS,
  FULL_REPORTS_A_LEASE,
  REPEAT_FIRST_MS,
  REPEAT_LONGEST_MS,
} from "../../../agent/core/reports/socket.ts";
import type { AttemptOrder, Orders } from "../../../src/schema/host.ts";
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { Driven, EXIT, ID, LEASE_MS, run, SETUP } from "./drive.ts";

// The exchange over a socket, as the host sees it (host-protocol.md#socket).

const WITH_SOCKET = { ...SETUP, socketUrl: "http://plane/socket" };
const OTHER = "other-1/main/1.1";

/** A host that has joined a control plane with sockets. */
function joined(setup = WITH_SOCKET): Driven {
  const host = new Driven();
  return host.tell({ type: "joined", setup }).tell({ type: "probed", ok: true, output: "" });
}

/** A host whose socket is open, and on which everything has been said. */
function online(setup = WITH_SOCKET): Driven {
  const host = joined(setup).tell({ type: "socket_opening" }).tell({ type: "socket_opened" });
  host.send();
  return host.answer([], { revision: 1 });
}

/** Orders as they are pushed: newer ones, which answer no report that waits. */
function push(host: Driven, attempts: AttemptOrder[], logs: Orders["logs"] = {}): Driven {
  host.revision += 1;
  const { revision } = host;
  const rest = { leaseMs: 0, reportWithinMs: 10_000, powerOff: false };
  const orders = { incarnation: 3, revision, answers: 0, attempts, logs, ...rest };
  return host.tell({ type: "orders", seq: orders.answers, orders });
}

const launched = (id = ID) => ({ type: "launched", id, by: "processes" }) as const;
const exited = (id = ID) => ({ type: "exited", id, exit: EXIT }) as const;
const gone = (id = ID) => ({ type: "tree_gone", id, killed: false }) as const;
const kinds = (host: Driven) =>
  host
    .due()
    .map(({ kind }) => kind)
    .filter((kind) => kind !== "look" && kind !== "inspect");
const reported = (host: Driven) => host.report()?.attempts.map(({ id, state }) => `${id} ${state}`);

describe("opening", () => {
  test("a host that has joined opens its socket at once, and reports there first", () => {
    const host = joined();
    expect(kinds(host)).toEqual(["connect"]);
    host.tell({ type: "socket_opening" });
    expect(kinds(host)).toEqual([]);
    host.tell({ type: "socket_opened" });
    expect(host.send()).toMatchObject({ by: "socket", waitMs: 0, report: { full: true, seq: 1 } });
  });

  test("while it cannot be opened, reports go by webhook", () => {
    const host = joined().tell({ type: "socket_opening" }).pass(WEBHOOK_PATIENCE_MS);
    expect(host.send()).toMatchObject({ by: "webhook", report: { full: true } });
  });

  test("a control plane without sockets is never asked for one", () => {
    const { socketUrl: _, ...setup } = WITH_SOCKET;
    const host = new Driven().tell({ type: "joined", setup });
    host.send();
    expect(kinds(host)).not.toContain("connect");
  });

  test("a report that is held by webhook gives way to a full one on the socket", () => {
    const host = joined().tell({ type: "socket_opening" }).pass(WEBHOOK_PATIENCE_MS);
    host.send();
    host.answer([], { revision: 1 });
    host.send();
    host.tell({ type: "socket_opened" });
    expect(host.message("report")).toMatchObject({ by: "socket", report: { full: true } });
  });

  test.each([
    ["the first failure", 0, BACKOFF_FIRST_MS / 2],
    ["the third", 2, BACKOFF_FIRST_MS * 2],
    ["any later", 20, BACKOFF_LONGEST_MS / 2],
  ])("after %s it is tried again, with full jitter", (_which, before, waitMs) => {
    const host = joined();
    for (let failures = 0; failures <= before; failures += 1) {
      host
        .tell({ type: "socket_opening" })
        .tell({ type: "socket_closed", random: failures === before ? 0.5 : 0 });
    }
    expect(kinds(host)).not.toContain("connect");
    host.now += waitMs;
    expect(kinds(host)).toContain("connect");
  });
});

describe("orders", () => {
  test("are carried out whatever report is under way, and grant no lease (rule R4)", () => {
    const host = online();
    const { leaseUntil } = host.state;
    host.pass(1_000);
    push(host, [run()]);
    expect(kinds(host)).toEqual(["start"]);
    expect(host.state.leaseUntil).toBe(leaseUntil);
  });

  test("that answer no report leave the one waiting that is under way", () => {
    const host = online().tell({ type: "full_requested" });
    const { seq } = host.send();
    push(host, [run()]);
    expect(host.state.exchange.sent?.seq).toBe(seq);
  });
});

describe("reports", () => {
  test("name what has changed, and nothing else", () => {
    const host = push(online(), [run(), run(OTHER)])
      .tell(launched())
      .tell(launched(OTHER));
    host.pass(START_REPORT_DELAY_MS);
    expect(host.report()?.full).toBe(false);
    expect(reported(host)).toEqual([`${ID} running`, `${OTHER} running`]);
    host.send();
    host.answer([run(), run(OTHER)]);
    host.tell(exited(OTHER)).tell(gone(OTHER));
    expect(reported(host)).toEqual([`${OTHER} exited`]);
  });

  test("of one attempt leave another for later that has only begun, and needs one report if it ends", () => {
    const host = online();
    push(host, [run(), run(OTHER)]).tell(launched());
    host.pass(START_REPORT_DELAY_MS / 2);
    host.tell(launched(OTHER)).tell(exited()).tell(gone());
    expect(reported(host)).toEqual([`${ID} exited`]);
    host.send();
    push(host, [run(OTHER)]);
    host.answer([run(OTHER)], { revision: host.revision });
    expect(kinds(host)).not.toContain("report");
    host.tell(exited(OTHER)).tell(gone(OTHER));
    expect(reported(host)).toEqual([`${OTHER} exited`]);
  });

  test("of one attempt name another of its placement that has begun: what follows may depend on both", () => {
    const host = online();
    const side = ID.replace("/main/", "/side/");
    push(host, [run(), run(side)])
      .tell(launched())
      .tell(launched(side));
    host.tell(exited()).tell(gone());
    expect(reported(host)).toEqual([`${ID} exited`, `${side} running`]);
    host.send();
    push(host, [run(side)]);
    host.answer([run(side)], { revision: host.revision });
    host.pass(START_REPORT_DELAY_MS);
    expect(kinds(host)).not.toContain("report");
  });

  test("name an attempt that goes on START_REPORT_DELAY_MS after it has begun, whatever went before", () => {
    const host = online();
    push(host, [run(), run(OTHER)]).tell(launched());
    host.pass(START_REPORT_DELAY_MS / 2);
    host.tell(launched(OTHER)).tell(exited()).tell(gone());
    host.send();
    host.answer([run(OTHER)], { revision: host.revision });
    host.pass(START_REPORT_DELAY_MS / 2 - 1);
    expect(kinds(host)).not.toContain("report");
    host.pass(1);
    expect(reported(host)).toEqual([`${OTHER} running`]);
  });

  test("say again what is over until the orders no longer mention it", () => {
    const host = push(online(), [run()]).tell(launched()).tell(exited()).tell(gone());
    for (const waitMs of [REPEAT_FIRST_MS, 2 * REPEAT_FIRST_MS, 4 * REPEAT_FIRST_MS]) {
      expect(reported(host)).toEqual([`${ID} exited`]);
      host.send();
      host.answer([run()]);
      expect(host.message("report")).toBeUndefined();
      host.pass(waitMs);
    }
    host.send();
    push(host, []);
    host.answer([]);
    host.pass(REPEAT_LONGEST_MS);
    expect(host.message("report")).toBeUndefined();
  });

  test.each([
    ["five minutes", 2 * FULL_REPORTS_A_LEASE * FULL_REPORT_MS, FULL_REPORT_MS],
    ["so much of a short lease that it never comes near its end", 60_000, 60_000 / FULL_REPORTS_A_LEASE],
  ])("are full every %s", (_what, leaseMs, everyMs) => {
    const host = online({ ...WITH_SOCKET, leaseMs });
    host.pass(everyMs - 1);
    expect(host.message("report")).toBeUndefined();
    host.pass(1);
    expect(host.report()?.full).toBe(true);
  });

  test("are full at once when the control plane asks", () => {
    const host = online().tell({ type: "full_requested" });
    expect(host.report()?.full).toBe(true);
  });

  test("are full at once although it asks instead of answering the one under way (rule R5)", () => {
    const host = push(online(), [run()]).tell(launched()).tell(exited()).tell(gone());
    expect(host.send().report.full).toBe(false);
    host.tell({ type: "full_requested" });
    expect(host.send().report).toMatchObject({ full: true, attempts: [{ id: ID, state: "exited" }] });
  });

  test("carry log bytes once, and again if nobody says that they are stored", () => {
    const host = push(online(), [run()]).tell(launched());
    host.tell({ type: "output", id: ID, stream: "stdout", size: 100 }).pass(START_REPORT_DELAY_MS);
    expect(host.send().pieces).toHaveLength(1);
    host.answer([run()]);
    expect(host.message("report")).toBeUndefined();
    host.pass(SOCKET_LOG_RETRY_FIRST_MS);
    expect(host.send().pieces).toHaveLength(1);
    host.answer([run()]);
    push(host, [run()], { [ID]: { stdout: 100 } });
    host.pass(REPEAT_LONGEST_MS);
    expect(host.message("report")).toBeUndefined();
  });
  test("that tell an end bring its output with them, even if it was sent a moment ago", () => {
    const host = push(online(), [run()]).tell(launched());
    host.tell({ type: "output", id: ID, stream: "stdout", size: 100 }).pass(START_REPORT_DELAY_MS);
    expect(host.send().pieces).toHaveLength(1);
    host.answer([run()]);
    host.tell(exited()).tell(gone());
    expect(host.send()).toMatchObject({ pieces: [{ from: 0, bytes: 100 }] });
  });
});

describe("a socket that is gone", () => {
  test("is opened anew, and reports go by webhook after that was tried", () => {
    const host = push(online(), [run()]).tell(launched());
    host.tell({ type: "socket_closed", random: 0.5 });
    expect(kinds(host)).toEqual([]);
    host.pass(BACKOFF_FIRST_MS / 2);
    expect(kinds(host)).toEqual(["connect"]);
    host.tell({ type: "socket_opening" }).pass(WEBHOOK_PATIENCE_MS);
    expect(host.message("report")).toMatchObject({ by: "webhook", report: { full: true } });
  });

  test("has lost nothing: the first report on the next one is full", () => {
    const host = push(online(), [run()]).tell(launched()).tell(exited()).tell(gone());
    host.send();
    host
      .tell({ type: "socket_closed", random: 0 })
      .tell({ type: "socket_opening" })
      .tell({ type: "socket_opened" });
    expect(host.report()).toMatchObject({ full: true, attempts: [{ id: ID, state: "exited" }] });
  });

  test("is one that does not answer a report in time", () => {
    const host = online().tell({ type: "full_requested" });
    host.send();
    host.pass(EXCHANGE_TIMEOUT_MS - 1);
    expect(kinds(host)).toEqual([]);
    host.pass(1);
    expect(kinds(host)).toEqual(["hang_up"]);
  });

  test("is not missed by an agent that nobody listens to any more", () => {
    const host = online().tell({ type: "stale", code: 3, reason: "test" });
    host.tell({ type: "socket_closed", random: 0 });
    expect(kinds(host)).not.toContain("connect");
  });
});

test("an idle host on a socket is woken by nothing but its full report", () => {
  const host = online();
  expect(hostMachine.wakeAt(host.state)).toBe(host.now + Math.min(FULL_REPORT_MS, LEASE_MS));
});
