import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Found } from "../../archive/walk.ts";
import { recall, remember } from "../../cli/snapshot/known.ts";
import { isSettledAt, stampsOf } from "../../cli/snapshot/stamps.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";

// A second upload of an unchanged directory reads no file (decisions/files.md#stamps-of-an-upload).

const OPENED = fileURLToPath(new URL("./support/opened.mjs", import.meta.url));
const signal = AbortSignal.timeout(100_000);

let bench: Bench;
let tree: string;
beforeEach(async () => {
  bench = await openBench();
  tree = join(bench.dir, "tree");
  mkdirSync(join(tree, "src"), { recursive: true });
  writeFileSync(join(tree, "run.sh"), "echo hello\n");
  writeFileSync(join(tree, "src", "a.txt"), "a");
  writeFileSync(join(tree, ".gitignore"), "*.log\n");
  symlinkSync("src/a.txt", join(tree, "link"));
});
afterEach(() => bench.close());

const FILES: Found[] = [
  { path: ".gitignore", kind: "file" },
  { path: "link", kind: "link" },
  { path: "run.sh", kind: "file" },
  { path: "src", kind: "directory" },
  { path: "src/a.txt", kind: "file" },
];
const stamps = () => stampsOf(tree, FILES, signal);
/** Waits until a change of the tree would show in its stamps. */
const settled = () => expect.poll(async () => (await stamps()).isSettled).toBe(true);

const records = () => join(bench.dir, "home", ".cache", "drover", "uploads");

