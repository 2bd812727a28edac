import { afterEach, expect, test, vi } from "vitest";
import { bullMq } from "../../bench/contenders/bullmq.ts";
import { parallel } from "../../bench/contenders/parallel.ts";

afterEach(() => vi.unstubAllEnvs());

test("a peer that is not there says how to install it (budgets.md#bench)", () => {
  vi.stubEnv("PATH", "/nowhere");
  vi.stubEnv("NODE_PATH", "");
  expect(parallel.missing()).toBe("apt-get install parallel");
  expect(bullMq(false).missing()).toBe("apt-get install redis-server");
});
