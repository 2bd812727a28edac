import { describe, expect, test } from "vitest";
import { aged, fingerprintOf } from "../../src/probes/believed.ts";
import type { AttemptReport } from "../../src/schema/host.ts";

// What the worker makes of the attempts in a report (reports.md).

const preparing: AttemptReport = { id: "r/main/1.1", state: "preparing" };

describe("a report is news", () => {
  test.each<[string, Partial<AttemptReport>, Partial<AttemptReport>, boolean]>([
    ["if the host does something else", { doing: "pulling: 3 %" }, { doing: "pulling: 50 %" }, true],
    ["if the image is known now", {}, { image: "node@sha256:ab" }, true],
    ["not for what is not kept", { doing: "x".repeat(200) }, { doing: `${"x".repeat(200)}y` }, false],
    ["not for an age", { startedAgoMs: 1 }, { startedAgoMs: 2 }, false],
  ])("%s", (_what, first, second, isNews) => {
    const texts = [first, second].map((more) => fingerprintOf([{ ...preparing, ...more }]));
    expect(texts[0] !== texts[1]).toBe(isNews);
  });
});

test("all ages of an earlier report grow with time", () => {
  const unhealthy = { check: "http", failures: 3, output: "no", agoMs: 7 };
  const checks = [{ name: "http", status: "critical" as const, sinceAgoMs: 5 }];
  const ages = { startedAgoMs: 9, endedAgoMs: 1 };
  expect(aged([{ ...preparing, ...ages, checks, unhealthy }], 100)).toEqual([
    {
      ...preparing,
      startedAgoMs: 109,
      endedAgoMs: 101,
      checks: [{ name: "http", status: "critical", sinceAgoMs: 105 }],
      unhealthy: { ...unhealthy, agoMs: 107 },
    },
  ]);
});
