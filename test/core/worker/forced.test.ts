import { describe, expect, test } from "vitest";
import { isRefused } from "../../../src/core/pool/read/money.ts";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import { workerRow } from "../support/pool.ts";
import { PROVIDER } from "../support/pool-config.ts";
import {
  at,
  created,
  holding,
  INSTANCE,
  intent,
  LEASE,
  nothing,
  owed,
  REF,
  ready,
  reloaded,
  T0,
} from "../support/worker.ts";

const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };
const force: WorkerEvent = { ...kill, force: true };
const drain: WorkerEvent = { type: "behavior", behavior: "drain", by: "ann" };
const destroyed: WorkerEvent = { type: "destroy_answered", answer: { kind: "asked" } };
const failed = (failure: ProviderFailure): WorkerEvent => ({
  type: "create_answered",
  answer: { kind: "failed", failure },
});
const refused = failed({ class: "temporary", text: "403", refused: true });
const lost = failed({ class: "temporary", text: "connection lost" });
const asked = at(nothing(), T0, { type: "create", body: intent() });
const turn = (state: ExistingWorker): WorkerEvent => ({
  type: "turn",
  body: { ...REF, version: state.record.version },
});
const again = (state: ExistingWorker, ...events: WorkerEvent[]) =>
  at(at(state, T0, turn(state)), T0, ...events);
const listed = (state: "running" | "terminated", url: string = PROVIDER.url): WorkerEvent => ({
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: { ...PROVIDER, url },
    beganAt: T0 + 10_000,
    instance: { ...INSTANCE, state },
    consistencyMs: 0,
  },
});

describe("what a refusal says of the calls before it (pool.md#prices)", () => {
  const full = failed({ class: "rate_limit", text: "too many calls" });
  const unreached = failed({ class: "temporary", text: "nobody listens", refused: true, unreached: true });
  test.each<[string, ExistingWorker, boolean]>([
    ["the first call: nothing was made", at(asked, T0, full), true],
    ["after another refusal", again(at(asked, T0, refused), full), true],
    ["after a call that did not reach the provider", again(at(asked, T0, unreached), full), true],
    ["after an answer that was lost", again(at(asked, T0, lost), full), false],
    ["after two refusals that came after it", again(again(at(asked, T0, lost), full), full), false],
    ["after a call that a crash has cut off", again(reloaded(asked), full), false],
    [
      "after a refusal, and a call that a crash has cut off",
      again(reloaded(again(at(asked, T0, full))), full),
      false,
    ],
  ])("%s", (_, state, costsNothing) => {
    const { failure, unmade, instance } = upsertOf(state, T0);
    expect(isRefused({ ...workerRow("w1", "booting"), failure, unmade, instance })).toBe(costsNothing);
  });
});

describe("P9: a worker that cannot have been made owes no listing", () => {
  test.each<[string, ExistingWorker, WorkerEvent, string]>([
    ["killed after a refusal", at(asked, T0, refused), kill, "gone"],
    ["drained after a refusal", at(asked, T0, refused), drain, "gone"],
    ["killed after two", again(at(asked, T0, refused), refused), kill, "gone"],
    ["refused for good", asked, failed({ class: "invalid", text: "no", refused: true }), "gone"],
    ["killed after an answer that was lost", at(asked, T0, lost), kill, "shutdown"],
    ["refused after one that was lost", again(at(asked, T0, lost), refused), kill, "shutdown"],
    ["killed while a call is under way", asked, kill, "shutdown"],
    ["killed while a second call is under way", again(at(asked, T0, refused)), kill, "shutdown"],
    ["killed after a restart, in a pause", reloaded(at(asked, T0, refused)), kill, "gone"],
    ["killed after a restart during a call", at(reloaded(asked), T0, refused), kill, "shutdown"],
    ["killed with a machine", at(asked, T0, created), kill, "shutdown"],
  ])("P9: %s", (_what, before, event, phase) => {
    expect(at(before, T0, event).record.phase).toBe(phase);
  });

  test("P9: the answer to the call that was under way ends it", () => {
    const state = at(asked, T0, kill);
    expect(at(state, T0 + 1, refused).record.phase).toBe("gone");
    expect(at(state, T0 + 1, lost).record.phase).toBe("shutdown");
    expect(at(state, T0 + 1, created).record).toMatchObject({ phase: "shutdown", instance: { id: "i-1" } });
  });

  test("P9: its pool hears that nothing was made", () => {
    expect(upsertOf(at(asked, T0, refused), T0).unmade).toBe(true);
    expect(upsertOf(at(asked, T0, lost), T0).unmade).toBe(false);
  });

  test("P9: what is loaded again is not taken for proof either", () => {
    expect(at(reloaded(at(asked, T0, lost)), T0, kill).record.phase).toBe("shutdown");
  });
});

