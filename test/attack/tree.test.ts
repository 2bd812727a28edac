import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { giveAllIn, removeTree } from "../../agent/exec/files/tree.ts";
import { sized } from "../chance/length.ts";
import { isRoot, NOBODY, startSwapper } from "./support/swapper.ts";

// The agent deletes directories of tasks, and gives them away, while tasks can change what lies in them.

/** How often another user puts something else in the place of a name. */
const SWAPS = sized(1_000, 10_000);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-tree-"));
  chmodSync(dir, 0o755);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A directory that nobody else may write into, with so many files. */
function victim(files: number): string {
  const path = join(dir, "victim");
  mkdirSync(path, { mode: 0o755 });
  for (let n = 0; n < files; n += 1) writeFileSync(join(path, `v${n}`), "");
  return path;
}

describe("a tree is removed", () => {
  test.each<[string, (tree: string) => void]>([
    ["that is not there", (tree) => rmSync(tree, { recursive: true })],
    ["that is empty", () => undefined],
    [
      "with directories without rights",
      (tree) => {
        mkdirSync(join(tree, "a", "b", "c"), { recursive: true });
        writeFileSync(join(tree, "a", "b", "x"), "");
        for (const path of ["a/b/c", "a/b", "a"]) chmodSync(join(tree, path), 0);
      },
    ],
    [
      "with a name that is no UTF-8",
      (tree) => {
        writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe])]), "");
        mkdirSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0x61, 0xff])]));
      },
    ],
    [
      "with names like those that removing makes",
      (tree) => {
        for (let n = 0; n < 9; n += 1) mkdirSync(join(tree, "in", `.going-${n}`, "x"), { recursive: true });
        for (let n = 0; n < 9; n += 1) mkdirSync(join(tree, `.going-${n}`, "y"), { recursive: true });
      },
    ],
  ])("%s", async (_what, make) => {
    const tree = join(dir, "tree");
    mkdirSync(tree);
    make(tree);
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });

  test("that is deeper than files can be open", async () => {
    const tree = join(dir, "tree");
    mkdirSync(tree);
    // A path cannot be so long: a hundred levels at a time are made, each below the one before.
    const levels = Array.from({ length: 100 }, () => "d").join("/");
    for (let n = 0; n < 20; n += 1) {
      mkdirSync(join(dir, "next", levels), { recursive: true });
      if (n > 0) renameSync(join(tree, "d"), join(dir, "next", levels, "d"));
      renameSync(join(dir, "next", "d"), join(tree, "d"));
    }
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });
});

describe("X2: nothing that a link leads to is touched", () => {
  test("when a link lies in the tree, or the tree itself is one", async () => {
    const safe = victim(3);
    mkdirSync(join(dir, "tree"));
    symlinkSync(safe, join(dir, "tree", "link"));
    await removeTree(join(dir, "tree"));
    symlinkSync(safe, join(dir, "tree"));
    await removeTree(join(dir, "tree"));
    expect(existsSync(join(dir, "tree"))).toBe(false);
    expect(readdirSync(safe)).toHaveLength(3);
  });

  test.skipIf(!isRoot)("when a tree is given away", () => {
    const safe = victim(3);
    mkdirSync(join(dir, "tree", "in"), { recursive: true });
    symlinkSync(safe, join(dir, "tree", "in", "link"));
    giveAllIn(join(dir, "tree"), NOBODY);
    expect(lstatSync(join(dir, "tree", "in", "link")).uid).toBe(NOBODY.uid);
    expect(readdirSync(safe).map((name) => statSync(join(safe, name)).uid)).toEqual([0, 0, 0]);
  });

  test.skipIf(!isRoot)(
    `whoever swaps names meanwhile, ${SWAPS} times (needs root)`,
    async () => {
      const safe = victim(4_000);
      const tree = join(dir, "tree");
      let swaps = 0;
      while (swaps < SWAPS) {
        mkdirSync(join(tree, "d"), { recursive: true });
        for (let n = 0; n < 4_000; n += 1) writeFileSync(join(tree, "d", `v${n}`), "");
        for (const path of [tree, join(tree, "d")]) chownSync(path, NOBODY.uid, NOBODY.gid);
        const swapper = await startSwapper(tree, "d", safe);
        // Somebody who goes on may keep it from getting to its end.
        await removeTree(tree).catch(() => undefined);
        await swapper.stop();
        await removeTree(tree);
        swaps += swapper.swaps;
        expect(existsSync(tree)).toBe(false);
        expect(readdirSync(safe)).toHaveLength(4_000);
      }
    },
    240_000,
  );
});
