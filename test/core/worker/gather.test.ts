import { beforeEach, describe, expect, test } from "vitest";
import {
  afterOrders,
  newAttachment,
  type SocketAttachment,
} from "../../../src/core/worker/host/host-socket.ts";
import { workerMachine } from "../../../src/core/worker/machine.ts";
import type { WorkerState } from "../../../src/core/worker/state.ts";
import { Actor } from "../../../src/objects/actor.ts";
import { type HostSocket, HostSocketSession } from "../../../src/objects/host/host-socket-session.ts";
import type { Orders, Report } from "../../../src/schema/host.ts";
import { attemptOf, holding, order, report, runningOf, T0 } from "../support/worker.ts";

// How a session gathers orders without anything to do (host-protocol.md#gathered).

const GATHER_MS = 10;
const BUSY = holding(["a"]);

/** The host's end: what has been sent to it. */
class Line implements HostSocket {
  readonly orders: Orders[] = [];
  #note: SocketAttachment | null;

  constructor(note: SocketAttachment | null) {
    this.#note = note;
  }

  send = (text: string) => void this.orders.push(JSON.parse(text));
  close = () => undefined;
  heardAt = () => null;
  note = () => this.#note;
  keep = (note: SocketAttachment) => {
    this.#note = note;
  };
}

let stored: WorkerState;
let timers: { ms: number; happen: () => void }[];
let lines: Line[];
let session: HostSocketSession;

beforeEach(() => {
  stored = BUSY;
  timers = [];
  const { lastSeq: seq } = BUSY.memo;
  lines = [new Line({ ...afterOrders(BUSY, { ...newAttachment(BUSY, T0), seq }), settled: true })];
  const actor = new Actor(workerMachine, {
    now: () => T0,
    load: () => stored,
    commit: (write) => write(),
    save(state) {
      state.placements.flush();
      stored = state;
    },
    wake: () => undefined,
    send: () => new Promise(() => undefined),
    timer: () => () => undefined,
    failed: () => undefined,
    isChecked: () => true,
    violated: (violations) => expect(violations).toEqual([]),
  });
  const timer = (ms: number, happen: () => void) => {
    timers.push({ ms, happen });
    return () => undefined;
  };
  session = new HostSocketSession(
    actor,
    () => lines,
    () => T0,
    timer,
  );
});

/** The line that is open. */
function line(): Line {
  const [open] = lines;
  if (open === undefined) throw new Error("no line is open");
  return open;
}

function says(seq: number, more: Partial<Report> = {}): void {
  const event = report(seq, { attempts: [runningOf("a")], ...more });
  session.received(line(), () => (event as { report: Report }).report);
}

/** Lets the time pass for which orders are gathered. */
function pass(): void {
  for (const { happen } of timers.splice(0)) happen();
}

describe("orders without anything to do", () => {
  test("go out as one frame after a while, however many reports they answer", () => {
    says(2);
    says(3);
    expect([line().orders, timers.map(({ ms }) => ms)]).toEqual([[], [GATHER_MS]]);
    pass();
    expect(line().orders.map(({ answers }) => answers)).toEqual([3]);
    pass();
    expect(line().orders).toHaveLength(1);
  });

  test("go out with a new run, which does not wait, and not once more", () => {
    says(2);
    session.deliver(order("b"));
    const [frame] = line().orders;
    expect([frame?.answers, frame?.attempts.map(({ id }) => id)]).toEqual([
      2,
      ["a", "b"].map((id) => attemptOf(id)),
    ]);
    pass();
    expect(line().orders).toHaveLength(1);
  });

  test("are noted as not settled while a report of theirs is, should memory be lost", () => {
    says(2);
    expect(line().note()).toMatchObject({ seq: 2, answered: 1, settled: false });
  });

  test("are for the line that is open when they go", () => {
    says(2);
    const old = line();
    lines = [new Line(null)];
    pass();
    expect([old.orders, line().orders]).toEqual([[], []]);
    says(3, { full: true });
    expect(line().orders.map(({ answers }) => answers)).toEqual([3]);
  });
});
