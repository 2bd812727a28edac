import { describe, expect, test } from "vitest";
import type { JobSkip, RunSummary } from "../../../src/generated/api.ts";
import { differing, fieldsOf } from "../../../ui/pages/job/fields.ts";
import { merged } from "../../../ui/pages/job/merged.ts";

const run = (id: string, submittedAt: string): RunSummary => ({
  ...{ id, submittedAt, state: "complete", version: 1, project: "default", pool: "default", labels: {} },
  ...{ priority: 50, command: "true", exitCode: 0, worker: null, startedAt: null, finishedAt: null },
});
const skip = (at: string): JobSkip => ({ from: at, to: at, count: 1, reason: "paused", text: "", at });

describe("runs and skipped ticks stand in the order in which they were decided (jobs.md#skips)", () => {
  const runs = [run("late", "2026-11-22T05:00:00Z"), run("early", "2026-11-22T03:00:00Z")];
  const skips = ["06", "04", "02"].map((hour) => skip(`2026-11-22T${hour}:00:00Z`));
  const shown = (isAll: boolean, most = 50) =>
    merged(runs, skips, { isAll, most }).map((row) => (row.is === "run" ? row.run.id : row.skip.at));

  test("all of them, latest first", () => {
    const [six, four, two] = skips.map(({ at }) => at);
    expect(shown(true)).toEqual([six, "late", four, "early", two]);
  });

  test("if earlier runs are not known, skipped ticks among them are left out", () => {
    expect(shown(false)).not.toContain(skips[2]?.at);
    expect(shown(false)).toHaveLength(4);
  });

  test("no more than a page", () => {
    expect(shown(true, 2)).toEqual([skips[0]?.at, "late"]);
  });

  test("without runs there are the skipped ticks", () => {
    expect(merged([], skips, { isAll: true, most: 50 })).toHaveLength(3);
  });
});

describe("versions of a job (jobs.md#versions)", () => {
  const one = { spec: { argv: ["make"], timeout: "1h" }, schedule: { cron: "0 2 * * *", zone: "UTC" } };

  test.each([
    [one, []],
    [{ ...one, spec: { timeout: "1h", argv: ["make"] } }, []],
    [{ ...one, spec: { argv: ["make", "all"] } }, ["spec.argv", "spec.timeout"]],
    [{ spec: one.spec }, ["schedule"]],
    [{ ...one, description: "x", params: { a: { type: "string" as const } } }, ["description", "params"]],
  ])("%j differs in %j", (other, fields) => {
    expect(differing(one, other)).toEqual(fields);
  });

  test("what was stored is shown without what Drover says besides", () => {
    expect(fieldsOf({ ...one, ...{ name: "nightly", version: 3, next: [] } })).toEqual(one);
  });
});
