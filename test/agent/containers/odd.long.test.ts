import { copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findHierarchies } from "../../../agent/exec/processes/hierarchies.ts";
import type { Container } from "../../../src/schema/run/container.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { until } from "../../local/support/scratch.ts";
import { type Bench, openBench } from "../support/bench.ts";
import { contained, fileOf, runToEnd } from "../support/contained.ts";
import { archiveOf, BUSYBOX, BUSYBOX_FILE, hasPodman, type Podman, startPodman } from "../support/podman.ts";

const BARE = "localhost/drover/bare:latest";
const BROKEN = "localhost/drover/broken:latest";
const ODD_USER = "localhost/drover/odd-user:latest";

let podman: Podman;
let bench: Bench;

const sh = (script: string, container: Partial<Container> = {}, more: Partial<TaskSpec> = {}) =>
  runToEnd(bench, ["sh", "-c", script], contained(BUSYBOX, container), more);
const limitsMemory = findHierarchies().some(({ limits }) => limits.includes("memory"));
const MIB = 1024 * 1024;
const withMemory = (memoryBytes: number) => ({
  resources: { vcpus: 0.5, memoryBytes, diskBytes: 0, gpus: 0 },
});

/** An engine may say too late that memory ran out, and a look may miss it (containers.md#oom). */
const MAY_BE_MISSED = { retry: 3 };

