import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filesToSend } from "../../cli/snapshot/files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drover-files-"));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Makes files with what is given; a name that ends with a slash is an empty directory. */
function make(files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(name.endsWith("/") ? path : dirname(path), { recursive: true });
    if (!name.endsWith("/")) writeFileSync(path, content);
  }
}

async function found(below = ""): Promise<string[]> {
  const all: string[] = [];
  for await (const { path } of filesToSend(join(root, below), AbortSignal.timeout(30_000))) all.push(path);
  return all;
}

/** Without the directories that have something in them, of which Git says nothing. */
async function files(below = ""): Promise<string[]> {
  const all = await found(below);
  return all.filter((path) => !all.some((other) => other.startsWith(`${path}/`)));
}

/** What Git itself would take. */
function byGit(below = ""): string[] {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: join(root, below), encoding: "utf8" });
  if (below === "") git("init", "-q");
  const args = ["-c", "core.excludesFile=/dev/null", "ls-files", "-z", "--others", "--exclude-standard"];
  return git(...args)
    .split("\0")
    .filter((name) => name !== "");
}

const TREE = [
  ".hidden",
  "a.log",
  "keep.log",
  "build/out.o",
  "build/keep/x",
  "src/a.c",
  "src/a.o",
  "src/build/out.o",
  "src/build/deep/x.o",
  "src/keep.log",
  "src/deep/down/a.log",
  "src/deep/down/build/y",
  "src/with space/a.o",
  "src/[odd]/x.tmp",
  "src/[odd]/y",
  "src/o/x.tmp",
  "src/#note",
  "src/!bang",
  "docs/a/b/c.txt",
  "docs/c.txt",
];

/** Contents of ignore files: what Git makes of them is what has to come out. */
const RULES: Record<string, string>[] = [
  {},
  { ".gitignore": "build/\n*.log\n!keep.log\n" },
  { ".gitignore": "/build\n/*.log\n" },
  { ".gitignore": "# a comment\r\n*.o\r\n\r\n" },
  { ".gitignore": "*\n!*/\n!*.c\n" },
  { ".gitignore": "docs/**/c.txt\n**/down\n" },
  { ".gitignore": "build/\n", "src/.gitignore": "!build/\n*.o\n" },
  { ".gitignore": "*.o\n", "src/.gitignore": "!/a.o\n" },
  { "src/.gitignore": "/a.c\ndeep/down/*.log\nbuild\n" },
  { "src/.gitignore": "\\#note\n\\!bang\nwith space/\n" },
  { "src/[odd]/.gitignore": "*.tmp\n" },
  { "src/with space/.gitignore": "*.o\n", ".gitignore": "build/*\n!build/keep\n" },
  { ".gitignore": "build   \nkeep.log\\ \n", "src/.gitignore": "deep/ \n" },
  { "src/.gitignore": "*\n" },
  { "src/.gitignore": "/\n**\n!a.c\n", "docs/.gitignore": "/**/c.txt" },
  { ".gitignore": "SRC/\n*.LOG\n" },
  { ".gitignore": "build/\n!build/keep/\n", "build/.gitignore": "!keep/x\n" },
  { ".gitignore": "\uFEFFa.log\n" },
];

test.each(RULES)("what %j leaves out is what Git leaves out", async (rules) => {
  make(Object.fromEntries(TREE.map((name) => [name, "x"])));
  make(rules);
  expect((await files()).sort()).toEqual(byGit().sort());
});

test.each(["src", "docs/a"])("of a part of a repository (%s) the rules above it count, too", async (part) => {
  make(Object.fromEntries(TREE.map((name) => [name, "x"])));
  make({ ".gitignore": "*.o\n/src/deep\nb/\n", "src/.gitignore": "*.tmp\n" });
  byGit();
  expect((await files(part)).sort()).toEqual(byGit(part).sort());
});

test("a directory that is left out by those above it, and asked for by its name, is sent", async () => {
  make({ ".gitignore": "dist/\n", "dist/a": "x", "dist/.gitignore": "b", "dist/b": "x", ".git/HEAD": "x" });
  expect(await found("dist")).toEqual([".gitignore", "a"]);
});

describe("without Git's own view", () => {
  test(".droverignore has the last word in its directory", async () => {
    make({
      ".gitignore": "dist/\n*.log\n",
      ".droverignore": "!dist/\nbig\n",
      "dist/a": "",
      "big/b": "",
      c: "",
    });
    expect(await found()).toEqual([".droverignore", ".gitignore", "c", "dist", "dist/a"]);
  });

  test("repositories' histories and the token of a local Drover are never sent", async () => {
    make({ ".git/HEAD": "", "sub/.git": "gitdir: x", ".drover/context.json": "{}", "sub/a": "" });
    make({ ".gitignore": "!.git\n!.drover\n" });
    expect(await found()).toEqual([".gitignore", "sub", "sub/a"]);
  });

  test("links are taken as they are, and empty directories, too", async () => {
    make({ "empty/": "", "full/a": "", "left/": "", ".droverignore": "left/\n" });
    symlinkSync("full", join(root, "link"));
    symlinkSync("nowhere", join(root, "broken"));
    expect(await found()).toEqual([".droverignore", "broken", "empty", "full", "full/a", "link"]);
  });
});
