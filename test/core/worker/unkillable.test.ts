import { describe, expect, test } from "vitest";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { at, attemptOf, holding, order, report, runningOf, T0 } from "../support/worker.ts";

const stuck = (error: string | null = "pid 7 lives"): AttemptReport => ({
  id: attemptOf("a"),
  state: "stopping",
  kill: { tries: 5, error, treeGone: false, by: "cgroup" },
});
const both = { attempts: [stuck(), runningOf("b")] };

describe("a host that cannot kill (tasks.md#kill-6, decisions/workers.md#host-that-cannot-kill)", () => {
  test("makes its worker drain, and waits for what else runs there (workers.md#unkillable-1)", () => {
    const { record } = at(holding(["a", "b"]), T0, report(2, both));
    expect(record).toMatchObject({ idleBehavior: "drain", phase: "ready" });
    expect(record.reason).toBe(`unkillable: ${attemptOf("a")}: pid 7 lives`);
    expect(record.events.at(-1)?.type).toBe("Unkillable");
  });

  test("is given its five tries first", () => {
    expect(at(holding(["a"]), T0, report(2, { attempts: [stuck(null)] })).record.idleBehavior).toBe("run");
  });

  test("takes no further run", () => {
    const { body: late } = order("late");
    const state = at(holding(["a", "b"]), T0, report(2, both), { type: "order", body: late });
    expect(answerOrder(state, late)).toMatchObject({ kind: "ended", how: "refused" });
  });

  test("is destroyed at once when nothing else is left there: only that ends it", () => {
    expect(at(holding(["a"]), T0, report(2, { attempts: [stuck()] })).record.phase).toBe("shutdown");
  });

  test("contradicts an operator's `run`, and leaves a `hold` alone", () => {
    const set = (behavior: "run" | "hold") => ({ type: "behavior", behavior, by: "ann" }) as const;
    const resumed = at(holding(["a", "b"]), T0, report(2, both), set("run"), report(3, both));
    expect(resumed.record.idleBehavior).toBe("drain");
    const held = at(holding(["a", "b"]), T0, set("hold"), report(2, both));
    expect(held.record.idleBehavior).toBe("hold");
  });
});
