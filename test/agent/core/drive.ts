import { expect } from "vitest";
import type { HostEvent } from "../../../agent/core/events.ts";
import { hostMachine, initialHost } from "../../../agent/core/host.ts";
import type { FoundHost } from "../../../agent/core/journal.ts";
import type { HostMessage } from "../../../agent/core/messages.ts";
import type { HostState } from "../../../agent/core/types.ts";
import type { AttemptOrder, HostSetup, Orders, Report } from "../../../src/schema/host.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { check } from "../../../src/shared/machine.ts";

export const ID = "build-17/main/1.1";
export const LEASE_MS = 1_800_000;

export const SETUP: HostSetup = {
  worker: "w-1",
  incarnation: 3,
  reportUrl: "http://plane/reports",
  probe: { intervalMs: 10_000, boot: "true" },
  leaseMs: LEASE_MS,
  agent: { version: "1", sha256: "" },
};

/** Applies an event. No step may break an invariant of the machine (shell.md#assertions). */
export function step(before: HostState, event: HostEvent, now: number): HostState {
  const after = hostMachine.apply(before, event, now);
  expect(check(hostMachine, before, after, now)).toEqual([]);
  return after;
}

type Kind = HostMessage["kind"];
type MessageOf<K extends Kind> = Extract<HostMessage, { kind: K }>;

/** What a host owes to no attempt. */
const ROUTINE = new Set<Kind>(["report", "probe", "look", "inspect", "sample"]);

/**
 * A host whose clock and shell are the test. Each step first sees whether time has work for it, as a shell
 * would.
 */
export class Driven {
  now = 1_000;
  state: HostState;
  revision = 0;

  constructor(found?: FoundHost) {
    this.state = initialHost(found, this.now);
  }

  tell(event: HostEvent): this {
    this.state = step(this.state, event, this.now);
    return this;
  }

  /** Lets time pass, with a tick whenever the machine has asked for one. */
  pass(ms: number): this {
    const end = this.now + ms;
    for (let at = hostMachine.wakeAt(this.state); at !== undefined && at <= end; ) {
      this.now = Math.max(at, this.now);
      this.tell({ type: "tick" });
      const next = hostMachine.wakeAt(this.state);
      at = next !== undefined && next > this.now ? next : undefined;
    }
    this.now = end;
    return this.tell({ type: "tick" });
  }

  due(): HostMessage[] {
    return hostMachine.due(this.state, this.now);
  }

  /** Kinds of what is owed to attempts, in order. */
  owed(): Kind[] {
    return this.due()
      .map(({ kind }) => kind)
      .filter((kind) => !ROUTINE.has(kind));
  }

  message<K extends Kind>(kind: K): MessageOf<K> | undefined {
    return this.due().find((message): message is MessageOf<K> => message.kind === kind);
  }

  /** Sends the report that is due. */
  send(): MessageOf<"report"> {
    const message = this.message("report");
    if (message === undefined) throw new Error("no report is due");
    this.tell({ type: "report_sent", seq: message.seq });
    return message;
  }

  report(): Report | undefined {
    return this.message("report")?.report;
  }

  /** Answers the report that was sent last. */
  answer(attempts: AttemptOrder[], more: Partial<Orders> = {}): this {
    const { seq } = this.state.exchange;
    const orders = {
      incarnation: 3,
      revision: this.revision,
      answers: seq,
      leaseMs: LEASE_MS,
      reportWithinMs: 10_000,
      attempts,
      logs: {},
      powerOff: false,
      ...more,
    };
    this.revision = Math.max(this.revision, orders.revision);
    return this.tell({ type: "orders", seq, orders });
  }

  /** New orders, as the answer to a report that is sent for it. */
  order(attempts: AttemptOrder[], more: Partial<Orders> = {}): this {
    if (this.state.exchange.sent === undefined) {
      if (this.message("report") === undefined) this.pass(60_000);
      this.send();
    }
    return this.answer(attempts, { revision: this.revision + 1, ...more });
  }
}

/** A host that has joined, has booted, and whose first report is held. */
export function idleHost(): Driven {
  const host = new Driven();
  host.tell({ type: "joined", setup: SETUP }).tell({ type: "probed", ok: true, output: "" });
  host.send();
  host.answer([], { revision: 1 });
  host.send();
  return host;
}

export function task(more: Partial<TaskSpec> = {}): TaskSpec {
  const resources = { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 };
  return {
    name: "main",
    argv: ["true"],
    env: {},
    meta: {},
    resources,
    killTimeoutMs: 5_000,
    killSignal: "SIGTERM",
    ...more,
  };
}

export function run(
  id = ID,
  more: { task?: Partial<TaskSpec>; timeoutMs?: number } = {},
): Extract<AttemptOrder, { want: "run" }> {
  const { timeoutMs } = more;
  return { id, want: "run", task: task(more.task), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

export function stop(id = ID, timeoutMs = 5_000): AttemptOrder {
  return { id, want: "stop", signal: "SIGINT", timeoutMs, reason: "the test" };
}

/** An idle host to which one attempt was ordered, launched by now. */
export function busyHost(more: Parameters<typeof run>[1] = {}): Driven {
  return idleHost()
    .order([run(ID, more)])
    .tell({ type: "launched", id: ID, by: "processes" });
}

export const EXIT = { code: 0, signal: null, oomKilled: false, message: "" };
