import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linesToTry } from "../../local/greeting.ts";
import { scratchDir } from "./support/scratch.ts";

/** A `drover` that says where it is called, and with what. */
function makeCommand(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const script = join(folder, "drover.mjs");
  writeFileSync(script, '#!/bin/sh\necho "$PWD [$DROVER_STATE] $*"\n');
  chmodSync(script, 0o755);
  return script;
}

/** Types the lines into a new terminal, which begins in the root and has no more than this PATH. */
function typed(lines: string[], path: string): string {
  const env = { PATH: path };
  const shell = spawnSync("sh", [], { cwd: "/", env, input: `${lines.join("\n")}\n`, encoding: "utf8" });
  return shell.stdout + shell.stderr;
}

const SYSTEM = "/usr/bin:/bin";

test.each(["plain", "with a blank", "with 'quotes' and $HOME"])(
  "P5, P17: the lines of `drover up` work as they are, in any terminal: %s",
  (name) => {
    const dir = join(scratchDir(), name);
    const script = makeCommand(join(dir, "checkout/bin"));
    mkdirSync(join(dir, "project/.drover"), { recursive: true });
    const found = linesToTry(join(dir, "project/.drover"), script, SYSTEM);
    expect(typed(found, SYSTEM)).toBe(`${join(dir, "project")} [] run -- uname -a\n`);
    const named = linesToTry(join(dir, "project"), script, SYSTEM);
    expect(typed(named, SYSTEM)).toBe(`/ [${join(dir, "project")}] run -- uname -a\n`);
  },
);

test("P17: what npx has put into the PATH is not in that of another terminal", () => {
  const dir = scratchDir();
  const script = makeCommand(join(dir, "checkout/bin"));
  const npm = join(dir, "checkout/node_modules/.bin");
  mkdirSync(npm, { recursive: true });
  symlinkSync(script, join(npm, "drover"));
  const lines = linesToTry(join(dir, ".drover"), join(npm, "drover"), `${npm}:${SYSTEM}`);
  expect(lines[0]).toBe(`alias drover=${script}`);
  expect(typed(lines, SYSTEM)).toBe(`${dir} [] run -- uname -a\n`);
});

test("P17: a command that is installed is called by its name, and one of another program is not", () => {
  const dir = scratchDir();
  const script = makeCommand(join(dir, "lib/drover/bin"));
  const path = `${join(dir, "bin")}:${SYSTEM}`;
  mkdirSync(join(dir, "bin"));
  symlinkSync(script, join(dir, "bin/drover"));
  expect(linesToTry(join(dir, ".drover"), script, path)).toEqual([`cd ${dir}`, "drover run -- uname -a"]);
  const ours = makeCommand(join(dir, "checkout/bin"));
  expect(linesToTry(join(dir, ".drover"), ours, path)[0]).toBe(`alias drover=${ours}`);
});

test("P17: no document has a reader ask the registry for `drover`", () => {
  const root = join(import.meta.dirname, "../..");
  const guides = ["docs", "docs/recipes"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name)),
  );
  for (const path of ["README.md", "SECURITY.md", ...guides.filter((name) => name.endsWith(".md"))]) {
    expect(readFileSync(join(root, path), "utf8"), path).not.toMatch(/npx drover/);
  }
});
