// Which values may a run of a job be given (jobs.md#parameters)?
import { z } from "zod";
import { MAX_ENUM_VALUES, MAX_PARAM_BYTES, MAX_PARAMS, MAX_PATTERN_CHARS } from "../../shared/jobs/limits.ts";

/** The name of a parameter. Each becomes a variable `DROVER_PARAM_<NAME>`. */
export const PARAM_NAME = /^[A-Za-z]\w{0,62}$/;
const NAME_TEXT = "must be 1 to 63 letters, digits and underscores, beginning with a letter";

/** One value. A number or a boolean is written as JSON writes it. */
export const ParamValue = z.union(
  [z.string(), z.number(), z.boolean()],
  "must be a text, a number, true or false",
);
export type ParamValue = z.output<typeof ParamValue>;

/** One parameter: its type, and which values it may have. */
export const JobParam = z
  .strictObject({
    type: z.enum(["string", "integer", "number", "boolean"]),
    default: ParamValue.optional().describe("its value in runs that are given none"),
    required: z.boolean().optional().describe("each run must be given a value"),
    enum: z
      .array(ParamValue)
      .min(1, "must have at least 1 entry")
      .max(MAX_ENUM_VALUES, `must have at most ${MAX_ENUM_VALUES} entries`)
      .optional()
      .describe("the only values that it may have"),
    pattern: z
      .string()
      .min(1)
      .max(MAX_PATTERN_CHARS, `must have at most ${MAX_PATTERN_CHARS} characters`)
      .optional()
      .describe("a regular expression that the whole text must match"),
    maxBytes: z
      .int()
      .min(1)
      .max(MAX_PARAM_BYTES, `must be at most ${MAX_PARAM_BYTES}`)
      .optional()
      .describe("how many bytes of UTF-8 a text may have; 4096 if absent"),
    description: z.string().max(1_024).optional(),
  })
  .meta({ id: "JobParam" });
export type JobParam = z.output<typeof JobParam>;

/** The parameters of a job, by name (jobs.md#parameters). */
export const JobParams = z
  .record(z.string().regex(PARAM_NAME, NAME_TEXT), JobParam)
  .refine((params) => Object.keys(params).length <= MAX_PARAMS, `must have at most ${MAX_PARAMS} entries`)
  .refine(
    (params) =>
      new Set(Object.keys(params).map((name) => name.toUpperCase())).size === Object.keys(params).length,
    "has two names whose variables would have one name: upper and lower case do not tell them apart",
  )
  .meta({ id: "JobParams", example: { branch: { type: "string", default: "main", maxBytes: 256 } } });
export type JobParams = z.output<typeof JobParams>;

/** The values that one run is given. */
export const ParamValues = z.record(z.string().min(1).max(128), ParamValue).meta({ id: "ParamValues" });
export type ParamValues = z.output<typeof ParamValues>;
