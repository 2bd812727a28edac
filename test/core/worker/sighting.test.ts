import { describe, expect, test } from "vitest";
import type { Sighting } from "../../../src/core/messages.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import { CREATE_STRAGGLER_MS, LEASE_MARGIN_MS, UNLISTED_MS } from "../../../src/shared/limits.ts";
import {
  at,
  CONSISTENCY,
  created,
  holding,
  INSTANCE,
  intent,
  LEASE,
  nothing,
  order,
  owed,
  ready,
  reloaded,
  T0,
} from "../support/worker.ts";

const HOUR = 3_600_000;
const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };

/** A listing that began at `beganAt`, and that omits the machine unless `more` says otherwise. */
function listing(beganAt: number, more: Partial<Sighting> = {}): WorkerEvent {
  return {
    type: "sighting",
    body: {
      worker: "default-s-1",
      provider: intent().provider,
      beganAt,
      ...more,
      consistencyMs: CONSISTENCY,
    },
  };
}

/** Two listings that omit it, as the pool passes them on: nothing had it in between. */
function twoOmissions(state: ExistingWorker, first: number, second: number): ExistingWorker {
  const once = at(state, first, listing(first, { missingSince: first }));
  return at(once, second, listing(second, { missingSince: first }));
}

/** Its machine exists, and no host ever joined: there is no lease. */
const unleased = at(nothing(), T0, { type: "create", body: intent() }, created);
const stopping = at(unleased, T0, kill);

test.each(["terminated", "error", "stopped"] as const)(
  "another machine with its tags that is %s says nothing of its own (invariant 4, cases.md#case-1)",
  (state) => {
    const another = { ...INSTANCE, id: "i-twin", state };
    const seen = at(holding(["a"]), T0, listing(T0, { instance: another }));
    expect(seen.record).toMatchObject({ phase: "ready", idleBehavior: "run" });
    expect(livePlacements(seen)).toHaveLength(1);
  },
);

describe("a machine that the provider calls terminated is gone (invariant 3)", () => {
  test("at once, lease or not, and what was on it is lost (R2)", () => {
    const state = at(holding(["a"]), T0, listing(T0, { instance: { ...INSTANCE, state: "terminated" } }));
    expect(state.record).toMatchObject({ phase: "gone", goneAt: T0 });
    expect(livePlacements(state)).toEqual([]);
    expect(owed(state, T0, "ended")).toMatchObject([{ run: "a", how: "lost", held: true }]);
    expect(owed(state, T0, "worker")).toMatchObject([{ phase: "gone", bootOutcome: "success" }]);
  });

  test("and known, if nothing has named it before: the pool counts its cost (pool.md#prices)", () => {
    const asked = { type: "create", body: intent() } as const;
    const lost = { kind: "failed", failure: { class: "temporary", text: "connection reset" } } as const;
    const unknown = at(nothing(), T0, asked, { type: "create_answered", answer: lost });
    expect(unknown.record.instance).toBeNull();
    const ended = listing(T0 + HOUR, { instance: { ...INSTANCE, state: "terminated" } });
    const { record } = at(unknown, T0 + HOUR, ended);
    expect(record).toMatchObject({ phase: "gone", instance: { id: INSTANCE.id } });
  });

  test.each(["pending", "running", "stopping"] as const)("one that is %s is not", (state) => {
    expect(
      at(stopping, T0 + HOUR, listing(T0 + HOUR, { instance: { ...INSTANCE, state } })).record.phase,
    ).toBe("shutdown");
  });
});

test("what was omitted, and shown again, is paid for until it is seen to end (pool.md#prices)", () => {
  const first = T0 + HOUR;
  const gone = twoOmissions(unleased, first, first + CONSISTENCY);
  expect(gone.record).toMatchObject({ phase: "gone", paid: { until: first } });
  const later = first + HOUR;
  const back = at(gone, later, listing(later, { instance: INSTANCE }));
  expect(back.record?.paid?.until).toBe(null);
  const end = later + HOUR;
  const ended = at(back, end, listing(end, { instance: { ...INSTANCE, state: "terminated" } }));
  expect(ended.record).toMatchObject({ phase: "gone", paid: { until: end } });
});

