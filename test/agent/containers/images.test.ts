import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ImageUse } from "../../../agent/containers/image-use.ts";
import { Images, type ImageWish } from "../../../agent/containers/images.ts";
import { until } from "../../local/support/scratch.ts";
import { fakeImage } from "../support/fake-containers.ts";
import { type FakeEngine, openFakeEngine } from "../support/fake-engine.ts";

const IMAGE = "registry.example/tool:2";

let dir: string;
let fake: FakeEngine;
let use: ImageUse;
let images: Images;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drover-images-"));
  fake = await openFakeEngine();
  use = new ImageUse(dir);
  images = new Images(use);
});
afterEach(async () => {
  await fake.close();
  rmSync(dir, { recursive: true, force: true });
});

const wish = (
  more: Partial<ImageWish["container"]> = {},
  signal = new AbortController().signal,
): ImageWish => ({
  container: { image: IMAGE, pull: "missing", ...more },
  auth: undefined,
  signal,
  progress: () => undefined,
});
const pulls = () => fake.changes().filter((change) => change === "POST /images/create").length;

describe("images (containers.md#images)", () => {
  test("a wish that comes as a pull is stopped gets a pull of its own", async () => {
    fake.pulls.set(IMAGE, [{ ending: "stall" }, {}]);
    const stop = new AbortController();
    const first = images.ensure(fake.engine, wish({}, stop.signal)).catch((error) => error);
    await until("it is pulled", () => pulls() === 1);
    stop.abort(new Error("stopped"));
    const second = images.ensure(fake.engine, wish());
    expect((await first).message).toBe("stopped");
    expect((await second).repoTags).toEqual([IMAGE]);
    expect(pulls()).toBe(2);
  });

  test("an image that was there before is not Drover's, although it is pulled each time", async () => {
    fake.images.push(fakeImage(IMAGE));
    await images.ensure(fake.engine, wish({ pull: "always" }));
    expect([pulls(), use.uses]).toEqual([1, {}]);
  });

  test("a newer one that was pulled is", async () => {
    const id = `sha256:${"7".repeat(64)}`;
    fake.override = ({ path }) => {
      if (path === "/images/create") fake.images.splice(0, 1, fakeImage(IMAGE, { id }));
      return false;
    };
    fake.images.push(fakeImage(IMAGE));
    await images.ensure(fake.engine, wish({ pull: "always" }));
    expect(Object.keys(use.uses)).toEqual([id]);
  });

  test("a full disk forgets no use, and ends no agent", async () => {
    rmSync(dir, { recursive: true });
    await images.ensure(fake.engine, wish());
    expect(Object.keys(use.uses)).toEqual([fakeImage(IMAGE).id]);
  });
});
