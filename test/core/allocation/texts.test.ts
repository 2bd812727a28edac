import { expect, test } from "vitest";
import { MAX_RUN_ATTEMPT_TEXT_BYTES } from "../../../src/core/allocation/read/texts.ts";
import { observed, ordered, RUN, runAt, T0 } from "../support/allocation.ts";
import { group, task } from "../support/group.ts";

// What hosts say of attempts has a bound in all (reports.md).

const GPUS = 64;
const ids = Array.from({ length: GPUS }, (_, n) => `${n}`.padStart(128, "x"));
const image = `node@sha256:${"a".repeat(500)}`;

test("the devices and images of all attempts of a run have a bound together: the oldest go", () => {
  const tasks = Array.from({ length: 20 }, (_, n) => task(`task-${n}`, { resources: { gpus: GPUS } }));
  let state = ordered({ ...group(...tasks), argv: undefined });
  for (const [n, { name }] of tasks.entries()) {
    const one = { id: `${RUN}/${name}/1.1`, state: "running" as const, startedAgoMs: 0 };
    state = runAt(state, T0 + n * 1_000, observed([{ ...one, devices: ids, image }]));
  }
  const attempts = state.record.tasks.flatMap((one) => one.attempts);
  const whole = attempts.filter(({ devices }) => devices?.length === GPUS).length;
  expect(whole).toBe(Math.floor(MAX_RUN_ATTEMPT_TEXT_BYTES / (GPUS * 128 + image.length)));
  expect(attempts[0]).toMatchObject({ image: expect.stringMatching(/… \(cut\)$/) });
  expect(attempts[0]).not.toHaveProperty("devices");
});
