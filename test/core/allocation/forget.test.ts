import { describe, expect, test } from "vitest";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { type AllocationState, loadedAllocation } from "../../../src/core/allocation/state.ts";
import { TOMBSTONE_MS } from "../../../src/core/limits.ts";
import {
  abort,
  at,
  ended,
  exited,
  observed,
  ordered,
  place,
  queued,
  RUN,
  runAt,
  running,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const END = T0 + 1_000;
const GONE = END + 60_000;
const forget = (submittedAt = T0): AllocationEvent => ({ type: "forget", forget: { run: RUN, submittedAt } });
const over = () => runAt(started({ env: { TOKEN: "secret" } }), END, observed([exited()]));
const forgotten = () => at(over(), GONE, forget());

describe("a run is forgotten by word of its pool (architecture.md §4)", () => {
  test.each<[string, () => AllocationState]>([
    ["one that waits", () => queued()],
    ["one that is placed", () => ordered()],
    ["one that runs", () => started()],
    ["one that is being stopped", () => runAt(started(), T0, abort())],
  ])("%s is not, since it has not ended (invariant 1)", (_, state) => {
    const before = state();
    expect(at(before, GONE, forget()).record).toEqual(before.record);
  });

  test("another submission under its id is not", () => {
    expect(at(over(), GONE, forget(T0 - 1)).record).not.toBeNull();
  });

  test("one that has ended is; nothing of what it was is left", () => {
    const { record, tombstone } = forgotten();
    expect(record).toBeNull();
    expect(tombstone).toMatchObject({
      id: RUN,
      forgotten: GONE,
      ended: true,
      tasks: [],
      events: [],
      logs: {},
    });
    expect(JSON.stringify(tombstone)).not.toMatch(/secret|make/);
  });
});

describe("the tombstone (api.md, Conventions)", () => {
  const loaded = () => loadedAllocation(forgotten().tombstone ?? null, true);

  test.each<[string, AllocationEvent]>([
    ["a report of its host", observed([running])],
    ["the end of its placement", ended("lost")],
    ["a place", place("w2", 2)],
    ["an abort", abort()],
    ["a poke", { type: "poke" }],
    ["its deletion once more", forget()],
    ["another submission", submit()],
  ])("is not changed by %s, and owes nothing", (_, event) => {
    const state = at(loaded(), GONE + 1, event);
    expect(state).toMatchObject({ record: null, tombstone: { forgotten: GONE } });
    expect(allocationMachine.due(state, GONE + 1)).toEqual([]);
  });

  test.each([
    [TOMBSTONE_MS - 1, true],
    [TOMBSTONE_MS, false],
  ])("%d ms later it stands: %s", (ms, stands) => {
    const state = at(loaded(), GONE + ms, { type: "tick" });
    expect(state.tombstone !== undefined).toBe(stands);
    expect(at(state, GONE + ms, submit()).record !== null).toBe(!stands);
  });

  test("wakes its object when it is over, so that nothing of it stays for ever", () => {
    expect(allocationMachine.wakeAt(loaded())).toBe(GONE + TOMBSTONE_MS);
    const after = at(loaded(), GONE + TOMBSTONE_MS, { type: "tick" });
    expect(allocationMachine.wakeAt(after)).toBeUndefined();
  });
});
