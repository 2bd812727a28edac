import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench } from "../cli/support/command.ts";
import { TOKEN } from "../cli/support/control-plane.ts";

// A `.drover` above, or in a clone, that somebody else has made: no token, command or file goes there.

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn("Some of context.test.ts is skipped: only root can play another user.");
const NOBODY = 65_534;

let bench: Bench;
let dir: string;
beforeEach(async () => {
  bench = await openBench();
  dir = mkdtempSync(join(bench.dir, "context-"));
  mkdirSync(join(dir, ".drover"), { mode: 0o700 });
  mkdirSync(join(dir, "p"));
  const text = JSON.stringify({ url: bench.plane.url, token: TOKEN });
  writeFileSync(join(dir, ".drover/context.json"), text, { mode: 0o600 });
});
afterEach(() => bench.close());

const bare = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, ...more });
const run = (env = bare()) => bench.run(["run", "--", "x"], { cwd: join(dir, "p"), env });

test("X10: what the caller has made is believed", async () => {
  expect(await run()).toMatchObject({ code: 0 });
});

describe("X10: a context that another can change gets no token and no request", () => {
  const STRANGE: { what: string; make: () => void; why: RegExp; needsRoot?: boolean }[] = [
    {
      what: "a file of another user",
      make: () => chownSync(join(dir, ".drover/context.json"), NOBODY, NOBODY),
      why: /context\.json is not trusted: it belongs to user 65534, and you are user 0\./,
      needsRoot: true,
    },
    {
      what: "a directory of another user",
      make: () => chownSync(join(dir, ".drover"), NOBODY, NOBODY),
      why: /\.drover is not trusted: it belongs to user 65534/,
      needsRoot: true,
    },
    {
      what: "a directory that others may write to",
      make: () => chmodSync(join(dir, ".drover"), 0o777),
      why: /\.drover is not trusted: others may write to it \(mode 777\)\./,
    },
    {
      what: "a file that others may write to",
      make: () => chmodSync(join(dir, ".drover/context.json"), 0o666),
      why: /context\.json is not trusted: others may write to it \(mode 666\)\./,
    },
    {
      what: "a file that others can read, as those of a repository",
      make: () => chmodSync(join(dir, ".drover/context.json"), 0o644),
      why: /context\.json is not trusted: others can read it \(mode 644\), and so know its token\./,
    },
    {
      what: "a link in the place of the directory",
      make: () => {
        renameSync(join(dir, ".drover"), join(dir, "else"));
        symlinkSync("else", join(dir, ".drover"));
      },
      why: /\.drover is not trusted: it is a link\./,
    },
    {
      what: "a link in the place of the file",
      make: () => {
        renameSync(join(dir, ".drover/context.json"), join(dir, "else"));
        symlinkSync("../else", join(dir, ".drover/context.json"));
      },
      why: /context\.json is not trusted: it is a link\./,
    },
    {
      what: "a pipe in the place of the file",
      make: () => {
        rmSync(join(dir, ".drover/context.json"));
        spawnSync("mkfifo", ["-m", "600", join(dir, ".drover/context.json")]);
      },
      why: /context\.json is not trusted: it is not a regular file\./,
    },
    {
      what: "a directory in the place of the file",
      make: () => {
        rmSync(join(dir, ".drover/context.json"));
        mkdirSync(join(dir, ".drover/context.json"));
      },
      why: /context\.json is not trusted: it is not a regular file\./,
    },
    {
      what: "a file that came with a repository which a umask has closed",
      make: () => {
        spawnSync("git", ["-C", dir, "init", "-q"]);
        spawnSync("git", ["-C", dir, "add", "-f", ".drover/context.json"]);
      },
      why: /context\.json is not trusted: Git tracks it, so it came with the repository\./,
    },
  ];
  for (const { what, make, why, needsRoot } of STRANGE) {
    test.skipIf(needsRoot === true && !isRoot)(what, async () => {
      make();
      const ended = await run();
      expect(ended).toMatchObject({ code: 125, stderr: expect.stringMatching(why) });
      expect(ended.stderr).toContain("set DROVER_URL\n  and DROVER_TOKEN");
      expect(bench.plane.seen).toEqual([]);
    });
  }
});

test.each([[[]], [["--state", ".drover"]]])(
  "X10: a token without the address of its Drover is sent to none (flags %j)",
  async (flags) => {
    const env = bare({ DROVER_TOKEN: "drv_of_another_drover" });
    const ended = await bench.run([...flags, "ps"], { cwd: dir, env });
    expect(ended).toMatchObject({ code: 125 });
    expect(ended.stderr).toContain("DROVER_TOKEN is set, but DROVER_URL is not");
    expect(bench.plane.seen).toEqual([]);
  },
);
