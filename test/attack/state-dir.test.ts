import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { readLedger } from "../../local/loopback/ledger.ts";
import { checkModesStay, strangerAbove } from "../../local/state/own-state.ts";
import { openStateDir } from "../../local/state/state-dir.ts";
import { UpError } from "../../local/up-error.ts";
import { scratchDir } from "../local/support/scratch.ts";

// What lies in a state directory is run, and its secrets are used: `drover up` takes none that is not its
// caller's own, and follows no link there.

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn("Some of state-dir.test.ts is skipped: only root can play another user.");
const HAS_GIT = spawnSync("git", ["--version"]).status === 0;
if (!HAS_GIT) console.warn("Some of state-dir.test.ts is skipped: it needs Git.");
const NOBODY = 65_534;

let dir: string;
let state: string;
/** A file of the caller's, to which somebody would like to have written. */
let victim: string;
beforeEach(() => {
  dir = scratchDir();
  state = join(dir, ".drover");
  victim = join(dir, "victim");
  writeFileSync(victim, "precious");
});

const inState = (name: string) => join(state, name);
const git = (...args: string[]) => {
  const done = spawnSync("git", ["-C", dir, ...args], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
};

interface Strange {
  what: string;
  make(): void;
  why: RegExp;
  needs?: boolean;
}

const STRANGE: Strange[] = [
  ...["worker.log", ".gitignore", "up.json", "workerd-guard", "lock", "objects", "instances"].map((name) => ({
    what: `X12: a link in the place of ${name}`,
    make: () => symlinkSync(victim, inState(name)),
    why: new RegExp(`is refused: .*${name.replace(".", "\\.")} is a link\\.`),
  })),
  {
    what: "X12: a link among what the runtime writes to",
    make: () => {
      mkdirSync(inState("objects/do/pool"), { recursive: true });
      symlinkSync(victim, inState("objects/do/pool/x.sqlite"));
    },
    why: /x\.sqlite is a link\./,
  },
  {
    what: "X12: a pipe in the place of a file, which would be waited at for ever",
    make: () => spawnSync("mkfifo", [inState("up.json")]),
    why: /up\.json is not a regular file\./,
  },
  {
    what: "X12: secrets that others can read",
    make: () => writeFileSync(inState("up.json"), "{}", { mode: 0o644 }),
    why: /up\.json has mode 644, so other users may know its secrets\. Start over with --fresh/,
  },
  {
    what: "X12: what a repository brings along",
    make: () => {
      git("init", "-q");
      writeFileSync(inState("up.json"), "{}", { mode: 0o600 });
      git("add", "-f", ".drover/up.json");
    },
    why: /Git tracks .*up\.json, so everybody with the .* `git rm -r -f \.drover`\. Or choose/,
    needs: HAS_GIT,
  },
  {
    what: "X12: a repository that brings along more than is worth listening to",
    make: () => {
      git("init", "-q");
      mkdirSync(inState("objects"), { mode: 0o700 });
      const index = Array.from({ length: 6_000 }, (_, at) => {
        return `100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t.drover/objects/${"x".repeat(190)}${at}\n`;
      });
      git("hash-object", "-w", "/dev/null");
      spawnSync("git", ["-C", dir, "update-index", "--index-info"], { input: index.join("") });
    },
    why: /Git tracks .*objects\/x/,
    needs: HAS_GIT,
  },
  {
    what: "X12: a repository that Git cannot read",
    make: () => {
      git("init", "-q");
      git("config", "core.repositoryFormatVersion", "1");
      git("config", "extensions.nobodyKnows", "true");
    },
    why: /Git cannot tell whether it tracks the directory: fatal: unknown repository extension/,
    needs: HAS_GIT,
  },
  {
    what: "X11: a directory of another user",
    make: () => chownSync(state, NOBODY, NOBODY),
    why: /\.drover is refused: it belongs to user 65534, and you are user 0\./,
    needs: isRoot,
  },
  {
    what: "X11: a program of another user",
    make: () => {
      writeFileSync(inState("workerd-guard"), "#!/bin/sh\n", { mode: 0o755 });
      chownSync(inState("workerd-guard"), NOBODY, NOBODY);
    },
    why: /workerd-guard is refused: it belongs to user 65534/,
    needs: isRoot,
  },
];

describe("drover up refuses", () => {
  for (const { what, make, why, needs = true } of STRANGE) {
    test.skipIf(!needs)(what, () => {
      mkdirSync(state, { mode: 0o700 });
      make();
      const open = () => openStateDir(state);
      expect(open).toThrow(UpError);
      expect(open).toThrow(why);
      expect(open).toThrow("another directory with --state.");
      expect(readFileSync(victim, "utf8")).toBe("precious");
    });
  }

  test("X12: a link in the place of the whole directory", () => {
    mkdirSync(join(dir, "else"));
    symlinkSync("else", state);
    expect(() => openStateDir(state)).toThrow(/\.drover is refused: it is a link/);
  });
});

describe("X12: a ledger of machines that a repository brought", () => {
  const machine = { name: "w", address: null, state: "terminated", instanceType: "local", tags: {} };
  const rest = { createdAt: "2026-01-01T00:00:00.000Z", token: "w", endedAtMs: 1 };
  test.each([
    { what: "a directory elsewhere", id: "../../victims", cgroup: undefined },
    { what: "a cgroup elsewhere", id: "lo-0123456789abcdef", cgroup: "/sys/fs/cgroup/system.slice" },
  ])("has $what removed by nobody", ({ id, cgroup }) => {
    mkdirSync(join(dir, "victims"));
    mkdirSync(inState("instances"), { recursive: true, mode: 0o700 });
    const places = { ledger: inState("instances.json"), instances: inState("instances") };
    writeFileSync(
      places.ledger,
      JSON.stringify({ version: 1, instances: [{ ...machine, ...rest, id, cgroup }] }),
    );
    const problems: string[] = [];
    expect(readLedger(places, (text) => problems.push(text))).toEqual([]);
    expect(problems).toEqual([expect.stringContaining("cannot be read")]);
  });
});

test("X12: secrets that others could read are no obstacle where all is to be forgotten", () => {
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(inState("up.json"), "{}", { mode: 0o644 });
  expect(openStateDir(state, true)).toBe(state);
});

test("X11: a file system that keeps no modes is named as the reason, at the first start", () => {
  mkdirSync(state, { mode: 0o700 });
  // No such file system can be mounted here: this file is as one would show it.
  writeFileSync(inState("up.json"), "{}", { mode: 0o755 });
  expect(() => checkModesStay(state, inState("up.json"))).toThrow(
    /is refused: its file system has no modes, so other users could read .* Choose another directory/,
  );
  chmodSync(inState("up.json"), 0o600);
  expect(() => checkModesStay(state, inState("up.json"))).not.toThrow();
});

describe.skipIf(!HAS_GIT)("X12: a repository cannot make its reader's Git run anything", () => {
  const program = () => {
    const file = join(dir, "program");
    writeFileSync(file, `#!/bin/sh\necho run > '${victim}'\n`, { mode: 0o755 });
    return file;
  };

  test("to watch its files", () => {
    mkdirSync(state, { mode: 0o700 });
    git("init", "-q");
    git("config", "core.fsmonitor", program());
    openStateDir(state);
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });

  test("to fetch a tree that its index needs, and that was left out", () => {
    git("init", "-q");
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(inState("up.json"), "{}", { mode: 0o600 });
    mkdirSync(join(dir, "a"));
    writeFileSync(join(dir, "a/file"), "");
    git("add", "-f", ".drover", "a");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a");
    git("sparse-checkout", "set", "--cone", "--sparse-index", "a");
    const tree = spawnSync("git", ["-C", dir, "rev-parse", "HEAD:.drover"], {
      encoding: "utf8",
    }).stdout.trim();
    rmSync(join(dir, ".git/objects", tree.slice(0, 2), tree.slice(2)), { force: true });
    git("config", "core.repositoryFormatVersion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "remote.origin.url", "ssh://nowhere/x");
    git("config", "remote.origin.promisor", "true");
    git("config", "core.sshCommand", program());
    mkdirSync(state, { recursive: true, mode: 0o700 });
    try {
      openStateDir(state);
    } catch (error) {
      expect(error).toBeInstanceOf(UpError);
    }
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });
});

test("X11: who can put another directory in its place is named", () => {
  mkdirSync(state, { mode: 0o700 });
  expect(strangerAbove(state)).toBeUndefined();
  chmodSync(dir, 0o777);
  expect(strangerAbove(state)).toBe(`anybody who may write to ${dir}`);
  chmodSync(dir, 0o1777);
  expect(strangerAbove(state)).toBeUndefined();
});

test.skipIf(!isRoot)("X11: another user who owns a directory above is named", () => {
  mkdirSync(state, { mode: 0o700 });
  chownSync(dir, NOBODY, NOBODY);
  expect(strangerAbove(state)).toBe(`user 65534, who owns ${dir},`);
});
