import { expect, test } from "vitest";
import { WORKER_REASONS } from "../../../src/core/worker/read/reasons.ts";
import { whyOf } from "../../../src/core/worker/read/status.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { Why } from "../../../src/schema/why.ts";
import {
  at,
  created,
  enrolledOwn,
  holding,
  intent,
  invitation,
  nothing,
  ready,
  T0,
} from "../support/worker.ts";

const asked = (more: Parameters<typeof intent>[0] = {}) =>
  at(nothing(), T0, { type: "create", body: intent(more) });
const set = (state: ExistingWorker, behavior: "hold" | "drain") =>
  at(state, T0, { type: "behavior", behavior, by: "ann" });
const failure = { class: "rate_limit", text: "too many", retryAfterMs: 60_000 } as const;
const deferred = () => at(asked(), T0, { type: "create_answered", answer: { kind: "failed", failure } });
const HOUR = 3_600_000;

test.each<[string, ExistingWorker, number]>([
  ["asked", asked(), T0],
  ["booting", at(asked(), T0, created), T0],
  ["code_unused", at(nothing(), T0, { type: "create", body: invitation() }), T0],
  ["enrolled", enrolledOwn(), T0],
  ["idle", ready(), T0],
  ["running", holding(["a"]), T0],
  ["held", set(ready(), "hold"), T0],
  ["draining", set(holding(["a"]), "drain"), T0],
  ["silent", holding(["a"]), T0 + HOUR],
  ["destroying", set(ready(), "drain"), T0],
])(
  "why a worker is in its state has a code, numbers and a next step (invariant 5): %s",
  (code, state, now) => {
    const why = whyOf(state, now);
    expect(Why.safeParse(why).error).toBeUndefined();
    expect(why.reason).toMatchObject({
      code,
      runs: code === "running" || code === "draining" || code === "silent" ? 1 : 0,
    });
    expect(WORKER_REASONS).toContain(code);
    expect(why.next.action).not.toBe("");
  },
);

test("a refusal that holds for a while says so until the next try", () => {
  expect(whyOf(deferred(), T0).reason.code).toBe("create_deferred");
});
