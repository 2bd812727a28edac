import { describe, expect, test } from "vitest";
import { LONGEST_JUDGMENT_MS, OpenRequests } from "../../../src/routes/access/open-requests.ts";
import { RateLimiter } from "../../../src/routes/access/rate-limiter.ts";

describe("requests of a caller that have no outcome yet (access.md#rate-limits)", () => {
  test("do not pile up when the platform ends them, which gives them no outcome", () => {
    const open = new OpenRequests();
    for (let count = 0; count < 1_000; count += 1) open.add(count * 1_000);
    expect(open.size).toBe(LONGEST_JUDGMENT_MS / 1_000);
  });

  test.each([
    ["just before the longest time of a judgment", LONGEST_JUDGMENT_MS - 1, true],
    ["after it", LONGEST_JUDGMENT_MS, false],
  ])("%s: may still get one", (_, now, isYoung) => {
    const open = new OpenRequests();
    open.add(0);
    expect(open.hasYoung(now)).toBe(isYoung);
  });

  test("are given back by a late outcome, also if they were dropped before", () => {
    const limiter = new RateLimiter({ quota: 2, windowMs: 60_000 });
    const late = limiter.reserve("a", 0);
    limiter.reserve("a", LONGEST_JUDGMENT_MS).settle(true);
    expect(limiter.reserve("a", LONGEST_JUDGMENT_MS).verdict.allowed).toBe(false);
    late.settle(false);
    expect(limiter.reserve("a", LONGEST_JUDGMENT_MS).verdict.allowed).toBe(true);
  });
});
