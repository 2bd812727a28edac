import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as others } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filesToSend } from "../../cli/snapshot/files.ts";
import { openBench } from "../cli/support/command.ts";

// A repository of somebody else's says by `.gitignore` what is uploaded of it, and nothing besides.

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drover-rules-"));
});
afterEach(() => rmSync(root, { recursive: true }));

async function sent(signal = AbortSignal.timeout(60_000)): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of filesToSend(root, signal)) paths.push(path);
  return paths.filter((path) => !lstatSync(join(root, path)).isDirectory());
}

/** Makes a file, unless another one is where this needs a directory, or the other way round. */
function make(path: string, text: string): void {
  try {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  } catch {
    // Then it is not there.
  }
}

const GIT_ENV = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
const git = (...args: string[]) => execFileSync("git", args, { cwd: root, env: GIT_ENV });
const byGit = () =>
  git("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore")
    .toString()
    .split("\0")
    .filter((name) => name !== "");

describe("X14: no rule takes long, and no rule keeps a signal from being heard", () => {
  test("the pattern that hung", async () => {
    writeFileSync(join(root, ".gitignore"), `*${"a*".repeat(14)}b\n**/${"*a".repeat(60)}/**/c\n`);
    writeFileSync(join(root, "a".repeat(60)), "");
    mkdirSync(join(root, "d", "a".repeat(120)), { recursive: true });
    writeFileSync(join(root, "d", "a".repeat(120), "a".repeat(200)), "");
    expect(await sent()).toHaveLength(3);
  });

  test("rules without end are refused, by their number and by their length", async () => {
    writeFileSync(join(root, ".gitignore"), "*a*b\n".repeat(10_000));
    await expect(sent()).rejects.toThrow("too many rules");
    writeFileSync(join(root, ".gitignore"), "#".repeat(1024 ** 2 + 1));
    await expect(sent()).rejects.toThrow("is larger than");
  });

  test("who looks for files stops when told to, whatever the rules", async () => {
    writeFileSync(join(root, ".gitignore"), `${"*a".repeat(100)}b\n`.repeat(80));
    for (let n = 0; n < 2_000; n += 1) writeFileSync(join(root, `${"a".repeat(200)}${n}`), "");
    const stop = new AbortController();
    const looking = sent(stop.signal);
    await others();
    stop.abort(new Error("Stopped by SIGTERM."));
    await expect(looking).rejects.toThrow("Stopped by SIGTERM.");
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("%s ends an upload while its files are looked for", async (signal, code) => {
    const bench = await openBench();
    try {
      mkdirSync(join(bench.dir, "up"));
      writeFileSync(join(bench.dir, "up", ".gitignore"), `${"*a".repeat(100)}b\n`.repeat(80));
      for (let n = 0; n < 5_000; n += 1) writeFileSync(join(bench.dir, "up", `${"a".repeat(200)}${n}`), "");
      const running = bench.start(["snapshots", "upload", "up"]);
      // Its start takes a tenth of that: it is looking by now, and has much left to look at.
      await expect.poll(() => processorMs(running.child.pid)).toBeGreaterThan(1_000);
      running.child.kill(signal);
      expect(await running.ended).toMatchObject({ code, stderr: expect.stringContaining("Stopped by") });
    } finally {
      await bench.close();
    }
  });

  test.each<[string, (path: string) => void]>([
    ["a pipe", (path) => void execFileSync("mkfifo", [path])],
    ["a link to a device", (path) => symlinkSync("/dev/zero", path)],
    ["a link to a file", (path) => symlinkSync("rules", path)],
    ["a link to itself", (path) => symlinkSync(".gitignore", path)],
  ])("%s has no rules in it, and nobody waits for it", async (_, make) => {
    writeFileSync(join(root, "rules"), "x\n");
    writeFileSync(join(root, "x"), "");
    make(join(root, ".gitignore"));
    expect(await sent()).toEqual(expect.arrayContaining(["rules", "x"]));
  });
});

/** The processor time that a process has used. */
function processorMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
  const TICKS_PER_MS = 0.1;
  return (user + system) / TICKS_PER_MS;
}

describe("X14: rules mean what Git takes them to mean", () => {
  const char = fc.constantFrom(
    "a",
    "b",
    "c",
    "-",
    ".",
    "é",
    "[",
    "]",
    "!",
    "#",
    "\\",
    "*",
    "?",
    " ",
    ":",
    "^",
  );
  const name = fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom("a", "b") }, char), {
      minLength: 1,
      maxLength: 4,
    })
    .map((chars) => chars.join(""))
    .filter((text) => !/^\.+$/.test(text));
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("a", "b", "*", "/") },
    { weight: 3, arbitrary: fc.constantFrom("**", "/**", "**/", "/**/", "a/", "?", "[ab]", "[!a]", "[a-c]") },
    { weight: 2, arbitrary: char },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "[^a-]",
        "[]a]",
        "[[:alpha:]]",
        "[[:punct:]-]",
        "[\\]]",
        "[a",
        "[a/b]",
        "\\*",
        "***",
      ),
    },
  );
  const line = fc
    .tuple(fc.constantFrom("", "", "", "!", "/", "!/", "#"), fc.array(piece, { maxLength: 6 }))
    .chain(([begin, pieces]) =>
      fc.constantFrom("", "", "/", " ", "\\ ", "\r", "  \r").map((end) => begin + pieces.join("") + end),
    );
  const rules = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => lines.join("\n"));

  test("whatever the patterns and the names", async () => {
    const property = fc.asyncProperty(
      fc.array(path, { minLength: 8, maxLength: 24 }),
      rules,
      fc.option(rules),
      async (paths, atTop, below) => {
        rmSync(root, { recursive: true });
        mkdirSync(root);
        git("init", "-q", "--template=");
        for (const one of paths) make(one, "");
        make(".gitignore", atTop);
        const folder = paths.find((one) => one.includes("/"))?.replace(/\/[^/]*$/, "");
        if (below !== null && folder !== undefined) make(`${folder}/.gitignore`, below);
        expect((await sent()).sort()).toEqual(byGit().sort());
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });
});
