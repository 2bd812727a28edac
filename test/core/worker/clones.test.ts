import { describe, expect, test } from "vitest";
import { isClone, isRefusedClone, MAX_REMEMBERED_BOOTS } from "../../../src/core/worker/host/enrollment.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import { at, enrolledOwn, holding, order, ready, readyOwn, report, T0 } from "../support/worker.ts";

// Two clones of one disk are told by boot ids that alternate: 409 `cloned`, and the worker drains
// (host-protocol.md#clones). Every machine of its own has a boot id of its own.

const join = (bootId: string, id: string): WorkerEvent => ({ type: "join", id, signedAt: T0, bootId });
let joins = 0;
const boots = (state: ExistingWorker, ...ids: string[]) =>
  ids.reduce((before, id) => at(before, T0, next(id)), state);
/** Each start of an agent makes a call of its own. */
const next = (bootId: string) => join(bootId, `join ${++joins}`);
/** A worker whose machine was rebooted into boot-2, and which holds a run there. */
const second = () => {
  const fresh = at(boots(readyOwn(), "boot-2"), T0, report(1, { incarnation: 2 }));
  return at(fresh, T0, order("a"), { type: "orders_sent" });
};

describe("two clones of one disk", () => {
  // The worker of these stories has enrolled in boot-1.
  test.each<[string, string[], boolean]>([
    ["the agent is started again in the same boot", ["boot-1", "boot-1"], false],
    ["the machine is rebooted", ["boot-2"], false],
    ["the machine is rebooted again and again", ["boot-2", "boot-3", "boot-4"], false],
    ["the first boot comes back", ["boot-2", "boot-1"], true],
    ["the first boot comes back after several", ["boot-2", "boot-3", "boot-1"], true],
    ["a later boot comes back", ["boot-2", "boot-3", "boot-2"], true],
    ["a third one joins after that", ["boot-2", "boot-1", "boot-5"], true],
    ["the one that was listened to last joins after that", ["boot-2", "boot-1", "boot-2"], true],
  ])("%s: %j, cloned: %s", (_what, ids, cloned) => {
    for (const first of [ready(), readyOwn()]) {
      const before = boots(first, ...ids.slice(0, -1));
      const last = ids.at(-1) ?? "";
      expect(isClone(before.record, last)).toBe(cloned);
      expect(boots(first, ...ids).record.clonedAt !== null).toBe(cloned);
    }
  });

  test("the worker drains, says so once, and the start that was refused is none", () => {
    const state = boots(holding(["a"]), "boot-2");
    const { record } = boots(at(state, T0, report(1, { incarnation: 2 })), "boot-1", "boot-1", "boot-2");
    expect(record).toMatchObject({ idleBehavior: "drain", incarnation: 2, bootId: "boot-2" });
    expect(record.reason).toContain("cloned");
    expect(record.events.filter(({ type }) => type === "Cloned")).toHaveLength(1);
  });

  test("what runs on the latest start goes on, until it drains", () => {
    const state = boots(second(), "boot-1");
    expect(state.record).toMatchObject({ phase: "ready", idleBehavior: "drain" });
    expect(livePlacements(state).map(({ run }) => run)).toEqual(["a"]);
  });

  test("a worker that is held stays held", () => {
    const held = at(boots(ready(), "boot-2"), T0, { type: "behavior", behavior: "hold", by: "ann" });
    expect(boots(held, "boot-1").record).toMatchObject({ idleBehavior: "hold", clonedAt: T0 });
  });

  test("an operator who says run is contradicted by the next start", () => {
    const run = at(boots(second(), "boot-1"), T0, { type: "behavior", behavior: "run", by: "ann" });
    expect(boots(run, "boot-2").record.idleBehavior).toBe("drain");
  });

  test("a late repetition of a join that counted is not refused, and changes nothing", () => {
    const state = at(ready(), T0, join("boot-1", "first"), join("boot-2", "second"));
    expect(isRefusedClone(state.record, "first", "boot-1")).toBe(false);
    expect(at(state, T0, join("boot-1", "first")).record).toBe(state.record);
  });

  test("of a disk that was copied before it enrolled are told by their enrollments", () => {
    const enroll = (bootId: string): WorkerEvent => ({ type: "enroll", secret: "whsec_1", bootId });
    const both = at(enrolledOwn(), T0, enroll("boot-2"));
    expect(both.record).toMatchObject({ incarnation: 2, bootId: "boot-2" });
    expect(at(both, T0, enroll("boot-1")).record).toMatchObject({ incarnation: 2, clonedAt: T0 });
  });

  test("the latest MAX_REMEMBERED_BOOTS boots are remembered", () => {
    const afterBoots = (count: number) =>
      boots(ready(), ...Array.from({ length: count }, (_, n) => `later-${n}`)).record;
    expect(isClone(afterBoots(MAX_REMEMBERED_BOOTS), "boot-1")).toBe(true);
    expect(isClone(afterBoots(MAX_REMEMBERED_BOOTS + 1), "boot-1")).toBe(false);
    expect(afterBoots(MAX_REMEMBERED_BOOTS + 1).boots).toHaveLength(MAX_REMEMBERED_BOOTS);
  });
});
