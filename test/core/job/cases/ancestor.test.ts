import { describe, expect, test } from "vitest";
import { tickRunId, triggeredRunId } from "../../../../src/core/job/ids.ts";
import { problemsOf } from "../../../../src/core/job/problems.ts";
import { runOfJob } from "../../../../src/core/job/run-of-job.ts";
import { dueTicks } from "../../../../src/core/job/schedule/due.ts";
import { JobFields, type JobFieldsInput, TriggerRequest } from "../../../../src/schema/job/job.ts";
import { schedule } from "../support/schedule.ts";

// The rules of dispatched and periodic jobs of Drover's ancestor, and what is different here.

const NOON = Date.parse("2026-11-22T12:00:00Z");
const HOUR = 3_600_000;
const base64 = (bytes: number) => btoa("x".repeat(bytes));

/** What is wrong with a run that is triggered. */
function refused(job: Partial<JobFieldsInput>, given: Parameters<typeof runOfJob>[1]): string[] {
  const fields = JobFields.parse({ spec: { argv: ["true"] }, ...job });
  const cause = { job: "deploy", version: 1, tick: null, isScheduled: false };
  return (runOfJob(fields, given, cause).problems ?? []).map(({ pointer }) => pointer);
}

const file = { payloadFile: "in" };
const meta = { required: ["env"], optional: ["note"] };

describe("a dispatch (jobs.md#trigger)", () => {
  test.each<[string, Partial<JobFieldsInput>, Parameters<typeof runOfJob>[1], string[]]>([
    ["payload required, and not given", { payload: "required", ...file }, {}, ["/payload"]],
    ["payload required, and empty: that is one", { payload: "required", ...file }, { payload: "" }, []],
    ["payload forbidden", { payload: "forbidden" }, { payload: "eA==" }, ["/payload"]],
    ["payload not declared: forbidden, where the ancestor takes it", {}, { payload: "eA==" }, ["/payload"]],
    [
      "payload of 16 KiB, the ancestor's most",
      { payload: "optional", ...file },
      { payload: base64(16_384) },
      [],
    ],
    ["payload of 64 KiB", { payload: "optional", ...file }, { payload: base64(65_536) }, []],
    ["payload over that", { payload: "optional", ...file }, { payload: base64(65_537) }, ["/payload"]],
    ["meta required, and not given", { meta }, {}, ["/meta/env"]],
    ["meta that is not permitted", { meta }, { meta: { env: "a", x: "b" } }, ["/meta/x"]],
    ["meta as declared", { meta }, { meta: { env: "a" } }, []],
  ])("%s", (_, job, given, pointers) => {
    expect(refused(job, given)).toEqual(pointers);
  });

  test("an optional key that was not given is empty; what is given is stronger than the job's", () => {
    const fields = JobFields.parse({ spec: { argv: ["true"], meta: { env: "old", team: "a" } }, meta });
    const cause = { job: "deploy", version: 1, tick: null, isScheduled: false };
    const { values } = runOfJob(fields, { meta: { env: "new" } }, cause);
    expect(values?.meta).toEqual({ env: "new", note: "", team: "a" });
  });

  test.each([
    [0, false],
    [1, true],
    [100, true],
    [101, false],
  ])("priority %i: %s; absent it is the job's, where the ancestor says 0", (priority, isTaken) => {
    expect(TriggerRequest.safeParse({ priority }).success).toBe(isTaken);
  });

  test("the same key is the same run, whoever says it", () => {
    expect(triggeredRunId("default", "deploy", "k")).toBe("deploy-by-k");
  });

  test("runs of a trigger are independent: `overlap` of the schedule does not count", () => {
    const fields = JobFields.parse({
      spec: { argv: ["true"] },
      schedule: { cron: "0 * * * *", zone: "UTC" },
    });
    const cause = { job: "deploy", version: 1, tick: null };
    expect(runOfJob(fields, {}, { ...cause, isScheduled: false }).values?.concurrency).toBeUndefined();
    expect(runOfJob(fields, {}, { ...cause, isScheduled: true }).values?.concurrency?.key).toBe("job:deploy");
  });

  test("keys that are required and optional at once are refused", () => {
    const both = { spec: { argv: ["true"] }, meta: { required: ["a"], optional: ["a"] } };
    expect(JobFields.safeParse(both).success).toBe(false);
  });

  test.each(["../in", "/etc/in", "in/../../x"])(
    "a payload's file must not leave the directory: %s",
    (path) => {
      const job = { spec: { argv: ["true"] }, payload: "optional", payloadFile: path };
      expect(JobFields.safeParse(job).success).toBe(false);
    },
  );
});

describe("a periodic job (jobs.md#schedule)", () => {
  const problems = (more: object) => {
    const fields = JobFields.parse({
      spec: { argv: ["true"] },
      schedule: { cron: "0 * * * *", zone: "UTC", ...more },
    });
    return problemsOf({ name: "nightly", project: "default", fields }, NOON).map(({ pointer }) => pointer);
  };

  test("the id of a run has its tick, so that a tick has one run", () => {
    expect(tickRunId("default", "nightly", NOON)).toBe("nightly-at-20261122t1200z");
  });

  test("several expressions are one sequence", () => {
    const both = schedule(["0 * * * *", "0 */2 * * *"], { missed: "all", catchUp: "24h" });
    const { runs } = dueTicks(both, { since: { at: NOON }, now: NOON + 4 * HOUR, job: "nightly" });
    expect(runs.map(({ tick }) => (tick.at - NOON) / HOUR)).toEqual([1, 2, 3, 4]);
  });

  test("a zone that does not exist is refused, where the ancestor takes UTC", () => {
    expect(problems({ zone: "Europe/Nowhere" })).toEqual(["/schedule/zone"]);
  });

  test("what was missed while nobody led runs once, the latest", () => {
    const { runs, skips } = dueTicks(schedule("0 * * * *", { catchUp: "24h" }), {
      since: { at: NOON },
      now: NOON + 3.5 * HOUR,
      job: "nightly",
    });
    expect(runs.map(({ tick }) => (tick.at - NOON) / HOUR)).toEqual([3]);
    expect(skips).toMatchObject([{ count: 2, reason: "superseded" }]);
  });

  test("a job with a schedule and required values is refused, where the ancestor starts no child", () => {
    const spec = { argv: ["true"] };
    const fields = JobFields.parse({ spec, meta, schedule: { cron: "0 * * * *", zone: "UTC" } });
    expect(problemsOf({ name: "nightly", project: "default", fields }, NOON)).not.toEqual([]);
  });
});
