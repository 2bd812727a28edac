import { describe, expect, test } from "vitest";
import { logsGoneSince, logsUntil } from "../../../src/core/allocation/forget.ts";
import { allocationFrom, loadedAllocation } from "../../../src/core/allocation/load.ts";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import type { AllocationState } from "../../../src/core/allocation/state.ts";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import { RETRY_LONGEST_MS, TOMBSTONE_MS } from "../../../src/shared/limits.ts";
import {
  abort,
  at,
  ended,
  existing,
  exited,
  observed,
  ordered,
  owed,
  place,
  pool,
  queued,
  REF,
  RUN,
  runAt,
  running,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const END = T0 + 1_000;
const GONE = END + 60_000;
const forget = (submittedAt = T0): AllocationEvent => ({ type: "forget", body: { run: RUN, submittedAt } });
const over = () => runAt(started({ env: { TOKEN: "secret" } }), END, observed([exited()]));
const forgotten = () => at(over(), GONE, forget());

describe("a run is forgotten by word of its pool (messages.md)", () => {
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
    expect(tombstone).toEqual({ id: RUN, submittedAt: T0, forgotten: GONE });
    expect(JSON.stringify(tombstone)).not.toMatch(/secret|make/);
  });
});

describe("logs that go before their run (`retention.logs`)", () => {
  const KEEP = 600_000;
  const LOG = { stdout: { from: 0, size: 2, data: btoa("hi") } };
  const none = (keepLogsMs?: number): AllocationEvent =>
    pool(99, { kind: "none", version: 99, ...(keepLogsMs === undefined ? {} : { keepLogsMs }) });
  const logged = (log = true) =>
    runAt(started(), END, observed([{ ...exited(), ...(log ? { log: LOG } : {}) }]));
  const cleared: AllocationEvent = { type: "logs_cleared" };

  test.each<[string, AllocationState, number | undefined]>([
    ["which its pool has not named", at(logged(), END, none()), undefined],
    ["of a run that has none", at(logged(false), END, none(KEEP)), undefined],
    ["of a run that is not over", at(started(), END, none(KEEP)), undefined],
    ["named by its pool", at(logged(), END, none(KEEP)), END + KEEP],
    ["once they are gone", at(logged(), END + KEEP, none(KEEP), cleared), undefined],
  ])("an alarm is owed for the time %s (rule R8)", (_, state, wakes) => {
    if (state.record?.ended === true) expect(allocationMachine.wakeAt(state)).toBe(wakes);
    else expect(logsUntil(state)).toBe(wakes);
  });

  test("the pool hears of their bytes with the end of the run only (projects.md#stored-bytes)", () => {
    const running1 = runAt(started(), T0, observed([{ ...running, log: LOG }]));
    const over1 = logged();
    const clear = existing(at(over1, END, none(KEEP)));
    const gone = existing(at(clear, END + KEEP, cleared));
    expect([running1, over1].map((state) => upsertOf(existing(state)).storedBytes)).toEqual([0, 2]);
    expect(gone.record.logs).toEqual({});
    expect(gone.record.poolVersion).toBe(clear.record.poolVersion);
  });

  test("at that moment, and not before, they are to be cleared, and cannot be read any more", () => {
    const state = at(logged(), END, none(KEEP));
    expect(owed(state, END + KEEP - 1).clear_logs).toBeUndefined();
    expect(logsGoneSince(state, END + KEEP - 1)).toBeUndefined();
    expect(owed(state, END + KEEP).clear_logs).toBe(true);
    expect(logsGoneSince(state, END + KEEP)).toBe(END + KEEP);
    expect(at(state, END + KEEP - 1, cleared).record?.logs).toEqual(state.record?.logs);
  });

  test("what is cleared leaves the run as it was, and nothing more is owed", () => {
    const before = at(logged(), END, none(KEEP));
    const after = runAt(before, END + KEEP + 5, cleared);
    expect(after.record).toMatchObject({
      logs: {},
      logsGone: END + KEEP + 5,
      outcome: before.record?.outcome,
    });
    expect(logsGoneSince(after, END + KEEP + 6)).toBe(END + KEEP + 5);
    expect(statusOf(after)).toMatchObject({ state: "complete", exitCode: 0, stdoutRef: null });
    expect(allocationMachine.due(after, END + KEEP + 6)).toEqual([]);
    expect(at(after, GONE, forget()).record).toBeNull();
  });

  test("who has forgotten it asks the pool again, when the alarm fires and not before (invariant 5)", () => {
    const stored = logged().record;
    const early = allocationFrom(stored, END + KEEP, END + 60_000);
    expect(allocationMachine.due(early, END + 60_000)).toEqual([]);
    const woken = allocationFrom(stored, END + KEEP, END + KEEP);
    expect(Object.keys(owed(woken, END + KEEP))).toEqual(["run"]);
    expect(owed(at(woken, END + KEEP, none(KEEP)), END + KEEP)).toEqual({ clear_logs: true });
  });

  test("and so does who was loaded long before, and has been kept at hand by readers", () => {
    const early = allocationFrom(logged().record, END + KEEP, END + 60_000);
    expect(allocationMachine.wakeAt(early)).toBe(END + KEEP);
    const read = at(early, END + KEEP - 1, { type: "tick" });
    expect(owed(read, END + KEEP - 1)).toEqual({});
    const woken = at(read, END + KEEP, { type: "tick" });
    expect(Object.keys(owed(woken, END + KEEP))).toEqual(["run"]);
    const told = at(woken, END + KEEP, none());
    expect([owed(told, END + KEEP), allocationMachine.wakeAt(told)]).toEqual([{}, undefined]);
  });

  test.each([
    [RETRY_LONGEST_MS, true],
    [RETRY_LONGEST_MS + 1, false],
  ])("an alarm %d ms away may be for what is still owed: %s (rule R7)", (ms, owes) => {
    const state = allocationFrom(logged().record, END + ms, END);
    expect(owed(state, END).run !== undefined).toBe(owes);
  });
});

describe("the tombstone (api.md#ids)", () => {
  const loaded = () => loadedAllocation(forgotten().tombstone ?? null, true);

  test.each<[string, AllocationEvent]>([
    ["a report of its host", observed([running])],
    ["the end of its placement", ended("lost")],
    ["a place", place("w2", 2)],
    ["an abort", abort()],
    ["a poke", { type: "poke_run", body: REF }],
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
