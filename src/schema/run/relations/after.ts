// After which runs, arrays and jobs does a run start, and how must each of them have ended?
import { z } from "zod";
import { AFTER_ONS } from "../../../shared/after/entries.ts";
import { Name, PositiveDuration, RUN_ID_TEXT, RunId } from "../../common.ts";
import { JobName } from "../../job/name.ts";

/** How a run or an array must have ended for what starts after it (api.md#after). */
const AfterOn = z.enum(AFTER_ONS).meta({
  id: "AfterOn",
  description: "`success`, also if absent: it ended well. `failure`: it ended, and not well. `any`: it ended",
});

const on = AfterOn.optional();

/** A job whose run is followed. Which run that is, is decided at submission (jobs.md#following). */
export const AfterJob = z
  .strictObject({
    job: JobName,
    on,
    maxAge: PositiveDuration.optional().describe("how old its run may be at most; any age if absent"),
  })
  .meta({ id: "AfterJob" });

/** An entry of `after`. The id of a run alone asks for its success. */
export const After = z
  .union([RunId, z.strictObject({ run: RunId, on }), z.strictObject({ array: Name, on }), AfterJob], {
    error: ({ input }) =>
      typeof input === "string"
        ? RUN_ID_TEXT
        : 'must be the id of a run, or an object such as {"run": "build", "on": "any"}, ' +
          '{"array": "parts"} or {"job": "nightly"}',
  })
  .meta({ id: "After" });