describe("that a listing omits it is proof only the second time, and spaced (R5, invariant 3)", () => {
  const first = T0 + HOUR;

  test("one omission is none", () => {
    expect(at(stopping, first, listing(first)).record).toMatchObject({ phase: "shutdown", omittedAt: first });
  });

  test.each([
    ["less than the consistency window apart", CONSISTENCY - 1, "shutdown"],
    ["the consistency window apart", CONSISTENCY, "gone"],
  ])("two, %s", (_what, ms, phase) => {
    expect(twoOmissions(stopping, first, first + ms).record.phase).toBe(phase);
  });

  test("the same listing again is no second one", () => {
    const once = at(stopping, first, listing(first));
    expect(at(once, first + HOUR, listing(first)).record.phase).toBe("shutdown");
  });

  test("an older listing that comes late is no second one", () => {
    const once = at(stopping, first, listing(first));
    expect(at(once, first + HOUR, listing(first - CONSISTENCY)).record.phase).toBe("shutdown");
  });

  test("a listing in between that had it begins the count anew", () => {
    const once = at(stopping, first, listing(first));
    const second = first + 2 * CONSISTENCY;
    const state = at(once, second, listing(second, { missingSince: second }));
    expect(state.record).toMatchObject({ phase: "shutdown", omittedAt: second });
  });

  test("so does a pool that cannot say, since it was loaded in between", () => {
    const second = first + 2 * CONSISTENCY;
    expect(at(at(stopping, first, listing(first)), second, listing(second)).record.phase).toBe("shutdown");
  });

  test("the first of the two is stored: a restart in between does not lose it", () => {
    const once = reloaded(at(stopping, first, listing(first)));
    const second = first + HOUR;
    expect(at(once, second, listing(second, { missingSince: first })).record.phase).toBe("gone");
  });

  test("a machine that vanishes without our asking is gone in the same way (T20)", () => {
    expect(twoOmissions(unleased, first, first + CONSISTENCY).record.phase).toBe("gone");
  });
});

describe("no omission counts while the host's lease may live (R5, cases.md#case-4)", () => {
  const over = LEASE + LEASE_MARGIN_MS;
  const patient = ready(T0, { settings: { ...intent().settings, probeMs: 10 * LEASE } });

  test.each([
    ["began before its end and the margin", over - 1, null],
    ["began then", over, T0 + over],
  ])("the listing %s", (_what, ms, omittedAt) => {
    expect(at(patient, T0 + ms, listing(T0 + ms)).record.omittedAt).toBe(omittedAt);
  });

  test("it is the beginning of the listing that counts, not its arrival", () => {
    const state = at(patient, T0 + 2 * LEASE, listing(T0 + over - 1));
    expect(state.record.omittedAt).toBeNull();
  });

  test("that a host is to be destroyed does not end its lease", () => {
    const state = twoOmissions(at(patient, T0, kill), T0 + HOUR / 4, T0 + HOUR / 3);
    expect(state.record.phase).toBe("shutdown");
  });

  test("after it, what was still on it is lost", () => {
    const state = at(patient, T0, order("a"), { type: "orders_sent" });
    const end = twoOmissions(state, T0 + over, T0 + over + CONSISTENCY);
    expect(end.record.phase).toBe("gone");
    expect(owed(end, T0 + over, "ended")).toMatchObject([{ run: "a", how: "lost" }]);
  });
});

describe("no omission counts too soon after a call that can have changed what exists (R5)", () => {
  const destroyed = at(stopping, T0 + HOUR, { type: "destroy_answered", answer: { kind: "asked" } });
  const failure = { class: "temporary" as const, text: "no answer" };
  const failed: WorkerEvent = { type: "create_answered", answer: { kind: "failed", failure } };
  const asked = at(nothing(), T0, { type: "create", body: intent() });
  const worksOnIt: WorkerEvent = {
    type: "create_answered",
    answer: { kind: "pending", retryAfterMs: 1_000, text: "it works on it" },
  };
  const noRoom = { class: "capacity" as const, text: "no room" };
  const refused: WorkerEvent = { type: "create_answered", answer: { kind: "failed", failure: noRoom } };

  test.each([
    ["a create", unleased, T0 + UNLISTED_MS],
    ["a destroy", destroyed, T0 + HOUR + CONSISTENCY],
    [
      "a create without an answer, given up",
      at(asked, T0, failed, kill),
      T0 + CREATE_STRAGGLER_MS + CONSISTENCY,
    ],
    [
      "a create without an answer, on which the provider then works, and which it refuses at last",
      at(asked, T0, failed, worksOnIt, refused),
      T0 + CREATE_STRAGGLER_MS + CONSISTENCY,
    ],
    ["a create under way, given up", at(asked, T0, kill), T0 + CREATE_STRAGGLER_MS + CONSISTENCY],
  ])("%s: listings count from the consistency window after it ended", (_what, state, from) => {
    expect(at(state, from, listing(from - 1)).record.omittedAt).toBeNull();
    expect(at(state, from, listing(from)).record.omittedAt).toBe(from);
  });

  test("while a create may still be begun, no listing proves anything", () => {
    const far = intent({ notAfter: T0 + 10 * HOUR, settings: { ...intent().settings, bootMs: 10 * HOUR } });
    const state = twoOmissions(at(nothing(), T0, { type: "create", body: far }), T0 + HOUR, T0 + 2 * HOUR);
    expect(state.record).toMatchObject({ phase: "booting", omittedAt: null });
  });

  test("a worker that never got a machine leaves the ledger like any other", () => {
    const first = T0 + HOUR;
    const state = twoOmissions(at(asked, T0, kill), first, first + CONSISTENCY);
    expect(state.record.phase).toBe("gone");
  });

  test("a provider without a consistency window still needs two listings", () => {
    const strict = (beganAt: number): WorkerEvent => ({
      type: "sighting",
      body: {
        worker: "default-s-1",
        provider: intent().provider,
        beganAt,
        missingSince: T0 + HOUR,
        consistencyMs: 0,
      },
    });
    const once = at(stopping, T0 + HOUR, strict(T0 + HOUR));
    expect(once.record.phase).toBe("shutdown");
    expect(at(once, T0 + HOUR + 1, strict(T0 + HOUR + 1)).record.phase).toBe("gone");
  });
});