/** Uploads the tree. Returns the id, and which of its files were opened. */
async function upload(): Promise<{ id: string; opened: string[] }> {
  const log = join(bench.dir, "opened");
  writeFileSync(log, "");
  const env = { ...environmentFor(bench.plane), HOME: join(bench.dir, "home"), OPENED_LOG: log };
  const ended = await bench.run(["snapshots", "upload", "tree"], { env }, ["--import", OPENED]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const opened = readFileSync(log, "utf8")
    .split("\n")
    .filter((path) => path.startsWith(`${tree}/`));
  return {
    id: ended.stdout.toString().trim(),
    opened: opened.map((path) => path.slice(tree.length + 1)).sort(),
  };
}

const ALL = [".gitignore", ".gitignore", "run.sh", "src/a.txt"];
const RULES = [".gitignore"];
const puts = () => bench.plane.seen.filter(({ method }) => method === "PUT").length;

test("S8: a second upload reads the rules and no file, and names the same snapshot", async () => {
  await settled();
  const first = await upload();
  expect(first.opened).toEqual(ALL);
  expect(await upload()).toEqual({ id: first.id, opened: RULES });
  expect([puts(), bench.plane.seen.at(-1)?.method]).toEqual([1, "HEAD"]);
});

describe("everything is read again", () => {
  test.each<[string, () => void]>([
    ["a file has other bytes", () => writeFileSync(join(tree, "src/a.txt"), "abc")],
    ["a file has other bytes, as many as before and with the time of before", sameSizeAndTime],
    ["a file was replaced", replaced],
    ["a link leads elsewhere", relinked],
    ["a file was renamed", () => renameSync(join(tree, "run.sh"), join(tree, "go.sh"))],
    ["there are other rules", () => writeFileSync(join(tree, ".gitignore"), "*.sh\n")],
  ])("if %s", async (_what, change) => {
    await settled();
    const first = await upload();
    change();
    const second = await upload();
    expect(second.opened).toContain("src/a.txt");
    expect(second.id).not.toBe(first.id);
  });

  function sameSizeAndTime(): void {
    const { atime, mtime } = statSync(join(tree, "src/a.txt"));
    writeFileSync(join(tree, "src/a.txt"), "b");
    utimesSync(join(tree, "src/a.txt"), atime, mtime);
    expect(statSync(join(tree, "src/a.txt"))).toMatchObject({ size: 1, mtime });
  }

  function relinked(): void {
    rmSync(join(tree, "link"));
    symlinkSync("run.sh", join(tree, "link"));
  }

  function replaced(): void {
    writeFileSync(join(tree, "new"), "b");
    renameSync(join(tree, "new"), join(tree, "src/a.txt"));
  }

  test("if the snapshot is not stored any more", async () => {
    await settled();
    const first = await upload();
    bench.plane.snapshots.clear();
    expect(await upload()).toEqual({ id: first.id, opened: ALL });
    expect(puts()).toBe(2);
  });

  test.each(["", '{"stamps":', '{"stamps":"x","sha256":"y","bytes":1}', "null", "[]"])(
    "if the record is damaged: %j",
    async (content) => {
      await settled();
      await upload();
      const [record = ""] = readdirSync(records());
      writeFileSync(join(records(), record), content);
      expect((await upload()).opened).toEqual(ALL);
      expect((await upload()).opened).toEqual(RULES);
    },
  );

  test("if nothing can be remembered, and nobody is told", async () => {
    await settled();
    writeFileSync(join(bench.dir, "home"), "not a directory");
    expect((await upload()).opened).toEqual(ALL);
    expect((await upload()).opened).toEqual(ALL);
  });
});

describe("a file that has just changed", () => {
  test("could change again without another time, so its stamp is not trusted", async () => {
    writeFileSync(join(tree, "src/a.txt"), "b");
    expect((await stamps()).isSettled).toBe(false);
    await settled();
  });

  const S = 1_000_000_000n;
  const NOW = 1_700_000_000n * S;
  test.each<[string, bigint, boolean]>([
    ["a tenth of a second ago", NOW - S / 10n, false],
    ["a little longer ago", NOW - S / 10n - 1n, true],
    ["in the future", NOW + S + 1n, false],
    ["three seconds ago, in whole seconds", NOW - 3n * S, false],
    ["four seconds ago, in whole seconds", NOW - 4n * S, true],
  ])("%s", (_what, ctimeNs, expected) => {
    expect(isSettledAt(NOW, ctimeNs)).toBe(expected);
  });
});

describe("records", () => {
  const known = { stamps: "a".repeat(64), sha256: "b".repeat(64), bytes: 7 };

  test("are for their owner alone, one for each directory, below XDG_CACHE_HOME if that is set", () => {
    const env = { XDG_CACHE_HOME: join(bench.dir, "cache"), HOME: join(bench.dir, "home") };
    remember({ env }, "/one", known);
    remember({ env }, "/two", { ...known, bytes: 8 });
    remember({ env }, "/one", { ...known, bytes: 9 });
    expect([recall({ env }, "/one"), recall({ env }, "/two"), recall({ env }, "/three")]).toEqual([
      { ...known, bytes: 9 },
      { ...known, bytes: 8 },
      undefined,
    ]);
    const folder = join(bench.dir, "cache", "drover", "uploads");
    const modes = [folder, ...readdirSync(folder).map((name) => join(folder, name))].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  test("are bounded: the oldest ones go", () => {
    const env = { HOME: join(bench.dir, "home") };
    for (let n = 0; n < 510; n += 1) {
      remember({ env }, `/${n}`, known);
      for (const name of n === 0 ? readdirSync(records()) : []) utimesSync(join(records(), name), 1, 1);
    }
    expect(readdirSync(records())).toHaveLength(500);
    expect([recall({ env }, "/0"), recall({ env }, "/509")]).toEqual([undefined, known]);
  });

  test.each<[string, (home: string) => string]>([
    ["the home", (home) => home],
    ["a directory above it", () => "/"],
    ["the home by another name", (home) => `${home}-link`],
  ])(
    "are not made if %s is uploaded: they would be sent, and the next upload is another",
    (_what, rootOf) => {
      const home = join(bench.dir, "home");
      mkdirSync(home, { recursive: true });
      symlinkSync(home, `${home}-link`);
      const root = rootOf(home);
      remember({ env: { HOME: home } }, root, known);
      expect([recall({ env: { HOME: home } }, root), existsSync(records())]).toEqual([undefined, false]);
    },
  );

  test("need a place: without a home nothing is remembered", () => {
    for (const env of [{}, { HOME: "relative" }]) {
      remember({ env }, "/one", known);
      expect(recall({ env }, "/one")).toBeUndefined();
    }
  });
});
