import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { watchSleep } from "../../agent/awake.ts";

const dir = mkdtempSync(join(tmpdir(), "awake-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("P11: an agent knows whether its control plane has stood still with it", () => {
  test.each<[string, string | undefined, number | undefined]>([
    ["`drover up` has not looked since", "9500 0", 10_000],
    ["`drover up` has woken first", "3600000 3600000", 10_000],
    ["`drover up` was awake all the time", "3600000 0", undefined],
    ["`drover up` has slept another time", "3600000 8000", undefined],
    ["nothing is noted", undefined, undefined],
    ["what is noted cannot be read", "?", undefined],
  ])("P11: %s", (_, beat, since) => {
    const file = join(dir, "awake");
    rmSync(file, { force: true });
    if (beat !== undefined) writeFileSync(file, beat);
    const awake = watchSleep(
      file,
      () => 10_000,
      () => undefined,
    );
    expect(awake(3_600_000)).toBe(since);
    expect(awake(3_601_000)).toBeUndefined();
  });

  test("P11: an agent whose control plane is elsewhere never has such an excuse", () => {
    expect(
      watchSleep(
        undefined,
        () => 0,
        () => undefined,
      )(3_600_000),
    ).toBeUndefined();
  });
});