describe.skipIf(!hasPodman)("odd images and odd wishes", () => {
  beforeAll(async () => {
    podman = await startPodman();
    const bare = archiveOf((dir) => {
      for (const name of ["proc", "sys", "dev", "etc"]) mkdirSync(join(dir, name));
      copyFileSync(BUSYBOX_FILE, join(dir, "echo"));
      // A header without a machine that Linux knows.
      const other = Buffer.from(readFileSync(BUSYBOX_FILE).subarray(0, 64));
      writeFileSync(join(dir, "other"), other.fill(0xff, 18, 20), { mode: 0o755 });
    });
    await podman.importImage(BARE, [], bare);
    await podman.importImage(BROKEN, ['ENTRYPOINT ["/no/such/entry"]']);
    await podman.importImage(ODD_USER, ["USER 4711:4712"]);
  });
  afterAll(() => podman?.stop());
  beforeEach(async () => {
    bench = await openBench();
    bench.start({}, ["--engine", podman.socketPath]);
  });
  afterEach(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
    expect(await podman.engine.listContainers({})).toEqual([]);
  });

  describe("images (containers.md#ends)", () => {
    test("one with a single program, and without a shell or users", async () => {
      const { exit, stdout } = await runToEnd(bench, ["/echo", "alone"], contained(BARE));
      expect([exit?.code, stdout]).toEqual([0, "alone\n"]);
    });

    test.each([
      ["a shell that it lacks", BARE, ["sh", "-c", "true"], {}, "command_not_found"],
      ["a user, and has no list of them", BARE, ["/echo"], { user: "builder" }, "user_not_found"],
      ["an entrypoint that it lacks", BROKEN, ["true"], {}, "command_not_found"],
      ["the same without a first process", BROKEN, ["true"], { init: false }, "command_not_found"],
      ["a program of another machine", BARE, ["/other"], { init: false }, "not_executable"],
      ["no command at all", BARE, [], {}, "start_failed"],
    ])("one that is asked for %s", async (_, image, argv, container, code) => {
      const { attempt } = await runToEnd(bench, argv, contained(image, container));
      expect(attempt.startError?.code).toBe(code);
    });

    test("one whose entrypoint is replaced", async () => {
      const { exit, stdout } = await runToEnd(
        bench,
        ["one"],
        contained(BROKEN, { entrypoint: ["echo", "not"] }),
      );
      expect([exit?.code, stdout]).toEqual([0, "not one\n"]);
    });
  });

  describe("much (containers.md#ends)", () => {
    test("10,000 variables arrive", async () => {
      const env = Object.fromEntries(
        Array.from({ length: 10_000 }, (_, n) => [`VARIABLE_${n}`, `value ${n}`]),
      );
      const { attempt, stdout } = await sh("env | grep -c ^VARIABLE_", {}, { env });
      expect([attempt.startError, stdout]).toEqual([undefined, "10000\n"]);
    });

    test.each([true, false])(
      "with init=%s arguments that no kernel takes are an error that says so",
      async (init) => {
        const { attempt } = await runToEnd(
          bench,
          ["echo", "x".repeat(200_000)],
          contained(BUSYBOX, { init }),
        );
        expect(attempt.startError?.code).toBe("arguments_too_long");
      },
    );
  });

  describe("11: users (containers.md#users)", () => {
    const SCRIPT =
      'echo "$(id -u):$(id -g)"; mkdir made && echo kept >made/file && chmod 700 made; ' +
      'touch "$TMPDIR/t" "$DROVER_ALLOC_DIR/data/a"';
    test.each([
      ["a name of the image", BUSYBOX, { user: "task" }, "0:0"],
      ["a number that the image knows", BUSYBOX, { user: "1000" }, "1000:1000"],
      ["a number that the image lacks", BUSYBOX, { user: "4242" }, "4242:0"],
      ["two numbers", BUSYBOX, { user: "4242:4243" }, "4242:4243"],
      ["the image's", ODD_USER, {}, "4711:4712"],
      ["root", BUSYBOX, { user: "root" }, "0:0"],
    ])(
      "%s writes in its directories; outputs are collected, and all of it is deleted",
      async (_, image, user, ids) => {
        const { attempt, stdout, stderr } = await runToEnd(
          bench,
          ["sh", "-c", SCRIPT],
          contained(image, user),
          { outputs: ["made"] },
        );
        expect([stdout, stderr, attempt.exit?.code]).toEqual([`${ids}\n`, "", 0]);
        expect(attempt.outputs).toMatchObject({ files: 1 });
        expect(lstatSync(fileOf(bench, "made")).uid).toBe(Number(ids.split(":")[0]));
        bench.plane.order([]);
        await until(
          "its directories are deleted",
          () => !existsSync(join(bench.stateDir, "allocs", "build-17_1")) || undefined,
        );
      },
    );

    test("a name that the image lacks is an error that names it", async () => {
      const { attempt } = await sh("true", { user: "nobody-here" });
      expect(attempt.startError).toMatchObject({
        code: "user_not_found",
        text: expect.stringContaining("nobody-here"),
      });
    });
  });

  describe("walls (containers.md#fields)", () => {
    test("what is read-only can be written only where a file system in memory is", async () => {
      const script =
        "touch /made 2>/dev/null; echo $?; touch /scratch/made; echo $?; " +
        "df -k /scratch | tail -1 | tr -s ' ' | cut -d' ' -f2; touch here; echo $?";
      const { stdout } = await sh(script, { readOnly: true, tmpfs: { "/scratch": "8MiB" } });
      expect(stdout).toBe("1\n0\n8192\n0\n");
    });

    test("`none` is no network but its own", async () => {
      const { stdout, exit } = await sh("ls /sys/class/net; wc -l </proc/net/route", { network: "none" });
      expect([stdout, exit?.code]).toEqual(["lo\n1\n", 0]);
    });

    test("privileges are not gained, and the capabilities are what is left", async () => {
      const { stdout } = await sh("grep -E '^(NoNewPrivs|CapEff)' /proc/self/status | tr -d '\\t'", {
        dropCapabilities: ["ALL"],
      });
      expect(stdout).toBe("CapEff:0000000000000000\nNoNewPrivs:1\n");
    });

    test("binds are read-only unless they say otherwise", async () => {
      const data = join(bench.dir, "data");
      mkdirSync(data);
      writeFileSync(join(data, "file"), "there\n");
      const bind = { source: data, target: "/data", writable: false };
      const { stdout } = await sh("cat /data/file; touch /data/x 2>/dev/null; echo $?", { binds: [bind] });
      expect(stdout).toBe("there\n1\n");
      expect(existsSync(join(data, "x"))).toBe(false);
    });

    test("a bind whose source is not there is an error of the start", async () => {
      const bind = { source: join(bench.dir, "nowhere"), target: "/data", writable: false };
      const { attempt } = await sh("true", { binds: [bind] });
      expect(attempt.startError).toMatchObject({
        code: "start_failed",
        text: expect.stringContaining("nowhere"),
      });
      expect(existsSync(bind.source)).toBe(false);
    });
  });

  describe.skipIf(!limitsMemory)("12: memory (containers.md#oom)", () => {
    test("the limits are those of its cgroup, and its programs see them", async () => {
      const script =
        "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max 2>/dev/null; " +
        "cat cpu/cpu.shares cpu.weight 2>/dev/null; cat pids/pids.max pids.max 2>/dev/null";
      const { stdout } = await sh(script, {}, withMemory(64 * MIB));
      const [memory, , pids] = stdout.split("\n");
      expect([memory, pids]).toEqual([String(64 * MIB), "4096"]);
    });

    test("a first process that takes more is out of memory, and not only killed", MAY_BE_MISSED, async () => {
      const { exit } = await sh("exec tail /dev/zero", {}, withMemory(32 * MIB));
      expect(exit).toMatchObject({ code: 137, oomKilled: true });
    });

    test("the same without a first process of the engine", MAY_BE_MISSED, async () => {
      const { exit } = await sh("exec tail /dev/zero", { init: false }, withMemory(32 * MIB));
      expect(exit).toMatchObject({ code: 137, oomKilled: true });
    });

    test("a child that takes more, whose parent fails of it, is told as that", MAY_BE_MISSED, async () => {
      const { exit, stdout } = await sh("tail /dev/zero; echo child $?; exit 3", {}, withMemory(32 * MIB));
      expect([stdout, exit?.code, exit?.oomKilled]).toEqual(["child 137\n", 3, true]);
    });

    test("a child that takes more, which its parent survives, is no failure", async () => {
      const { exit } = await sh("tail /dev/zero; exit 0", {}, withMemory(32 * MIB));
      expect(exit).toMatchObject({ code: 0, oomKilled: false });
    });
  });
});
