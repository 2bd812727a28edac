// What does `drover run` submit?
import { expect } from "vitest";
import { RunSpec } from "../../../src/schema/run/run.ts";
import type { Bench } from "./command.ts";

/** Runs `drover run --detach` with these words, and returns the body of its submission, which is valid. */
export async function submissionOf(
  bench: Bench,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Record<string, unknown>> {
  const before = bench.plane.seen.length;
  const ended = await bench.run(["run", "--detach", ...args], options);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const submission = bench.plane.seen[before];
  expect(RunSpec.safeParse(submission?.body).error).toBeUndefined();
  return submission?.body as Record<string, unknown>; // it fits the schema of a run
}
