// Which flags of `drover run` make many runs of one, and say after which others they start?
import type { Command } from "commander";
import { MAX_ARRAY_RUNS } from "../../../src/shared/limits.ts";
import { wholeNumber } from "../../options.ts";
import { afterArray, afterJob, afterRun } from "./after.ts";
import { arraySize, axis, failAt } from "./array.ts";

/** Adds the flags about other runs: arrays, and what comes before a run or is replaced by it. */
export function addRelations(verb: Command): void {
  verb
    .option("--array <number>", "run it this many times, each with its DROVER_ARRAY_INDEX", arraySize)
    .option(
      "--matrix <axis=value,value>",
      "run it for each value, as DROVER_MATRIX_AXIS; repeatable: for each combination",
      axis,
    )
    .option(
      "--max-parallel <number>",
      "with --array or --matrix: run at most this many of them at once",
      wholeNumber(1, MAX_ARRAY_RUNS),
    )
    .option(
      "--fail-at <number|percent>",
      "with --array or --matrix: end the others once so many of them have failed, such as 3 or 10%",
      failAt,
    )
    .option(
      "--after <run[:how]>",
      "start when this run has ended with 0 (:failure: not with 0; :any: in any way; repeatable)",
      afterRun,
    )
    .option(
      "--after-array <array[:how]>",
      "the same, when all runs of this array of the same pool have ended (repeatable)",
      afterArray,
    )
    .option(
      "--after-job <job[@age][:how]>",
      "the same, when the latest run of this job has ended; @24h: no older run will do (repeatable)",
      afterJob,
    )
    .option("--replace <key>", "end earlier runs with this key, and start once they have ended");
}
