import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { beat } from "../../local/beat.ts";
import { scratchDir } from "./support/scratch.ts";
import { mountDisk, NO_MOUNT } from "./support/small-disk.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("P11: drover up says that it is awake, and when it was not", () => {
  test("P11: it says when it last slept, from when and until when", () => {
    const dir = scratchDir();
    let now = 100_000;
    const slept: number[] = [];
    const stop = beat(
      dir,
      (ms) => slept.push(ms),
      () => now,
    );
    const noted = () => readFileSync(join(dir, "awake"), "utf8");
    expect(noted()).toBe("100000 0 0");
    for (const [at, text] of [
      [101_000, "101000 0 0"],
      [701_000, "701000 101000 701000"],
      [702_000, "702000 101000 701000"],
    ] as const) {
      now = at;
      vi.advanceTimersToNextTimer();
      expect(noted()).toBe(text);
    }
    expect(slept).toEqual([600_000]);
    stop();
    expect(readdirSync(dir)).toEqual([]);
  });

  test("P11: what it can no longer say is not left as it was", (context) => {
    const small = mountDisk(join(scratchDir(), "disk"), "size=64k,mode=700");
    if (small === undefined) return context.skip(NO_MOUNT);
    const stop = beat(small.dir, () => {});
    try {
      small.fill();
      vi.advanceTimersToNextTimer();
      expect(existsSync(join(small.dir, "awake"))).toBe(false);
      small.free();
      vi.advanceTimersToNextTimer();
      expect(existsSync(join(small.dir, "awake"))).toBe(true);
    } finally {
      stop();
      small.unmount();
    }
  });
});
