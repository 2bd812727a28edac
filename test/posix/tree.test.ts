import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { endTree } from "../../local/runtime/end-processes.ts";
import type { Proc } from "../../posix/proc.ts";
import { findTree, selectTree } from "../../posix/tree.ts";
import { scratchDir, until } from "../local/support/scratch.ts";

const process_ = (pid: number, ppid: number, session: number): Proc => ({
  pid,
  ppid,
  session,
  ended: false,
  startTime: pid * 10,
});

/** 1 is init, 10 a terminal's shell with a child 11; 20 leads the session of an instance. */
const MACHINE = [process_(1, 0, 1), process_(10, 1, 10), process_(11, 10, 10), process_(20, 11, 20)];

describe("which processes are a family", () => {
  const cases: [string, Proc[], number[], number | undefined, number[]][] = [
    ["nobody without a mark or a root", [], [], undefined, []],
    ["the root", [], [], 20, [20]],
    [
      "the children of the root, and theirs",
      [process_(21, 20, 20), process_(22, 21, 20)],
      [],
      20,
      [20, 21, 22],
    ],
    ["a child in a session of its own", [process_(30, 20, 30), process_(31, 30, 30)], [], 20, [20, 30, 31]],
    ["an orphan that stayed in the session", [process_(21, 1, 20)], [], 20, [20, 21]],
    ["an orphan in a session of its own that carries the mark", [process_(31, 1, 30)], [31], 20, [20, 31]],
    [
      "who shares the session of such an orphan",
      [process_(31, 1, 30), process_(32, 1, 30)],
      [31],
      20,
      [20, 31, 32],
    ],
    ["not the terminal of somebody marked in it", [process_(12, 10, 10)], [12], undefined, [12]],
    [
      "not session 0, which strangers share in a container",
      [process_(40, 1, 0), process_(41, 1, 0)],
      [40],
      undefined,
      [40],
    ],
  ];
  it.each(cases)("%s", (_, more, marked, root, expected) => {
    const identity = root === undefined ? undefined : { pid: root, startTime: root * 10 };
    const found = selectTree([...MACHINE, ...more], ({ pid }) => marked.includes(pid), { root: identity });
    expect(found.map(({ pid }) => pid).sort((a, b) => a - b)).toEqual(expected);
  });

  it("does not take a process for the root that only has its pid", () => {
    expect(selectTree(MACHINE, () => false, { root: { pid: 20, startTime: 1 } })).toEqual([]);
  });

  // 20 is a shim: its session is that of the tree, and stays so after its death.
  const shim = { pid: 20, startTime: 200 };
  const [init = process_(1, 0, 1)] = MACHINE;
  const ofShims: [string, Proc[], number[]][] = [
    ["all below the shim, and not the shim", [process_(20, 1, 20), process_(21, 20, 20)], [21]],
    ["what is left of its session when it is gone", [process_(21, 1, 20)], [21]],
    ["what has left the session that is left", [process_(21, 1, 20), process_(30, 21, 30)], [21, 30]],
    [
      "not a later session that has its number",
      [
        { ...process_(20, 1, 20), startTime: 900 },
        { ...process_(90, 20, 20), startTime: 901 },
      ],
      [],
    ],
    ["nothing older than the shim", [{ ...process_(21, 1, 20), startTime: 199 }], []],
  ];
  it.each(ofShims)("of a shim: %s", (_, procs, expected) => {
    const found = selectTree([init, ...procs], () => false, { shim });
    expect(found.map(({ pid }) => pid)).toEqual(expected);
  });

  it("never takes this process itself, nor what only it has started", () => {
    const me = process_(process.pid, 20, 20);
    const mine = process_(process.pid + 1, process.pid, process.pid + 1);
    expect(selectTree([me, mine], () => false, { shim })).toEqual([]);
  });
});

describe("looking for a tree", () => {
  it("finds a process that executes program after program: in between it has no environment", async () => {
    const dir = scratchDir();
    const script = join(dir, "again");
    writeFileSync(script, `#!/bin/sh\nexec "$0"\n`, { mode: 0o755 });
    const mark = `DROVER_TEST_TREE=${dir}`;
    const child = spawn(script, { stdio: "ignore", env: { DROVER_TEST_TREE: dir } });
    const tree = { isMarked: (environment: string[]) => environment.includes(mark) };
    await until("it is there", () => findTree(tree).length > 0);
    const looks = Array.from({ length: 200 }, () => findTree(tree).map(({ pid }) => pid));
    child.kill("SIGKILL");
    expect(looks.filter((found) => !found.includes(child.pid ?? 0))).toEqual([]);
  });
});

describe("ending a tree", () => {
  it("finds a daemon by its mark alone, and a whole crowd that keeps forking", async () => {
    const dir = scratchDir();
    const mark = `DROVER_TEST_TREE=${dir}`;
    const breed =
      "breed() { sleep 1000 & [ $1 -gt 0 ] && (breed $(($1 - 1)) & breed $(($1 - 1)) &); }; breed 4";
    const script = `setsid sh -c '${breed}; sleep 1000 & echo $! >"${join(dir, "daemon")}"'\nexit 0\n`;
    spawn("/bin/sh", ["-c", script], { detached: true, stdio: "ignore", env: { DROVER_TEST_TREE: dir } });
    const tree = { isMarked: (environment: string[]) => environment.includes(mark) };
    await until("the crowd is there", () => existsSync(join(dir, "daemon")) && findTree(tree).length > 10);
    const daemon = Number(readFileSync(join(dir, "daemon"), "utf8"));
    expect(findTree(tree).map(({ pid }) => pid)).toContain(daemon);
    await endTree(tree);
    expect(findTree(tree)).toEqual([]);
  });
});
