import fc from "fast-check";
import { expect, test } from "vitest";
import { mayBeInside } from "../../../agent/core/attempts/hold.ts";
import type { HostEvent } from "../../../agent/core/events.ts";
import { hostMachine, initialHost } from "../../../agent/core/host.ts";
import type { HostState } from "../../../agent/core/types.ts";
import type { AttemptOrder } from "../../../src/schema/host.ts";
import { failing, gpu, NO_SOURCE, needs, seen } from "./devices/gpus.ts";
import { EXIT, LEASE_MS, run, SETUP, step, stop } from "./drive.ts";

const IDS = ["a/main/1.1", "b/main/1.1", "c/main/2.1"];
const id = fc.constantFrom(...IDS);
const startError = { code: "start_failed", text: "no" } as const;

const order: fc.Arbitrary<AttemptOrder> = fc.oneof(
  fc.record({ id, timeoutMs: fc.option(fc.nat(100_000), { nil: undefined }) }).map((o) => run(o.id, o)),
  id.map((which): AttemptOrder => ({ id: which, want: "run" })),
  id.map((which): AttemptOrder => run(which, { task: { keep: true } })),
  fc.tuple(id, fc.constantFrom(1, 2)).map(([which, gpus]): AttemptOrder => run(which, { task: needs(gpus) })),
  fc.tuple(id, fc.constantFrom(0, 1, 60_000, 1e9)).map(([which, holdMs]): AttemptOrder => {
    return { id: which, want: "run", holdMs };
  }),
  fc.tuple(id, fc.nat(20_000)).map(([which, timeoutMs]) => stop(which, timeoutMs)),
);

const orders = fc.record({
  incarnation: fc.constantFrom(2, 3, 3, 3, 3),
  revision: fc.nat(20),
  answers: fc.nat(30),
  leaseMs: fc.constantFrom(0, 60_000, LEASE_MS),
  reportWithinMs: fc.constant(10_000),
  attempts: fc.uniqueArray(order, { selector: (o) => o.id, maxLength: 3 }),
  signals: fc.array(
    fc.record({ id, signal: fc.constant("SIGHUP" as const), n: fc.integer({ min: 1, max: 5 }) }),
    { maxLength: 3 },
  ),
  logs: fc.dictionary(id, fc.record({ stdout: fc.nat(2_000_000) })),
  powerOff: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
});

const event: fc.Arbitrary<HostEvent> = fc.oneof(
  fc.constant<HostEvent>({ type: "joined", setup: SETUP }),
  { weight: 8, arbitrary: fc.record({ type: fc.constant("orders" as const), seq: fc.nat(30), orders }) },
  fc.record({ type: fc.constant("report_sent" as const), seq: fc.nat(30) }),
  fc.record({ type: fc.constant("report_failed" as const), seq: fc.nat(30), random: fc.constant(0.5) }),
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("launched" as const), id, by: fc.constant("cgroup" as const) }),
  },
  fc.record({ type: fc.constant("launch_failed" as const), id, startError: fc.constant(startError) }),
  fc.record({ type: fc.constantFrom("refused", "signaled", "forgotten", "hold_ended"), id }),
  fc.record({ type: fc.constant("passing_on" as const), id, n: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ type: fc.constant("exited" as const), id, exit: fc.constantFrom(EXIT, null) }),
  fc.record({ type: fc.constant("tree_gone" as const), id, killed: fc.boolean() }),
  fc.record({ type: fc.constant("kill_failed" as const), id, error: fc.constant("lives") }),
  fc.record({
    type: fc.constant("output" as const),
    id,
    stream: fc.constantFrom("stdout", "stderr"),
    size: fc.nat(2_000_000),
  }),
  fc.record({ type: fc.constant("probed" as const), ok: fc.boolean(), output: fc.constant("") }),
  fc.record({
    type: fc.constant("noticed" as const),
    raw: fc.constantFrom(null, undefined, "spot", "gone in 1m"),
  }),
  fc.constantFrom<HostEvent>(
    NO_SOURCE,
    failing(),
    seen(),
    seen(gpu("g0")),
    seen(gpu("g0", { healthy: false }), gpu("g1"), gpu("g2")),
  ),
  fc.constant<HostEvent>({ type: "tick" }),
);

const story = fc.array(fc.tuple(event, fc.nat(30_000)), { maxLength: 60 });

/**
 * Plays a story as a shell does: whatever report is due is sent, and the answers name the report in flight.
 */