describe("P9: an operator can force the end of a worker", () => {
  test("P9: without a machine that is known it is gone at once, and says what may be left", () => {
    const state = at(at(asked, T0, lost), T0, kill, force);
    expect(state.record.phase).toBe("gone");
    expect(statusOf(state, T0).leftBehind).toEqual({
      worker: "default-s-1",
      instance: null,
      provider: PROVIDER.url,
    });
  });

  test.each<[string, WorkerEvent]>([
    ["answered", destroyed],
    [
      "refused",
      { type: "destroy_answered", answer: { kind: "failed", failure: { class: "temporary", text: "" } } },
    ],
  ])("P9: with one it is gone when a destroy was %s", (_what, answer) => {
    const state = at(ready(), T0, force);
    expect(state.record.phase).toBe("shutdown");
    expect(owed(state, T0, "destroy")).toHaveLength(1);
    const end = at(state, T0 + 1, answer);
    expect(end.record.phase).toBe("gone");
    expect(statusOf(end, T0).leftBehind?.instance).toBe("i-1");
  });

  test("P9: a lease of a run is waited for", () => {
    const state = at(at(holding(["a"]), T0, force), T0, destroyed);
    expect(state.record.phase).toBe("shutdown");
    const overdue = at(state, T0 + LEASE, { type: "tick" });
    expect(livePlacements(overdue)).toHaveLength(1);
    expect(at(overdue, T0 + LEASE + LEASE_MARGIN_MS, { type: "tick" }).record.phase).toBe("gone");
  });

  test("P9: a listing that shows its machine brings it back, and then it is waited for", () => {
    const gone = at(at(ready(), T0, force), T0, destroyed);
    const back = at(at(gone, T0 + 20_000, listed("running")), T0 + 20_000, turn(gone), destroyed);
    expect(back.record.phase).toBe("shutdown");
    expect(at(back, T0 + 30_000, listed("terminated")).record.phase).toBe("gone");
  });

  test("P9: a listing of another machine brings it back, and ends its own machine, too (rules.md#r5)", () => {
    const twin = { ...INSTANCE, id: "i-twin" };
    const shown = (beganAt: number, more: object): WorkerEvent => ({
      type: "sighting",
      body: { worker: "default-s-1", provider: PROVIDER, beganAt, ...more, consistencyMs: 0 },
    });
    const doubled = at(ready(), T0, shown(T0, { instance: INSTANCE, doubles: [twin.id] }));
    const gone = at(doubled, T0, force, destroyed);
    expect(statusOf(gone, T0).leftBehind).toMatchObject({ instance: "i-1", others: ["i-twin"] });
    expect(gone.record.events.at(-1)?.message).toContain(
      "machine i-1, and i-twin under its name, may be left",
    );
    // The listing omits the first machine, which lives.
    const later = T0 + 20_000;
    const back = at(gone, later, shown(later, { instance: twin, doubles: [] }));
    expect(back.record).toMatchObject({ phase: "shutdown", instance: { id: "i-twin" }, doubles: [] });
    const ended = at(
      back,
      later,
      shown(later + 1, { instance: { ...twin, state: "terminated" }, doubles: [] }),
    );
    expect(ended.record).toMatchObject({ phase: "shutdown", instance: { id: "i-1" } });
    const own = { ...INSTANCE, state: "terminated" as const };
    expect(at(ended, later, shown(later + 2, { instance: own })).record.phase).toBe("gone");
  });

  test("P9: nothing else is forced: a repeated kill and one without force change nothing", () => {
    const state = at(ready(), T0, force);
    expect(at(state, T0, kill, force).record).toBe(state.record);
    expect(at(at(ready(), T0, kill), T0, destroyed).record.phase).toBe("shutdown");
  });
});

test("P9: the listing of another provider says nothing of a worker", () => {
  const state = ready();
  expect(at(state, T0, listed("terminated", "http://other.test")).record).toBe(state.record);
});
