import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as others } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { placeAll } from "../../agent/exec/files/placing.ts";
import { Beneath } from "../../archive/beneath.ts";
import { openDecompressed } from "../../archive/compression/decompress.ts";
import { choiceOf, readGlobs } from "../../archive/globs.ts";
import { pack } from "../../archive/pack.ts";
import { walk } from "../../archive/walk.ts";
import { sized } from "../chance/length.ts";
import { isRoot, NOBODY, startSwapper } from "./support/swapper.ts";

// The agent, which may be root, collects what tasks have made, and puts artifacts and snapshots among it.

const SWAPS = sized(2_000, 20_000);
const BOUNDS = { bytes: 1024 ** 2, contents: 1024 ** 2, entries: 1_000 };

let dir: string;
let tree: string;
let victim: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-task-dirs-"));
  chmodSync(dir, 0o755);
  [tree, victim] = [join(dir, "tree"), join(dir, "victim")];
  mkdirSync(join(tree, "d", "in"), { recursive: true });
  for (let n = 0; n < 20; n += 1) writeFileSync(join(tree, "d", "in", `f${n}`), "mine");
  mkdirSync(join(victim, "in"), { recursive: true });
  for (let n = 0; n < 20; n += 1) {
    writeFileSync(join(victim, "in", `f${n}`), "secret");
    symlinkSync(`secret-${n}`, join(victim, "in", `secret-${n}`));
  }
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const giveTree = () => {
  if (isRoot) execFileSync("chown", ["-R", `${NOBODY.uid}:${NOBODY.gid}`, tree]);
};

describe("X2: outputs are collected from the task's own directory and nowhere else", () => {
  const archive = () => join(dir, "archive");
  const collect = () => pack({ root: tree, globs: ["**"] }, archive(), AbortSignal.timeout(200_000), BOUNDS);
  const contents = async () => {
    const tar = Buffer.concat(await (await openDecompressed(archive())).toArray());
    return execFileSync("tar", ["-xO"], { input: tar, encoding: "utf8" });
  };
  const findNames = async (into: Set<string>) => {
    const top = Beneath.open(tree);
    try {
      const all = choiceOf(readGlobs(["**"]));
      for await (const { path } of walk(top, all, AbortSignal.timeout(200_000))) into.add(path);
    } finally {
      top.close();
    }
  };

  test("a link in the place of a directory is a link", async () => {
    symlinkSync("d", join(tree, "link"));
    const found = new Set<string>();
    await findNames(found);
    expect([...found].filter((name) => name.startsWith("link"))).toEqual(["link"]);
  });

  test.skipIf(!isRoot)(
    `whoever swaps names meanwhile, ${SWAPS} times (needs root)`,
    async () => {
      giveTree();
      chmodSync(victim, 0o700);
      const swapper = await startSwapper(tree, "d", victim);
      const found = new Set<string>();
      try {
        // A search that no swap disturbs finds what is there: without one, the others would prove nothing.
        while (swapper.swaps < SWAPS || !found.has("d/in/f0")) {
          // That something has changed meanwhile, or is a link to elsewhere, is a fault of the task.
          await findNames(found).catch(() => undefined);
          if (await collect().then(Boolean, () => false)) expect(await contents()).not.toContain("secret");
        }
      } finally {
        await swapper.stop();
      }
      expect([...found].filter((name) => name.includes("secret"))).toEqual([]);
      expect(found).toContain("d/in/f0");
    },
    240_000,
  );
});

describe("X2: what is fetched is put into the task's own directory and nowhere else", () => {
  const ready = () => {
    const from = join(dir, "ready");
    mkdirSync(join(from, "in"), { recursive: true });
    for (let n = 0; n < 20; n += 1) writeFileSync(join(from, "in", `f${n}`), "fetched");
    return from;
  };

  test("directories become one, and anything else in the way is replaced", async () => {
    const from = ready();
    for (const path of ["file", "was-file/x", "was-link/x", "was-dir"]) {
      mkdirSync(join(from, path, ".."), { recursive: true });
      writeFileSync(join(from, path), "fetched");
    }
    mkdirSync(join(from, "closed"));
    chmodSync(join(from, "closed"), 0o555);
    const d = join(tree, "d");
    writeFileSync(join(d, "was-file"), "");
    symlinkSync(victim, join(d, "was-link"));
    mkdirSync(join(d, "was-dir", "deep"), { recursive: true });
    await placeAll(from, tree, ["d"]);
    expect(readdirSync(d).sort()).toEqual(["closed", "file", "in", "was-dir", "was-file", "was-link"]);
    for (const path of ["file", "was-file/x", "was-link/x", "was-dir", "in/f0"]) {
      expect(readFileSync(join(d, path), "utf8")).toBe("fetched");
    }
    expect(lstatSync(join(d, "closed")).mode & 0o777).toBe(0o555);
    expect(existsSync(join(victim, "x"))).toBe(false);
  });

  test("a link on the way is not followed, and the way is as open as a task's own directories", async () => {
    symlinkSync(victim, join(tree, "link"));
    await expect(placeAll(ready(), tree, ["link"])).rejects.toThrow("link");
    expect(readdirSync(victim)).toEqual(["in"]);
    await placeAll(ready(), tree, ["new", "deep"]);
    expect(lstatSync(join(tree, "new")).mode & 0o777).toBe(0o755);
  });

  test.skipIf(!isRoot)("it belongs to whom the directory belongs to (needs root)", async () => {
    chownSync(tree, NOBODY.uid, NOBODY.gid);
    await placeAll(ready(), tree, ["new", "deep"]);
    for (const path of ["new", "new/deep", "new/deep/in", "new/deep/in/f0"]) {
      expect(lstatSync(join(tree, path)).uid).toBe(NOBODY.uid);
    }
  });

  test.skipIf(!isRoot)(
    `whoever swaps names meanwhile, ${SWAPS} times (needs root)`,
    async () => {
      giveTree();
      const swapper = await startSwapper(tree, "d", victim);
      try {
        while (swapper.swaps < SWAPS) {
          const from = ready();
          await placeAll(from, tree, ["d"]).catch(() => undefined);
          await others();
          rmSync(from, { recursive: true });
        }
      } finally {
        await swapper.stop();
      }
      for (let n = 0; n < 20; n += 1) {
        expect(readFileSync(join(victim, "in", `f${n}`), "utf8")).toBe("secret");
        expect(lstatSync(join(victim, "in", `f${n}`)).uid).toBe(0);
      }
      expect(readdirSync(victim)).toEqual(["in"]);
    },
    240_000,
  );
});