function play(events: [HostEvent, number][], look: (state: HostState, now: number) => void): void {
  let state = initialHost({ attempts: [{ id: "left/main/1.1", main: { kind: "lost" } }] });
  let now = 0;
  for (const [told, ms] of events) {
    now += ms;
    const { seq } = state.exchange;
    const mine = told.type === "orders" || told.type === "report_failed" ? { ...told, seq } : told;
    if (mine.type === "orders" && mine.orders.answers % 2 === 0)
      mine.orders = { ...mine.orders, answers: seq };
    state = step(state, mine, now);
    const due = hostMachine.due(state, now).find(({ kind }) => kind === "report");
    if (due?.kind === "report") state = step(state, { type: "report_sent", seq: due.seq }, now);
    look(state, now);
  }
}

test("time is asked for only where it will change something: a shell never spins", () => {
  fc.assert(
    fc.property(story, (events) => {
      play(events, (state, now) => {
        const ended = state.ending !== undefined && state.ending.by <= now;
        if (!ended) expect(hostMachine.wakeAt(state) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now);
      });
    }),
  );
});

test("the state is plain data: a copy of it owes the same", () => {
  fc.assert(
    fc.property(story, (events) => {
      play(events, (state, now) => {
        const copy: HostState = JSON.parse(JSON.stringify(state));
        expect(hostMachine.due(copy, now)).toEqual(hostMachine.due(state, now));
        expect(hostMachine.wakeAt(copy)).toBe(hostMachine.wakeAt(state));
      });
    }),
  );
});

test("an attempt whose tree is gone stays gone: nothing starts, signals or kills it again", () => {
  fc.assert(
    fc.property(story, (events) => {
      const gone = new Set<string>();
      play(events, (state, now) => {
        for (const which of gone) {
          const attempt = state.attempts[which];
          if (attempt === undefined) gone.delete(which);
          else expect(attempt.treeGone).toBe(true);
        }
        for (const { id: which, treeGone } of Object.values(state.attempts)) if (treeGone) gone.add(which);
        for (const message of hostMachine.due(state, now)) {
          if (message.kind === "start" || message.kind === "signal" || message.kind === "kill_tree") {
            expect(gone.has(message.id)).toBe(false);
          }
        }
      });
    }),
  );
});

/** An attempt that is to be kept has ended under a lease. */
function keptFirst(which = "a/main/1.1"): [HostEvent, number][] {
  const first = {
    ...{ incarnation: 3, revision: 1, answers: 0, leaseMs: LEASE_MS, reportWithinMs: 10_000 },
    ...{ attempts: [run(which, { task: { keep: true } })], signals: [], logs: {}, powerOff: false },
  };
  const events: HostEvent[] = [
    { type: "joined", setup: SETUP },
    { type: "orders", seq: 0, orders: first },
    { type: "launched", id: which, by: "cgroup" },
    { type: "exited", id: which, exit: EXIT },
    { type: "tree_gone", id: which, killed: false },
  ];
  return events.map((one) => [one, 0]);
}

test("what is kept ends before the lease, and nothing is forgotten before that (tasks.md#kept-5)", () => {
  fc.assert(
    fc.property(story, (events) => {
      play([...keptFirst(), ...events], (state, now) => {
        const due = hostMachine.due(state, now);
        for (const attempt of Object.values(state.attempts).filter(mayBeInside)) {
          const kinds = due.flatMap((one) => ("id" in one && one.id === attempt.id ? [one.kind] : []));
          expect([attempt.treeGone, kinds.includes("forget")]).toEqual([true, false]);
          const isLate = now >= (state.leaseUntil ?? 0) || now >= (attempt.hold?.until ?? Infinity);
          if (isLate && state.leaseUntil !== undefined) expect(kinds).toContain("end_hold");
        }
      });
    }),
  );
});

test("no signal is sent twice, nor to what does not run (host-protocol.md#orders)", () => {
  fc.assert(
    fc.property(story, (events) => {
      play(events, (state, now) => {
        for (const message of hostMachine.due(state, now)) {
          if (message.kind !== "pass_on") continue;
          const attempt = state.attempts[message.id];
          expect([attempt?.main, attempt?.stop]).toEqual(["running", undefined]);
          expect(message.n).toBeGreaterThan(attempt?.signaledUpTo ?? 0);
        }
      });
    }),
  );
});

test("no attempt is started, or left without a kill, beyond the lease (rule R4)", () => {
  fc.assert(
    fc.property(story, (events) => {
      play(events, (state, now) => {
        if (state.leaseUntil === undefined || now < state.leaseUntil) return;
        const due = hostMachine.due(state, now);
        expect(due.some(({ kind }) => kind === "start")).toBe(false);
        for (const { id: which, main, treeGone } of Object.values(state.attempts)) {
          if (main === "waiting" || treeGone) continue;
          expect(due.some((message) => message.kind === "kill_tree" && message.id === which)).toBe(true);
        }
      });
    }),
  );
});
