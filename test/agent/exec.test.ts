import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

const ID = "build-17/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.start();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

/** Runs one command to its end, logs and all. */
async function runToEnd(argv: string[], more: Partial<TaskSpec> = {}) {
  bench.plane.order([run(ID, argv, more)]);
  const attempt = await bench.plane.untilStored(ID);
  const text = (stream: "stdout" | "stderr") => bench.plane.stored(ID, stream).toString("utf8");
  return { attempt, exit: attempt.exit, stdout: text("stdout"), stderr: text("stderr") };
}

describe("how a command ends (host-protocol.md#report)", () => {
  test.each([
    ["by itself", "exit 0", { code: 0, signal: null }],
    ["with a code", "exit 7", { code: 7, signal: null }],
    ["as a shell that does not find its command", "exit 127", { code: 127, signal: null }],
    ["with a code that looks like a signal", "exit 137", { code: 137, signal: null }],
    ["by SIGKILL", "kill -KILL $$", { code: null, signal: "SIGKILL" }],
    ["by SIGTERM", "kill -TERM $$", { code: null, signal: "SIGTERM" }],
    ["by SIGINT", "kill -INT $$", { code: null, signal: "SIGINT" }],
    ["by a fault of its own", "kill -SEGV $$", { code: null, signal: "SIGSEGV" }],
    ["by a signal to its whole group", "kill -TERM 0; sleep 60", { code: null, signal: "SIGTERM" }],
  ])("%s", async (_, script, ending) => {
    const { exit, attempt } = await runToEnd(["sh", "-c", script]);
    expect(exit).toEqual({ ...ending, oomKilled: false, message: "" });
    expect(attempt.state).toBe("exited");
    expect(attempt.startError).toBeUndefined();
  });
});

describe("a command that cannot be started (errors.ts, FAILURE_CODES)", () => {
  test.each([
    ["a name that is not on the PATH", ["no-such-command"], {}, "command_not_found"],
    ["a path that is not there", ["./no-such-file"], {}, "command_not_found"],
    ["a file that may not be executed", ["/proc/self/environ"], {}, "not_executable"],
    ["a directory", ["/etc"], {}, "not_executable"],
    ["a directory to run in that is not there", ["true"], { dir: "/no/such/dir" }, "directory_not_found"],
    ["a relative one that is not there", ["true"], { dir: "src" }, "directory_not_found"],
    ["arguments that no process can get", ["true", "x".repeat(200_000)], {}, "arguments_too_long"],
  ])("%s", async (_, argv, more, code) => {
    const { attempt } = await runToEnd(argv, more);
    expect(attempt.startError?.code).toBe(code);
    expect(attempt.exit).toBeUndefined();
  });

  test("a script whose interpreter is missing is told from one that exits 127", async () => {
    const script = join(bench.dir, "script");
    writeFileSync(script, "#!/no/such/interpreter\n", { mode: 0o755 });
    const { attempt } = await runToEnd([script]);
    expect(attempt.startError?.code).toBe("command_not_found");
    expect(attempt.exit).toBeUndefined();
  });
});

