// The request and the answer of `POST /v1/enrollments` (api.md#enrollments).
import { z } from "zod";
import { formatDuration, parseDuration } from "../shared/duration.ts";
import { DEFAULT_ENROLLMENT_MS, MAX_ENROLLMENT_MS, MIN_ENROLLMENT_MS } from "../shared/limits.ts";
import { Duration, InstantText, Name } from "./common.ts";

const RANGE = `from ${formatDuration(MIN_ENROLLMENT_MS)} to ${formatDuration(MAX_ENROLLMENT_MS)}`;

function isInRange(text: string): boolean {
  const ms = parseDuration(text);
  return ms === undefined || (ms >= MIN_ENROLLMENT_MS && ms <= MAX_ENROLLMENT_MS);
}

/** The body of `POST /v1/enrollments`: the pool that a self-hosted machine may join. */
export const EnrollmentRequest = z.strictObject({
  pool: Name.default("default"),
  ttl: Duration.refine(isInRange, `must be ${RANGE}`)
    .default(formatDuration(DEFAULT_ENROLLMENT_MS))
    .describe(`how long the code is valid, ${RANGE}`),
});
export type EnrollmentRequest = z.output<typeof EnrollmentRequest>;

export const Enrollment = z
  .object({
    code: z.string().describe("lets one machine join once; anyone who has the code can use it"),
    worker: z.string().describe("the worker id that the machine will have"),
    pool: z.string(),
    expiresAt: InstantText,
    command: z.string().describe("what to paste into a shell of that machine"),
  })
  .meta({ id: "Enrollment" });
export type Enrollment = z.infer<typeof Enrollment>;
