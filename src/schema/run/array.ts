// Which runs belong together as one array, and what does each of them know about its place there?
import { z } from "zod";
import { MAX_ARRAY_RUNS, MAX_MATRIX_AXES } from "../../shared/limits.ts";
import { Name } from "../common.ts";
import { TextMap } from "./task.ts";

const AXIS_TEXT = "must be letters, digits and underscores, beginning with a letter";

const FAIL_AT_TEXT = `must be a number of runs from 1 to ${MAX_ARRAY_RUNS}, or a share from "1%" to "100%"`;

/** The values of one run, by the axes of the matrix. Each becomes a variable `DROVER_MATRIX_<AXIS>`. */
const Matrix = TextMap.refine(
  (map) => Object.keys(map).every((axis) => /^[A-Za-z]\w*$/.test(axis)),
  AXIS_TEXT,
)
  .refine((map) => Object.keys(map).length <= MAX_MATRIX_AXES, `must have at most ${MAX_MATRIX_AXES} axes`)
  .refine(
    (map) => new Set(Object.keys(map).map((axis) => axis.toUpperCase())).size === Object.keys(map).length,
    "has two axes whose variables would have one name: upper and lower case do not tell them apart",
  );

/** The place of a run in its array (api.md#arrays). */
export const RunArray = z
  .strictObject({
    id: Name.describe("the same in all runs of the array"),
    index: z
      .int()
      .min(0)
      .max(MAX_ARRAY_RUNS - 1),
    size: z.int().min(1).max(MAX_ARRAY_RUNS),
    matrix: Matrix.optional().describe("its values, by the axes of a matrix"),
    maxParallel: z
      .int()
      .min(1)
      .max(MAX_ARRAY_RUNS)
      .optional()
      .describe("the run is placed only while fewer runs than this of its array are placed in its pool"),
    failAt: z
      .union([z.int().min(1).max(MAX_ARRAY_RUNS), z.string().regex(/^(?:[1-9]\d?|100)%$/, FAIL_AT_TEXT)], {
        error: FAIL_AT_TEXT,
      })
      .optional()
      .describe("once so many runs of the array, or this share of them, have failed, this one is ended, too"),
  })
  .refine(({ index, size }) => index < size, {
    path: ["index"],
    error: "must be less than `size`: the first run of an array has index 0",
  })
  .meta({ id: "RunArray" });
export type RunArray = z.output<typeof RunArray>;
