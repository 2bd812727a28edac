// The types that many schemas share: names, durations, sizes, instants, snapshot ids.
import { z } from "zod";
import { PROJECT_NAME, PROJECT_NAME_TEXT } from "../shared/access/project.ts";
import { RUN_ID } from "../shared/attempt-id.ts";
import { formatDuration, parseDuration } from "../shared/duration.ts";
import { MAX_KEEP_MS, MIN_INTERVAL_MS } from "../shared/limits.ts";
import { formatSize, parseSize } from "../shared/size.ts";

/** The names of runs, pools and workers, which also serve as object names, path segments and host names. */
export const NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** A name: lower-case letters, digits and dashes, not beginning with a dash, at most 63 characters. */
export const Name = z
  .string()
  .regex(NAME_PATTERN, "must be 1 to 63 lower-case letters, digits and dashes, not beginning with a dash");

/** What the id of a run must be. */
export const RUN_ID_TEXT =
  "must be 1 to 63 lower-case letters, digits and dashes, or such a name after a project and a dot";

/** The id of a run: its name, after its project and a dot unless that is `default` (projects.md#runs). */
export const RunId = z
  .string()
  .max(63, RUN_ID_TEXT)
  .regex(new RegExp(`^${RUN_ID}$`), RUN_ID_TEXT);

/** The name of a project. */
export const ProjectName = z.string().regex(PROJECT_NAME, PROJECT_NAME_TEXT);

/** A duration as people write it (`250ms`, `10s`, `1h30m`). On the wire it stays a string. */
export const Duration = z
  .string('must be a duration in quotes, such as "250ms", "10s" or "1h30m"')
  .refine(
    (text) => parseDuration(text) !== undefined,
    'must be a duration such as "250ms", "10s" or "1h30m", not negative, at most 100 years',
  )
  .meta({
    description: "numbers with units: ms, s, m, h, d",
    pattern: String.raw`^(\d+(\.\d+)?(ms|s|m|h|d))+$`,
    example: "1h30m",
  });

/** A duration longer than zero. */
export const PositiveDuration = Duration.refine(
  (text) => (parseDuration(text) ?? 1) > 0,
  `must be longer than ${formatDuration(0)}`,
);

/** For how long a failed run is kept on its machine. */
export const Keep = PositiveDuration.refine(
  (text) => (parseDuration(text) ?? 0) <= MAX_KEEP_MS,
  `must be at most ${formatDuration(MAX_KEEP_MS)}`,
);

/** An interval or time limit; the minimum stops a pool from keeping the control plane busy. */
export const Interval = Duration.refine(
  (text) => (parseDuration(text) ?? MIN_INTERVAL_MS) >= MIN_INTERVAL_MS,
  `must be at least ${formatDuration(MIN_INTERVAL_MS)}`,
);

/** How long to hold the answer: a duration, or a bare `0`. */
export const Wait = z
  .string('must be a duration in quotes, such as "30s"')
  .refine(
    (text) => text === "0" || parseDuration(text) !== undefined,
    'must be a duration such as "30s", not negative; more than 60s is cut to 60s',
  )
  .meta({ description: "how long to hold the answer; more than 60s is cut to 60s", example: "30s" });

/** Sizes must be smaller than this: numbers of bytes are exact only below 2^53. */
const SIZES_END = formatSize(2 ** 53);

/** A size: a number of bytes, or text such as `512MiB`. On the wire it keeps the form that was sent. */
export const Size = z
  .union([z.int().min(0), z.string()], 'must be a number of bytes, or a size such as "512MiB"')
  .refine(
    (size) => typeof size === "number" || parseSize(size) !== undefined,
    `must be a number of bytes, not negative and less than ${SIZES_END}, or a size such as "512MiB"`,
  )
  .meta({ example: "512MiB" });

/** RFC 3339, UTC. */
export const InstantText = z.string().meta({ format: "date-time", example: "2026-11-21T08:30:00.000Z" });

/** An instant that a request names. */
export const InstantInput = z.iso.datetime({
  error: "must be an instant in UTC, such as 2026-11-21T08:30:00Z",
});

/** A snapshot: an archive of files (tar, or tar with gzip or zstd), named by the SHA-256 of its bytes. */
export const SnapshotId = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be "sha256:" and 64 lower-case hexadecimal digits')
  .meta({ example: `sha256:${"0".repeat(64)}` });

const NO_NUL = /^[^\0]*$/;

/** Text for a process. It has no NUL, since NUL ends a C string. */
export const ProcessText = z.string().regex(NO_NUL, "must not contain a NUL character");

/** The resources that a run needs or that a machine has, in whole numbers but for vCPUs. */
export interface Resources {
  /** In thousandths at most (`shared/cloud/vcpus.ts`). */
  vcpus: number;
  memoryBytes: number;
  diskBytes: number;
  gpus: number;
}
