import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Sleep, watchSleep } from "../../agent/awake.ts";

const dir = mkdtempSync(join(tmpdir(), "awake-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("P11: an agent knows whether its control plane has stood still with it", () => {
  const HOUR = 3_600_000;
  /** This agent has looked at 10 s, and then after an hour. */
  test.each<[string, string | undefined, Sleep | undefined]>([
    ["`drover up` has not looked since", "9500 0 0", { since: 10_000, wokeAt: HOUR }],
    ["`drover up` has woken first", "3600000 9500 3599000", { since: 10_000, wokeAt: 3_599_000 }],
    ["`drover up` has long been awake again", "3600000 9500 900000", { since: 10_000, wokeAt: 900_000 }],
    ["`drover up` had fallen asleep before it", "3600000 2000 3600000", { since: 10_000, wokeAt: HOUR }],
    ["`drover up` was awake all the time", "3600000 0 0", undefined],
    ["`drover up` has slept another time", "3600000 2000 8000", undefined],
    ["it stood still alone, and then the machine slept", "3600000 610000 3600000", undefined],
    ["the same, and it has woken first", "610000 0 0", undefined],
    ["`drover up` had been gone for long", "2000 0 0", undefined],
    ["nothing is noted", undefined, undefined],
    ["what is noted cannot be read", "?", undefined],
    ["what is noted says less", "9500 0", undefined],
  ])("P11: %s", (_, beat, sleep) => {
    const file = join(dir, "awake");
    rmSync(file, { force: true });
    if (beat !== undefined) writeFileSync(file, beat);
    const awake = watchSleep(
      file,
      () => 10_000,
      () => undefined,
    );
    expect(awake(HOUR)).toEqual(sleep);
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
