import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Container, openContainer } from "./support/container.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// A command runs as if it ran here (docs/tasks.md): a probe that is run by `sh -c`, by `drover run` and in a
// container says what it sees. What differs has a row in the document's table.

const ROOT = join(import.meta.dirname, "../..");
const COMMAND = join(ROOT, "bin/drover.mjs");

/** The shell of a person: other limits, another umask and another niceness than usual. */
const SHELL =
  'trap : INT; ulimit -S -n 777; ulimit -S -c 0; umask 027; echo 120 >/proc/$$/oom_score_adj; nice -n 3 "$@"';

/** Says what a command can see of how it was started, a line for each thing. */
const PROBE = `umask=$(umask)
echo "umask $umask"
echo "directory $(pwd)"
echo "stdin $(readlink /proc/$$/fd/0)"
# Without a process of its own: a shell that has just started one still has both ends of its pipe.
printf files; for fd in /proc/$$/fd/[0-9]; do printf ' %s' "\${fd##*/}"; done; echo
echo "terminal $( (: </dev/tty) 2>/dev/null && echo yes || echo no)"
echo "nice $(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 17)"
echo "oom_score_adj $(cat /proc/$$/oom_score_adj)"
grep -E '^(SigBlk|SigIgn|NoNewPrivs|Seccomp|Uid|Gid|CapEff)' /proc/$$/status | tr '\\t' ' '
n='\\([0-9u][^ ]*\\)'
sed -n "s/^Max \\(.*[a-z]\\)  *$n  *$n.*/limit of \\1: \\2 of \\3/p" /proc/$$/limits
echo "arguments $(printf '<%s>' "$@" | od -An -v -tx1 | tr -d ' \\n')"
env | sed 's/^/variable /'`;

/** Words that something on the way might change. */
const WORDS = [
  "",
  " ",
  "a b",
  "it's",
  '"quoted"',
  "$HOME",
  "${HOME}",
  "${USER:-x}",
  "$${HOME}",
  "`id`",
  "$(id)",
  "*",
  "~",
  "\\",
  "\\n",
  "a\nb",
  "\t",
  "é漢🐑",
  "-n",
  "--",
  "--env",
  "!x",
  "#",
  "%s",
  "a=b",
  "${NOBODY}",
  "\u0001",
];

/** What may differ from the same command by `sh -c`, each with its row of the table. */
const DIFFERENCES: Record<string, string> = {
  stdin: "standard input",
  variables: "other variables",
};

interface Seen {
  code: number | null;
  stdout: string;
}

/** Runs words in the person's shell, in a directory. */
function inShell(cwd: string, words: string[]): Promise<Seen> {
  const child = spawn("sh", ["-c", SHELL, "sh", ...words], {
    cwd,
    env: { PATH: `/opt/mine:${process.env.PATH}`, HOME: cwd, LANG: "C.UTF-8", SECRET: "mine" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end();
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout }));
  });
}

const byDrover = (cwd: string, words: string[]) =>
  inShell(cwd, [process.execPath, COMMAND, "run", "--", ...words]);

/** What a probe has said, by what it is about; `variables` are names and values. */
function read({ stdout }: Seen): { facts: Map<string, string>; variables: Map<string, string> } {
  const [facts, variables] = [new Map<string, string>(), new Map<string, string>()];
  for (const line of stdout.split("\n").filter((line) => line !== "")) {
    const [, name = "", value = ""] = /^variable ([^=]*)=(.*)$/.exec(line) ?? [];
    if (name !== "") variables.set(name, value);
    const [, what = line, rest = ""] = /^(limit of [^:]*|\S+):? (.*)$/.exec(line) ?? [];
    if (what !== "variable") facts.set(what, rest);
  }
  return { facts, variables };
}

/** The facts of which the two do not say the same. */
function differing(a: Map<string, string>, b: Map<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((what) => a.get(what) !== b.get(what)).sort();
}

describe("as if it ran here", () => {
  let home: string;
  let running: RunningDrover | undefined;
  let container: Container | undefined;
  beforeAll(async () => {
    home = makeHome("as-here");
    const shell = ["sh", "-c", SHELL, "sh"];
    running = await startDrover(home, {}, shell);
    container = openContainer(join(home, "container"));
    if (container === undefined) process.stderr.write("as-here: podman with busybox does not run here\n");
  });
  afterAll(async () => {
    await running?.stop();
    await endDrover(home, running);
    container?.close();
    rmSync(home, { recursive: true, force: true });
  });

  const probe = ["sh", "-c", PROBE, "sh", ...WORDS];

  test("P2, P6, P16: a command sees what it sees by `sh -c`, but for what the table says", async () => {
    const [here, there] = [await inShell(home, probe), await byDrover(home, probe)];
    expect([here.code, there.code]).toEqual([0, 0]);
    const [a, b] = [read(here), read(there)];
    expect(a.facts.get("umask")).toBe("0027");
    expect(a.facts.get("limit of open files")).toMatch(/^777 /);
    expect(differing(a.facts, b.facts)).toEqual(["stdin"]);
    expect(b.facts.get("stdin")).toBe("/dev/null");
    expect(b.variables.get("PATH")).toBe(`/opt/mine:${process.env.PATH}`);
    const others = [...b.variables.keys()].filter((name) => !name.startsWith("DROVER_"));
    expect(others.sort()).toEqual(["HOME", "LANG", "PATH", "PWD", "TMPDIR", "USER"]);
  });

  test("each difference is in the table of docs/tasks.md, with its reason", () => {
    const text = readFileSync(join(ROOT, "docs/tasks.md"), "utf8");
    const [, section = ""] = text.split("## As if it ran here");
    const rows = section
      .split("\n## ")[0]
      ?.split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()));
    for (const row of Object.values(DIFFERENCES)) {
      expect(rows?.find(([, what]) => what === row)?.[4], row).toMatch(/\w{3}/);
    }
  });

  test.each([
    ["a code", "exit 7"],
    ["a code above 128", "exit 200"],
    ["a code that a signal has, too", "exit 130"],
    ["SIGTERM", "kill -TERM $$"],
    ["SIGINT", "kill -INT $$"],
    ["SIGKILL", "kill -KILL $$"],
  ])("S4: it ends with the same exit code: %s", async (_, script) => {
    const words = ["sh", "-c", script];
    const [here, there] = [await inShell(home, words), await byDrover(home, words)];
    expect(there.code).toBe(here.code);
  });

  test("what it writes has the modes that it has here", async () => {
    const script = "mkdir made && echo x >made/file && ls -ld made made/file | cut -c 1-10; rm -r made";
    const words = ["sh", "-c", script];
    expect((await byDrover(home, words)).stdout).toBe((await inShell(home, words)).stdout);
  });

  test("P2: beside a container, umask, signals, files and arguments are the same", async (context) => {
    if (container === undefined) return context.skip("podman with busybox does not run here");
    const inside = read({ code: 0, stdout: container.run(probe) });
    const there = read(await byDrover(home, ["sh", "-c", `umask 022; ${PROBE}`, "sh", ...WORDS]));
    // A container has its own root, user, limits and niceness: that is what it is for.
    for (const what of ["umask", "SigBlk", "SigIgn", "files", "terminal", "arguments"]) {
      expect(there.facts.get(what), what).toBe(inside.facts.get(what));
    }
    const own = [...inside.variables.keys()].filter((name) => !there.variables.has(name));
    expect(own.sort()).toEqual(["HOSTNAME", "SHLVL", "TERM", "container"]);
  });
});
