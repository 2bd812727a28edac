import { describe, expect, expectTypeOf, test } from "vitest";
import type { AbortedRun, RunStatus as ClientRun } from "../../src/generated/api.ts";
import { RunStatus } from "../../src/schema/run/run.ts";
import type { FailureCode } from "../../src/shared/errors.ts";
import { RUN_STATES } from "../../src/shared/run-state.ts";
import { changed, type RunPatch, statusOf } from "../edge/support/samples.ts";

type In<State extends RunStatus["state"]> = Extract<RunStatus, { state: State }>;
type Ended = Exclude<RunStatus["state"], "pending" | "running">;

const SOME: RunPatch = {
  exitCode: 2,
  signal: "SIGTERM",
  failure: { class: "infrastructure", code: "machine_lost", text: "it is gone" },
  abort: { reason: "enough", by: "ann" },
  stdoutRef: "/v1/runs/r/logs/main/stdout",
  stderrRef: "/v1/runs/r/logs/main/stderr",
  snapshot: `sha256:${"0".repeat(64)}`,
  startedAt: "2026-11-21T08:30:00.000Z",
  finishedAt: "2026-11-21T08:30:00.000Z",
};
const ENDS: Ended[] = ["complete", "failed", "unknown", "aborted", "timedout"];

// Of each field: in which states it can have a value, and in which it must.
describe.each<[field: keyof RunPatch, can: RunStatus["state"][], must: RunStatus["state"][]]>([
  ["exitCode", ["complete", "failed"], []],
  ["signal", ["complete", "failed"], []],
  ["failure", ["failed", "unknown"], ["failed", "unknown"]],
  ["abort", ["pending", "running", "aborted", "failed", "unknown"], ["aborted"]],
  ["stdoutRef", ["running", ...ENDS], []],
  ["stderrRef", ["running", ...ENDS], []],
  ["snapshot", ["complete", "failed"], []],
  ["startedAt", ["running", ...ENDS], ["running"]],
  ["finishedAt", ENDS, ENDS],
])("a run has `%s` where it means something (api.md#fields-by-state)", (field, can, must) => {
  test.each(RUN_STATES)("%s", (state) => {
    const run = changed(statusOf("r"), { state });
    const takes = (value: unknown) => RunStatus.safeParse({ ...run, [field]: value }).success;
    expect({ some: takes(SOME[field]), none: takes(null) }).toEqual({
      some: can.includes(state),
      none: !must.includes(state),
    });
  });
});

test("the types say the same, on both sides of the wire", () => {
  expectTypeOf<In<"pending">["exitCode"]>().toEqualTypeOf<null>();
  expectTypeOf<In<"complete">["exitCode"]>().toEqualTypeOf<number | null>();
  expectTypeOf<In<"complete">["failure"]>().toEqualTypeOf<null>();
  expectTypeOf<In<"failed">["failure"]["code"]>().toEqualTypeOf<FailureCode>();
  expectTypeOf<In<"aborted">["abort"]["by"]>().toEqualTypeOf<string>();
  expectTypeOf<In<"running">["startedAt"]>().toEqualTypeOf<string>();
  expectTypeOf<In<Ended>["finishedAt"]>().toEqualTypeOf<string>();
  expectTypeOf<In<"pending" | "running">["finishedAt"]>().toEqualTypeOf<null>();
  expectTypeOf<AbortedRun["state"]>().toEqualTypeOf<"aborted">();
  const asRead: (run: RunStatus) => ClientRun = (run) => run;
  expect(asRead(statusOf("r")).state).toBe("pending");
  // @ts-expect-error: an exit code is nothing that a run has in every state
  const code = (run: ClientRun): number => run.exitCode;
  expect(code(changed(statusOf("r"), { state: "complete", exitCode: 0 }))).toBe(0);
});
