import { expect, test } from "vitest";
import type { AttemptReport } from "../../src/schema/host.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();

test("what cannot be killed drains its worker, and ends with the machine (tasks.md#kill-6)", async () => {
  await makePool({ timeouts: { shutdown: "1s" } });
  await submit("stuck");
  const { worker, host } = await bootMachine(world.cloud);
  const id = "stuck/main/1.1";
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  const running: AttemptReport = { id, state: "running", startedAgoMs: 1 };
  await host.report({ attempts: [running] });
  await objects.allocation("stuck").abort({ reason: "enough", by: "ann", waitMs: 0 });
  const error = "process 7 does not go";
  const kill = { tries: 5, error, treeGone: false, by: "cgroup" as const };
  await host.report({ attempts: [{ ...running, state: "stopping", kill }] });
  expect((await objects.worker(worker).read()).idleBehavior).toBe("drain");
  const run = await objects.allocation("stuck").wait(["failed"], 20_000);
  expect(world.cloud.calls.some((call) => call.startsWith("DELETE"))).toBe(true);
  expect(run).toMatchObject({
    state: "failed",
    failure: { class: "infrastructure", code: "unkillable" },
    abort: { reason: "enough", by: "ann" },
    placements: [{ worker, outcome: "lost" }],
  });
  expect(run.failure?.text).toContain(error);
});
