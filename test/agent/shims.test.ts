import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { ServingShim, textOf } from "../../agent/exec/shims/serving-shim.ts";
import {
  readShimEnd,
  readShimFile,
  type ShimCommand,
  type Started,
  startAlone,
} from "../../agent/exec/shims/shim.ts";
import { Shims } from "../../agent/exec/shims/shims.ts";
import { readUnlessGone } from "../../posix/files.ts";
import { childrenOf, environmentOf, listProcs, lives, type Proc } from "../../posix/proc.ts";
import { pidOf } from "../local/support/scratch.ts";
import { kill as killAgent, openBench, run, stop } from "./support/bench.ts";

// Shims that run one command after the other (decisions/hosts.md#shims-that-serve).

let dir: string;
let made = 0;
beforeEach(() => {
  dir = mkdtempSync("/tmp/drover-shims-");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A command with files of its own. */
function command(argv: string[], env: Record<string, string> = {}): ShimCommand {
  made += 1;
  const files = {
    stdout: join(dir, `${made}-out`),
    stderr: join(dir, `${made}-err`),
    exit: join(dir, `${made}`),
  };
  return { argv, env: { PATH: process.env.PATH ?? "", ...env }, entrances: [], dir, files };
}

const served = (shim: ServingShim, asked: ShimCommand) => shim.start(textOf(asked) ?? "", asked);
const output = ({ files }: ShimCommand) => readFileSync(files.stdout, "utf8");

const ODD = 'it\'s $HOME `id`\n"two"\\ lines; rm -rf /\t*~\u00e4';

describe("what a command gets is the same from a shim of its own and from one that has served others", () => {
  const printed = (text: string) => ["sh", "-c", text];
  test.each<[string, string[], Record<string, string>]>([
    ["arguments", ["printf", "<%s>", "", ODD, "-n", "--", "$1"], {}],
    ["an environment", ["env", "-0"], { ODD, EMPTY: "", HOME: "/h", CDPATH: "/", ENV: "/nowhere" }],
    ["a directory", ["pwd"], {}],
    ["descriptors", printed("echo /proc/self/fd/*"), {}],
    ["a umask, and a limit of open files", printed("umask; ulimit -n"), {}],
    ["signals", ["grep", "Sig[BI]", "/proc/self/status"], {}],
    ["a session", printed('ps -o sid= -p $$ | grep -qx " *$PPID" && echo led by its shim'), {}],
  ])("%s", async (_, argv, env) => {
    const shim = new ServingShim({});
    await (await served(shim, command(["sh", "-c", "export LEFT=1; cd /"])))?.ended;
    const [alone, second] = [command(argv, env), command(argv, env)];
    expect(await (await startAlone(alone)).ended).toBe(0);
    expect(await (await served(shim, second))?.ended).toBe(0);
    expect(output(second)).toBe(output(alone));
    expect(output(second)).not.toBe("");
    shim.end();
  });
});

describe("what only the system can say is left to a shim of its own", () => {
  test.each<[string, Partial<ShimCommand>]>([
    ["a name that no shell can set", { env: { "a.b": "1" } }],
    ["a name that a shell keeps for itself", { env: { UID: "7" } }],
    ["a directory that is none", { env: { PWD: "/nowhere" } }],
    ["more bytes than letters", { argv: ["echo", "\u65e5".repeat(30_000)] }],
    ["more than a system may take", { argv: ["echo", "x".repeat(70_000)] }],
    ["a text that no process can get", { env: { A: "a\0b" } }],
  ])("%s", (_, more) => {
    expect(textOf({ ...command(["true"]), ...more })).toBeUndefined();
  });

  test("a file that cannot be opened fails with the error of the system", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: true }, {});
    const asked = { ...command(["true"]), stdin: join(dir, "missing") };
    const before = childrenOf(process.pid).length;
    for (let n = 0; n < 3; n += 1) await expect(shims.start(asked)).rejects.toThrow("ENOENT");
    expect(existsSync(asked.files.exit)).toBe(false);
    await expect.poll(() => childrenOf(process.pid).length).toBeLessThanOrEqual(before);
  });

  test("a directory that is gone is a fault of the start, and the shim goes on", async () => {
    const shim = new ServingShim({});
    const gone = { ...command(["true"]), dir: join(dir, "gone") };
    expect(await (await served(shim, gone))?.ended).toBe(124);
    expect(readShimFile(gone.files).output).toContain("unstarted");
    expect(await (await served(shim, command(["sh", "-c", "exit 3"])))?.ended).toBe(3);
    shim.end();
  });
});

