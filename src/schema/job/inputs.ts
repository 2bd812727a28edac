// Which file and which metadata may a run of a job be given (jobs.md#payload, jobs.md#meta)?
import { z } from "zod";
import { MAX_PAYLOAD_BYTES } from "../../shared/jobs/limits.ts";
import { MAX_LABELS } from "../../shared/limits.ts";
import { RelativePath } from "../run/task.ts";

/** What a run of a job may be given besides parameters. */
export const JobPayload = z.enum(["required", "optional", "forbidden"]).meta({ id: "JobPayload" });
export type JobPayload = z.output<typeof JobPayload>;

/** The longest name of a file on Linux (`NAME_MAX`). */
const MAX_FILE_NAME_BYTES = 255;

/** Where the payload is written: a file in the directory of the task. */
export const PayloadFile = RelativePath.refine(
  (path) => !["", ".", ".."].includes(path.split("/").at(-1) ?? ""),
  "must be the path of a file",
)
  .refine(
    (path) => path.split("/").every((part) => new TextEncoder().encode(part).length <= MAX_FILE_NAME_BYTES),
    `must not have a name of more than ${MAX_FILE_NAME_BYTES} bytes: no file system allows that`,
  )
  .meta({ example: "input.json" });

const MetaKey = z.string().min(1).max(128);
const MetaKeys = z.array(MetaKey).max(MAX_LABELS, `must have at most ${MAX_LABELS} entries`).default([]);

/** The keys of `meta` that a run must be given, and those that it may be given. */
export const JobMeta = z
  .strictObject({
    required: MetaKeys.describe("each run must be given a value for these"),
    optional: MetaKeys.describe("without a value the run has these with an empty one"),
  })
  .refine(({ required, optional }) => !required.some((key) => optional.includes(key)), {
    path: ["optional"],
    error: "has a key that is required, too: a key is one or the other",
  })
  .refine(({ required, optional }) => required.length + optional.length <= MAX_LABELS, {
    error: `must have at most ${MAX_LABELS} keys in all`,
  })
  .meta({ id: "JobMeta", example: { required: ["customer"], optional: ["note"] } });
export type JobMeta = z.output<typeof JobMeta>;

/** A payload on the wire: its bytes in base64. */
export const PayloadInput = z
  .base64("must be bytes in base64")
  .max(Math.ceil(MAX_PAYLOAD_BYTES / 3) * 4, `must be at most ${MAX_PAYLOAD_BYTES} bytes, in base64`)
  .meta({ description: "at most 64 KiB of any bytes, in base64", example: "eyJhIjoxfQ==" });