describe("what a command is given", () => {
  test("its arguments reach it as they are: no shell reads them again", async () => {
    const odd = ["$HOME", "`id`", "a b", "", "*", "'", '"', "\\n", "é", "-n", "a\nb"];
    const print = "process.stdout.write(JSON.stringify(process.argv.slice(1)))";
    const { stdout } = await runToEnd([process.execPath, "-e", print, "--", ...odd]);
    expect(JSON.parse(stdout)).toEqual(odd);
  });

  // decisions/tasks.md#environment
  test("its environment is its own and Drover's, and nothing of the agent's", async () => {
    const { stdout } = await runToEnd(["env"], {
      env: { COLOR: "blue", LANG: "de_DE", DROVER_ATTEMPT_ID: "forged" },
      meta: { "build.id": "7" },
    });
    const names = new Map(
      stdout
        .trim()
        .split("\n")
        .map((line) => [line.split("=")[0], line.replace(/^[^=]*=/, "")]),
    );
    const { DROVER_TASK_DIR: dir = "", TMPDIR: tmp = "" } = Object.fromEntries(names);
    expect(dir.startsWith(bench.stateDir) && tmp.startsWith(bench.stateDir)).toBe(true);
    expect(Object.fromEntries(names)).toMatchObject({
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      COLOR: "blue",
      LANG: "de_DE",
      DROVER_RUN_ID: "build-17",
      DROVER_TASK_NAME: "main",
      DROVER_ATTEMPT_ID: ID,
      DROVER_VCPUS: "1",
      DROVER_MEMORY_BYTES: "268435456",
      DROVER_META_build_id: "7",
      DROVER_META_BUILD_ID: "7",
      DROVER_INSTANCE: bench.dir,
    });
    expect([...names.keys()]).not.toContain("DROVER_BOOT_ID");
    expect(stdout).not.toContain(bench.plane.secret);
  });

  test("it has no stdin, and no open file beside its output", async () => {
    const { stdout } = await runToEnd(["sh", "-c", "readlink /proc/self/fd/0; ls /proc/$$/fd"]);
    expect(stdout.split("\n").filter((line) => !/^\d{2,}$/.test(line))).toEqual([
      "/dev/null",
      "0",
      "1",
      "2",
      "",
    ]);
  });

  test("signals are as usual for it: none is ignored", async () => {
    const { stdout } = await runToEnd(["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]);
    expect(stdout).toMatch(/SigBlk:\s+0+\nSigIgn:\s+0+\n/);
  });

  test("it runs in its own directory, or in one below, or in an absolute one", async () => {
    const { stdout } = await runToEnd(["pwd"], { dir: bench.dir });
    expect(stdout.trim()).toBe(bench.dir);
    mkdirSync(join(bench.dir, "bin"));
    writeFileSync(join(bench.dir, "bin", "hello"), "#!/bin/sh\necho hello\n", { mode: 0o755 });
    bench.plane.order([run("rel/main/1.1", ["bin/hello"], { dir: bench.dir })]);
    await bench.plane.untilStored("rel/main/1.1");
    expect(bench.plane.stored("rel/main/1.1").toString()).toBe("hello\n");
  });
});

describe("what it writes", () => {
  test("arrives as it was written, whatever the bytes are", async () => {
    const { exit } = await runToEnd(["printf", "\\377\\376\\000\\200abc\\n"]);
    expect(exit?.code).toBe(0);
    expect(bench.plane.stored(ID)).toEqual(Buffer.from([0xff, 0xfe, 0, 0x80, 0x61, 0x62, 0x63, 0x0a]));
  });

  test("stays apart by stream", async () => {
    const { stdout, stderr } = await runToEnd(["sh", "-c", "echo out; echo err >&2"]);
    expect([stdout, stderr]).toEqual(["out\n", "err\n"]);
  });

  test("travels in few reports that follow each other at once, if it is much", async () => {
    const { stdout, exit } = await runToEnd(["sh", "-c", "seq 1 1000000; exit 7"]);
    expect(exit?.code).toBe(7);
    const lines = stdout.trimEnd().split("\n");
    expect([lines.length, lines[0], lines[999_999]]).toEqual([1_000_000, "1", "1000000"]);
    const carrying = bench.plane.reports.filter(({ attempts }) => attempts[0]?.log?.stdout?.data);
    expect(carrying.length).toBeLessThan(20);
  });

  test("comes while it runs", async () => {
    bench.plane.order([run(ID, ["sh", "-c", "echo begun; exec sleep 60"])]);
    await bench.plane.until("the first line", () => bench.plane.stored(ID).toString() === "begun\n");
    expect(bench.plane.attempt(ID)?.state).toBe("running");
  });
});

test("a command that ends quickly costs one report (budgets.md#budgets)", async () => {
  const { plane } = bench;
  await plane.until("an idle host", () => plane.reports.some(({ boot }) => boot?.ok) && plane.holds);
  const before = plane.reports.length;
  await runToEnd(["true"]);
  expect(plane.reports.slice(before).map(({ attempts }) => attempts[0]?.state)).toEqual(["exited"]);
});

describe("P2: a command makes files as it would without Drover", () => {
  test.each([
    ["022 unless it says otherwise", {}, "0022"],
    ["its own umask", { umask: "027" }, "0027"],
    ["with a zero in front", { umask: "0002" }, "0002"],
  ])("%s", async (_, more, umask) => {
    const { stdout } = await runToEnd(["sh", "-c", "umask"], more);
    expect(stdout.trim()).toBe(umask);
  });
});