describe("which shim runs a command", () => {
  const start = (shims: Shims, argv: string[]): Promise<Started> => shims.start(command(argv));

  test("that of an earlier one, once nothing of that one is left; else another", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: true }, {});
    const first = await start(shims, ["true"]);
    await first.ended;
    const second = await start(shims, ["true"]);
    await second.ended;
    first.release?.(true);
    second.release?.(false);
    const third = await start(shims, ["sleep", "60"]);
    expect([third.shim?.pid === first.shim?.pid, second.shim?.pid === first.shim?.pid]).toEqual([
      true,
      false,
    ]);
    await expect.poll(() => second.shim !== undefined && lives(second.shim)).toBe(false);
    process.kill(pidOf(third.shim), "SIGKILL");
    process.kill(pidOf(third.main), "SIGKILL");
    expect(await third.ended).toBe(null);
  });

  test("none that a process beside the agent may know, which ends commands", async () => {
    let isWatched = true;
    const shims = new Shims({ reportsSignals: true, canServe: true }, {}, () => isWatched);
    const [first, second] = [await start(shims, ["true"]), await start(shims, ["true"])];
    await Promise.all([first.ended, second.ended]);
    first.release?.(true);
    isWatched = false;
    second.release?.(true);
    const third = await start(shims, ["true"]);
    expect(third.shim?.pid).toBe(second.shim?.pid);
    await expect.poll(() => first.shim !== undefined && lives(first.shim)).toBe(false);
    await third.ended;
    third.release?.(false);
  });

  test("none by the file of a command of which nothing is left: its pid may be reused", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: true }, {}, () => true);
    const asked = command(["sh", "-c", "exit 3"]);
    const { ended, release, shim } = await shims.start(asked);
    expect(await ended).toBe(3);
    process.kill(pidOf(shim), "SIGKILL");
    await expect.poll(() => existsSync(`/proc/${shim?.pid}`)).toBe(false);
    release?.(true);
    expect(readShimFile(asked.files)).toMatchObject({ shim: undefined, status: 3 });
  });

  test("none whose start was taken back: that is no exit code of the command", async () => {
    const asked = command(["touch", join(dir, "ran")]);
    const shim = new ServingShim({});
    const text = textOf(asked) ?? "";
    // As if its folder were away just as the shim looks.
    const own = `__drover_run ${asked.files.exit}`;
    const begun = await shim.start(text.replace(own, `${own}-away`), asked);
    const code = (await begun?.ended) ?? null;
    expect(readShimEnd(asked.files, true, code)).toEqual({ lost: true });
    expect(existsSync(join(dir, "ran"))).toBe(false);
    shim.end();
  });

  test("none whose priority a command has changed: the next one would have it, too", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: true }, {});
    const first = await start(shims, ["sh", "-c", "renice -n 5 -p $PPID"]);
    expect(await first.ended).toBe(0);
    first.release?.(true);
    const second = command(["sh", "-c", "nice"]);
    expect(await (await shims.start(second)).ended).toBe(0);
    expect(output(second)).toBe(`${getPriority()}\n`);
  });

  test("one that has died while it waited is replaced", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: true }, {});
    const first = await start(shims, ["true"]);
    await first.ended;
    first.release?.(true);
    process.kill(pidOf(first.shim), "SIGKILL");
    const second = await start(shims, ["sh", "-c", "exit 4"]);
    expect(await second.ended).toBe(4);
    expect(second.shim?.pid).not.toBe(first.shim?.pid);
  });

  test("one that hangs is killed, and begins nothing later", async () => {
    const shim = new ServingShim({}, undefined, 5_000);
    const first = await served(shim, command(["true"]));
    await first?.ended;
    process.kill(pidOf(first?.shim), "SIGSTOP");
    const begun = join(dir, "begun");
    expect(await served(shim, command(["touch", begun]))).toBeUndefined();
    expect(first?.shim !== undefined && lives(first.shim)).toBe(false);
    expect(existsSync(begun)).toBe(false);
  });

  test("none but a child of the agent that asks: another agent may have started the same", async () => {
    const shim = new ServingShim({});
    const begun = join(dir, "begun");
    const asked = command(["touch", begun]);
    const ofAnother = (textOf(asked) ?? "").replace(`agent=${process.pid} `, `agent=${process.ppid} `);
    expect(await shim.start(ofAnother, asked)).toBeUndefined();
    expect([existsSync(begun), readFileSync(asked.files.exit, "utf8")]).toEqual([false, ""]);
    expect(await (await served(shim, asked))?.ended).toBe(0);
    expect(existsSync(begun)).toBe(true);
    shim.end();
  });

  test("its process is known although the command deletes its file, which nobody else may read", async () => {
    const shim = new ServingShim({});
    const asked = command([]);
    const argv = ["sh", "-c", `stat -c %a ${asked.files.exit}; rm ${asked.files.exit}; exec sleep 60`];
    const started = await served(shim, { ...asked, argv });
    await expect.poll(() => output(asked)).toBe("600\n");
    expect([started?.shim, started?.main].map((one) => one !== undefined && lives(one))).toEqual([
      true,
      true,
    ]);
    process.kill(pidOf(started?.main), "SIGKILL");
    expect(await started?.ended).toBe(137);
    shim.end();
  });

  test("none serves where the shell cannot", async () => {
    const shims = new Shims({ reportsSignals: true, canServe: false }, {});
    expect((await start(shims, ["true"])).release).toBeUndefined();
  });
});

