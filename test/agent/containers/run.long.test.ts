import { createHash, randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Container } from "../../../src/schema/run/container.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/shared/jobs/limits.ts";
import { type Bench, openBench, run, stop } from "../support/bench.ts";
import { contained, ID, runToEnd as runContained } from "../support/contained.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

let podman: Podman;
let bench: Bench;

/** Runs one command in a container of the usual image to its end. */
const runToEnd = (argv: string[], more: Partial<TaskSpec> = {}, container: Partial<Container> = {}) =>
  runContained(bench, argv, contained(BUSYBOX, container), more);

describe.skipIf(!hasPodman)("a command in a container (containers.md)", () => {
  beforeAll(async () => {
    podman = await startPodman();
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

  describe("how it ends (containers.md#ends)", () => {
    test.each([
      ["by itself", "exit 0", 0],
      ["with a code", "exit 7", 7],
      // These codes are the command's own, and not an engine's.
      ["18: with the code of an engine", "exit 125", 125],
      ["18: as a command that cannot be executed", "exit 126", 126],
      ["18: as a shell that does not find its command", "exit 127", 127],
      ["18: with a code that looks like SIGKILL", "exit 137", 137],
      ["18: with a code that looks like SIGTERM", "exit 143", 143],
    ])("%s", async (_, script, code) => {
      const { attempt, exit, stdout, stderr } = await runToEnd([
        "sh",
        "-c",
        `echo out; echo err >&2; ${script}`,
      ]);
      expect([attempt.startError, exit?.code, exit?.oomKilled]).toEqual([undefined, code, false]);
      expect([stdout, stderr]).toEqual(["out\n", "err\n"]);
    });
  });

  describe("a command that cannot be started (containers.md#ends)", () => {
    test.each([
      ["a program that the image lacks", ["no-such-command"], { init: true }, "command_not_found"],
      ["the same without a first process", ["no-such-command"], { init: false }, "command_not_found"],
      ["a file that may not be executed", ["/etc/passwd"], { init: false }, "not_executable"],
      ["a user that the image lacks", ["true"], { user: "nobody-here" }, "user_not_found"],
      [
        "an image that nobody has",
        ["true"],
        { image: "localhost/no/such:1", pull: "never" },
        "image_missing",
      ],
    ] as const)("%s", async (_, argv, container, code) => {
      const { attempt } = await runToEnd([...argv], {}, container);
      expect([attempt.startError?.code, attempt.exit]).toEqual([code, undefined]);
    });
  });

  test("its directories, variables and input are those of every command", async () => {
    const script = 'cat; echo "$COLOR $DROVER_TASK_NAME"; pwd; echo $DROVER_TASK_DIR; touch x "$TMPDIR/y"';
    const { stdout, exit } = await runToEnd(["sh", "-c", script], {
      stdin: "input\n",
      env: { COLOR: "blue" },
    });
    const [input, names, dir, taskDir] = stdout.split("\n");
    expect([input, names, exit?.code]).toEqual(["input", "blue main", 0]);
    expect(dir).toBe(taskDir);
  });

  test.each([
    ["of the image", {}],
    ["that it names", { user: "65534" }],
  ])("its payload is there byte for byte, for the user %s (tasks.md#prepare-16)", async (_, container) => {
    const content = randomBytes(MAX_PAYLOAD_BYTES);
    const payload = { path: "in/payload", content: content.toString("base64") };
    const script = "sha256sum <in/payload && echo changed >in/payload && cat in/payload";
    const { stdout, stderr } = await runToEnd(["sh", "-c", script], { payload }, container);
    const digest = createHash("sha256").update(content).digest("hex");
    expect([stdout, stderr]).toEqual([`${digest}  -\nchanged\n`, ""]);
  });

  describe("a stop (containers.md#kill)", () => {
    test("3: a tree that ignores SIGTERM is gone after the kill timeout, with its cgroup", async () => {
      const script = 'trap "" TERM; sleep 1000 & sh -c \'trap "" TERM; echo up; sleep 1001\'; wait';
      bench.plane.order([run(ID, ["sh", "-c", script], { container: contained(BUSYBOX) })]);
      await bench.plane.until("it is up", () => bench.plane.stored(ID).includes("up"));
      bench.plane.order([stop(ID, { timeoutMs: 200 })]);
      const attempt = await bench.plane.untilState(ID, "exited");
      expect(attempt.kill?.treeGone).toBe(true);
      expect(bench.processes()).toEqual([]);
    });
  });
});
