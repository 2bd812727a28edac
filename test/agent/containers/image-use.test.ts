import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ImageUse, imageToRemove } from "../../../agent/containers/image-use.ts";

const MINUTE = 60_000;

describe("which image goes when the disk gets full (containers.md#clean-up)", () => {
  test.each([
    ["none while there is room", { a: 0, b: 1 }, 0.8, undefined],
    ["the one whose use is longest ago", { b: 2, a: 1, c: 3 }, 0.81, "a"],
    ["none that was used a moment ago", { a: 8 * MINUTE }, 0.99, undefined],
    ["none if Drover has pulled none", {}, 0.99, undefined],
  ])("%s", (_, uses, usedPart, wanted) => {
    expect(imageToRemove(uses, usedPart, 10 * MINUTE)).toBe(wanted);
  });
});

describe("the uses of images (containers.md#clean-up)", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "drover-images-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test("are known to the next start of the agent", () => {
    new ImageUse(dir).pulled("a", 1);
    const next = new ImageUse(dir);
    next.used("a", 2);
    expect(new ImageUse(dir).uses).toEqual({ a: 2 });
  });

  test("are those of images that this host has pulled, and of no others", () => {
    const use = new ImageUse(dir);
    use.used("somebody's", 1);
    use.pulled("a", 1);
    use.pulled("b", 1);
    use.forget("a");
    expect(use.uses).toEqual({ b: 1 });
  });
});