// Without cgroups each attempt has a shim of its own.
describe.skipIf(findHierarchies().length === 0)("an agent that is killed", () => {
  test("leaves no shim that waits for a command", async () => {
    const bench = await openBench();
    try {
      const agent = bench.start();
      bench.plane.order([run("one/main/1.1", ["true"])]);
      await bench.plane.untilState("one/main/1.1", "exited");
      const marked = () =>
        listProcs().filter(({ pid }) => environmentOf(pid).includes(`DROVER_INSTANCE=${bench.dir}`));
      const isShim = ({ pid }: Proc) => readUnlessGone(`/proc/${pid}/cmdline`) === "/bin/sh\0";
      const shims = () => marked().filter(isShim);
      await expect.poll(() => shims().length).toBeGreaterThan(0);
      const pids = shims().map(({ pid }) => pid);
      await killAgent(agent);
      await expect.poll(() => marked().filter(({ pid }) => pids.includes(pid))).toEqual([]);
    } finally {
      await bench.close();
    }
  });

  test("leaves a command alone whose shim has served another, which is killed once more", async () => {
    const bench = await openBench();
    try {
      const [first, second] = ["first/main/1.1", "second/main/1.1"];
      const agent = bench.start();
      const shimOf = (id: string) => {
        const exit = join(bench.stateDir, "attempts", id.replaceAll("/", "_"), "exit");
        return readFileSync(exit, "utf8").split(" ")[0] ?? "";
      };
      bench.plane.order([run(first, ["sh", "-c", "exit 3"])]);
      // It is told once nothing of it is left.
      await bench.plane.untilState(first, "exited");
      const go = join(bench.dir, "go");
      const wait = ["sh", "-c", `echo ready; while ! [ -e ${go} ]; do sleep 0.02; done; exit 5`];
      bench.plane.order([run(first, ["sh", "-c", "exit 3"]), run(second, wait)]);
      await bench.plane.until("it is ready", () => bench.plane.stored(second).includes("ready"));
      // The first one names the shim of both no more.
      expect(shimOf(first).slice(1)).toBe(shimOf(second).slice(1));
      expect(shimOf(first)).toMatch(/^-/);
      await killAgent(agent);
      bench.start();
      bench.plane.order([stop(first), run(second, wait)]);
      await bench.plane.until("it reports both", () => bench.plane.incarnation > 1);
      expect((await bench.plane.untilState(first, "exited")).exit?.code).toBe(3);
      writeFileSync(go, "");
      expect((await bench.plane.untilState(second, "exited")).exit).toMatchObject({ code: 5, signal: null });
    } finally {
      const { faults } = bench.plane;
      await bench.close();
      expect(faults).toEqual([]);
    }
  });
});