describe("another machine in place of the known one (rules.md#r4)", () => {
  const TWIN = { ...INSTANCE, id: "i-twin" };
  const swapped = () => at(holding(["a"]), T0, listing(T0, { instance: TWIN }));

  test("is a double, and the worker keeps its machine", () => {
    expect(swapped().record).toMatchObject({ phase: "ready", instance: { id: INSTANCE.id } });
    expect(statusOf(swapped(), T0).doubles).toEqual(["i-twin"]);
  });

  test("ends, and the worker's runs go on", () => {
    const ended = at(swapped(), T0 + 1, listing(T0 + 1, { instance: { ...TWIN, state: "terminated" } }));
    expect(ended.record.phase).toBe("ready");
    expect(livePlacements(ended)).toHaveLength(1);
  });

  test("takes the place of the known one if that ends first: the host may run on it", () => {
    const own = { ...INSTANCE, state: "terminated" as const };
    const state = at(holding(["a"]), T0, listing(T0, { instance: own, doubles: ["i-twin"] }));
    expect(state.record).toMatchObject({ phase: "ready", instance: { id: "i-twin" }, doubles: [] });
    expect(livePlacements(state)).toHaveLength(1);
    const ended = { ...TWIN, state: "terminated" as const };
    expect(at(state, T0 + 1, listing(T0 + 1, { instance: ended, doubles: [] })).record.phase).toBe("gone");
  });

  test("becomes its machine once two listings have omitted its own after the lease, and is ended", () => {
    const first = T0 + LEASE + LEASE_MARGIN_MS;
    const shown = (beganAt: number) => listing(beganAt, { instance: TWIN, missingSince: T0 });
    const once = at(swapped(), first, shown(first));
    expect(once.record).toMatchObject({ phase: "ready", instance: { id: INSTANCE.id } });
    const twice = at(once, first + CONSISTENCY, shown(first + CONSISTENCY));
    expect(twice.record).toMatchObject({ phase: "shutdown", instance: { id: "i-twin" }, goneAt: null });
    expect(livePlacements(twice)).toEqual([]);
  });

  test.each([
    ["ends", { instance: { ...INSTANCE, state: "terminated" as const }, doubles: [] }, "ready"],
    ["is omitted twice", { missingSince: T0, doubles: [] }, "shutdown"],
  ])("still follows it if the listing in which its own %s has omitted the other", (_, seen, phase) => {
    const second = T0 + LEASE + LEASE_MARGIN_MS + CONSISTENCY;
    const first = second - CONSISTENCY;
    const known = at(swapped(), first, listing(first, { missingSince: T0, doubles: ["i-twin"] }));
    const ended = at(known, second, listing(second, seen));
    expect(ended.record).toMatchObject({ phase, instance: { id: "i-twin" } });
    // What omitted its own says nothing of the other (rules.md#r5).
    const third = second + CONSISTENCY;
    const omitted = at(ended, third, listing(third, { missingSince: T0, doubles: [] }));
    expect(omitted.record).toMatchObject({ phase, instance: { id: "i-twin" } });
  });
});

describe("A6 story1-twice-seen: another machine under the worker's name", () => {
  const seen = (beganAt: number, doubles?: string[]) => listing(beganAt, { instance: INSTANCE, doubles });
  const doubled = () => at(holding(["a"]), T0, seen(T0, ["i-twin"]));

  test("is said in `why` and in an event, and costs the worker and its runs nothing", () => {
    const state = doubled();
    expect(whyOf(state, T0).reason.text).toContain("i-twin under its name: they cost money");
    expect(statusOf(state, T0)).toMatchObject({
      doubles: ["i-twin"],
      idleBehavior: "run",
      instance: INSTANCE.id,
    });
    expect(state.record.events.at(-1)?.type).toBe("Doubles Seen");
    expect(livePlacements(state)).toHaveLength(1);
    expect(owed(state, T0, "destroy")).toEqual([]);
    expect(owed(state, T0, "worker")).toMatchObject([{ doubles: ["i-twin"] }]);
  });

  test("is told once, and until it is gone", () => {
    const known = doubled();
    for (const said of [["i-twin"], undefined]) {
      const again = at(known, T0 + 1, seen(T0 + 1, said));
      expect(again.record.events).toEqual(known.record.events);
      expect(statusOf(again, T0 + 1).doubles).toEqual(["i-twin"]);
    }
    const gone = at(doubled(), T0 + 1, seen(T0 + 1, []));
    expect(statusOf(gone, T0 + 1).doubles).toEqual([]);
    expect(whyOf(gone, T0 + 1).reason.text).not.toContain("i-twin");
  });
});
