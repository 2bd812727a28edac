import { describe, expect, test } from "vitest";
import type { PoolView } from "../../../src/generated/api.ts";
import { servedBy, usesOf } from "../../../ui/pages/admin/project-use.ts";

/** A pool as far as its projects go. */
function pool(name: string, more: object): PoolView {
  // The page reads nothing else of it here.
  return { name, config: {}, ...more } as PoolView;
}

test("a pool that names no projects serves the default one alone (projects.md#pools)", () => {
  const pools = [pool("plain", {}), pool("shared", { config: { projects: { ml: {} } } })];
  const namesOf = (project: string) => servedBy(project, pools).map(({ name }) => name);
  expect([namesOf("default"), namesOf("ml"), namesOf("other")]).toEqual([["plain"], ["shared"], []]);
});

describe("what a project uses of a pool (projects.md#quotas)", () => {
  const use = { queued: 3, placed: 2, machines: 1, costPerHour: 0.5, unpriced: 0, quota: {} };
  const textsOf = (one: object) =>
    usesOf("ml", pool("shared", { projects: { ml: one } })).map(({ text }) => text);

  test("is shown with its quotas", () => {
    const quota = { maxRuns: 7, maxInstances: 2, maxCostPerHour: 4, maxStoredBytes: "1GiB" };
    expect(textsOf({ ...use, storedBytes: 2048, quota })).toEqual([
      ...["3", "2 of at most 7", "1 of at most 2", "0.50/h of at most 4.00/h", "2KiB of at most 1GiB"],
    ]);
  });

  test("is shown without them, and with what has no price", () => {
    expect(textsOf({ ...use, unpriced: 1 })).toEqual([
      ...["3", "2, no quota", "1, no quota", "0.50/h and 1 unpriced, no quota", "not counted"],
    ]);
  });

  test("is not counted in a pool that names no projects", () => {
    expect(new Set(usesOf("default", pool("plain", {})).map(({ text }) => text))).toEqual(
      new Set(["not counted"]),
    );
  });
});
