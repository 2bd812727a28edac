import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isOwnName } from "../../archive/own-paths.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { END, entry } from "../archive/support/tar.ts";
import { type Bench, openBench } from "../cli/support/command.ts";

// The result of a run is an archive that its host has made. The operator unpacks it.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  mkdirSync(join(bench.dir, "into"));
});
afterEach(() => bench.close());

const inside = (...path: string[]) => join(bench.dir, "into", ...path);

type Entry = Parameters<typeof entry>[0];

/** Has the control plane store an archive of these entries, and returns the id of the snapshot. */
function storedArchive(entries: Entry[]): string {
  const bytes = gzipSync(Buffer.concat([...entries.map(entry), END]));
  const digest = createHash("sha256").update(bytes).digest("hex");
  bench.plane.snapshots.set(digest, bytes);
  return `sha256:${digest}`;
}

/** A run that was to leave `outputs`, and whose host says that this archive is what it has left. */
async function lyingResult(outputs: string[], entries: Entry[]): Promise<void> {
  const snapshot = storedArchive(entries);
  const spec = RunSpec.parse({ argv: ["x"], outputs });
  bench.plane.ends = { state: "complete", exitCode: 0, snapshot, spec };
  await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
}

const SPELLINGS = [
  ".git",
  ".GIT",
  ".Git",
  ".git.",
  ".git ",
  ".g\u200cit",
  "GIT~1",
  ".drover",
  ".DROVER",
  "．git",
];

test.each(SPELLINGS)("X3: %j is a directory that nothing is unpacked into", (name) => {
  expect(isOwnName(name)).toBe(true);
});

test.each([".gitignore", ".github", "git", "drover", ".droverignore", "a.git"])(
  "X3: %s is a name like any other",
  (name) => {
    expect(isOwnName(name)).toBe(false);
  },
);

const HOOK: Entry = { path: ".git/hooks/post-checkout", mode: 0o755, content: "#!/bin/sh\necho HOOK-RAN\n" };

describe("X3: drover pull unpacks what the run's outputs name", () => {
  test.each<[string, Entry[]]>([
    ["a file beside it", [{ path: "Makefile", content: "all:\n" }]],
    ["a link beside it", [{ path: "run.sh", type: "SymbolicLink", linkpath: "dist/x" }]],
    ["a second name of a file beside it", [{ path: "dist/y", type: "Link", linkpath: "Makefile" }]],
    ["a file in a directory of a like name", [{ path: "dist2/x", content: "" }]],
  ])("and nothing at all if there is %s", async (_what, more) => {
    writeFileSync(inside("Makefile"), "mine\n");
    await lyingResult(["dist/**"], [{ path: "dist/x", content: "x" }, ...more]);
    const { code, stderr } = await bench.run(["pull", "r1", "--into", "into"]);
    expect([code, stderr]).toEqual([125, expect.stringContaining("is not among the run's outputs")]);
    expect(readdirSync(inside())).toEqual(["Makefile"]);
    expect(readFileSync(inside("Makefile"), "utf8")).toBe("mine\n");
  });

  test.each(SPELLINGS)("and leaves %j out, in any directory, also where all was named", async (name) => {
    const hidden = [`${name}/hooks/post-checkout`, `sub/${name}/config`, `sub/${name.toUpperCase()}/config`];
    const entries = hidden.map((path): Entry => ({ ...HOOK, path }));
    await lyingResult(["**"], [{ path: "x", content: "x" }, ...entries, { path: "sub/y", content: "y" }]);
    const { code, stderr } = await bench.run(["pull", "r1", "--into", "into"]);
    expect(code).toBe(0);
    expect(stderr).toContain("is left out: .git and .drover are never unpacked");
    expect(readdirSync(inside()).sort()).toEqual(["sub", "x"]);
    expect(readdirSync(inside("sub"))).toEqual(["y"]);
  });

  test.each([".git", "sub/.GIT/hooks", ".git/config", ".drover"])(
    "nor is a link put there that leads to %s",
    async (linkpath) => {
      mkdirSync(inside(".git"));
      mkdirSync(inside("sub"));
      const link: Entry = { path: "x", type: "SymbolicLink", linkpath };
      await lyingResult(["**"], [link, { path: "y", content: "y" }]);
      const { code, stderr } = await bench.run(["pull", "r1", "--into", "into"]);
      expect([code, stderr]).toEqual([0, expect.stringContaining("is left out")]);
      expect(readdirSync(inside())).not.toContain("x");
    },
  );

  test("nor is a second name given to a file of the repository", async () => {
    mkdirSync(inside(".git"));
    writeFileSync(inside(".git", "config"), "mine\n");
    const link: Entry = { path: "x", type: "Link", linkpath: ".git/config" };
    await lyingResult(["**"], [link, { path: "y", content: "y" }]);
    expect((await bench.run(["pull", "r1", "--into", "into"])).code).toBe(0);
    expect(existsSync(inside("x"))).toBe(false);
    expect(readFileSync(inside(".git", "config"), "utf8")).toBe("mine\n");
  });
});

test("X3: a snapshot that is fetched by its id brings no .git either", async () => {
  const id = storedArchive([HOOK, { path: "x", content: "x" }]);
  const ended = await bench.run(["snapshots", "get", id, "--into", "into"]);
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining("is left out") });
  expect(readdirSync(inside())).toEqual(["x"]);
});
