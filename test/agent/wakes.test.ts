import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LOOK_AGAIN_MS, LOOK_EVERY_MS, Wakes } from "../../agent/exec/wakes.ts";
import { until } from "../local/support/scratch.ts";

// How often output that grows without a pause makes the agent look (host-protocol.md#stamps).

let dir: string;
let wakes: Wakes;
/** How often each attempt was looked at. */
let looks: Map<string, number>;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-wakes-"));
  looks = new Map();
  wakes = new Wakes((id) => looks.set(id, (looks.get(id) ?? 0) + 1));
});
afterEach(() => {
  for (const id of looks.keys()) wakes.unwatch(id);
  rmSync(dir, { recursive: true, force: true });
});

/** Has this many attempts write until each was looked at `least` times. Resolves with how long it took. */
async function writing(attempts: number, least: number): Promise<number> {
  const ids = Array.from({ length: attempts }, (_, index) => `a${index}`);
  const beginAt = performance.now();
  for (const id of ids) {
    mkdirSync(join(dir, id));
    looks.set(id, 0);
    wakes.watch(id, join(dir, id));
  }
  const writer = setInterval(() => {
    for (const id of ids) appendFileSync(join(dir, id, "stdout"), "x");
  }, 5);
  try {
    const isDone = () => [...looks.values()].every((count) => count >= least) || undefined;
    await until("each was looked at", isDone, () => looks);
    return performance.now() - beginAt;
  } finally {
    clearInterval(writer);
  }
}

test("one attempt is looked at twice in each pause, at most", async () => {
  const ms = await writing(1, 20);
  // Each listening ends with a look, and the next one begins with one.
  expect(looks.get("a0")).toBeLessThanOrEqual(2 * (1 + ms / LOOK_AGAIN_MS) + 1);
});

test("many attempts together are looked at no more often, and each of them in its turn", async () => {
  const attempts = 60;
  const ms = await writing(attempts, 10);
  const all = [...looks.values()].reduce((sum, count) => sum + count);
  expect(all).toBeLessThanOrEqual(2 * (attempts + ms / LOOK_EVERY_MS) + attempts);
  expect(Math.max(...looks.values())).toBeLessThanOrEqual(4 * Math.min(...looks.values()));
});
