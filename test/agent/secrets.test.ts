import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SecretFiles } from "../../agent/exec/files/secret-files.ts";
import { TaskSecrets } from "../../agent/exec/task-secrets.ts";
import { ControlPlane } from "../../agent/plane/control-plane.ts";
import { NoSecrets, SecretSource } from "../../agent/plane/secrets.ts";
import { AttemptSecrets, hostKeyIn } from "../../agent/secrets.ts";
import { findMemoryDir, MEMORY_ROOTS, removeMemoryDir } from "../../posix/memory-dir.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { killIfThere } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { type Bench, openBench, run, task } from "./support/bench.ts";

const ID = "build-17/main/1.1";
const VALUE = "correct-horse-battery-staple";
const STARS = "*".repeat(VALUE.length);

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.secrets[ID] = { KEY: Buffer.from(VALUE), WORD: Buffer.from(VALUE) };
});
afterEach(async () => {
  const { faults } = bench.plane;
  removeMemoryDir(join(bench.stateDir, "secrets"));
  await bench.close();
  expect(faults).toEqual([]);
});

const USES: NonNullable<TaskSpec["secrets"]> = {
  KEY: { secret: "deploy", as: "file" },
  WORD: { secret: "deploy", as: "env" },
};
const sh = (script: string, more: Partial<TaskSpec> = {}) =>
  run(ID, ["sh", "-c", script], { secrets: USES, ...more });
const stored = () => bench.plane.stored(ID).toString();
const fileOf = (name: string) => join(bench.dir, name);
/** What the task does once the test says so. */
const then = (script: string) => `while ! [ -e ${fileOf("go")} ]; do sleep 0.02; done; ${script}`;
const go = () => writeFileSync(fileOf("go"), "");
const asked = () => bench.plane.calls.filter(({ path }) => path.endsWith("/secrets"));
const linkedDir = () => findMemoryDir(join(bench.stateDir, "secrets"))?.path;
const sealedFiles = () => readdirSync(join(bench.stateDir, "sealed"));

/** The files of the agent that hold a text, but for the streams, which the task writes itself. */
function filesWith(text: string): string[] {
  return readdirSync(bench.stateDir, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && !/^std(?:out|err)$/.test(one.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => existsSync(file) && readFileSync(file).includes(text));
}

describe("a task gets its secrets (secrets.md#tasks)", () => {
  test("as a file that only its user can read, and as a variable; what it prints is masked", async () => {
    bench.start();
    const look = 'stat -c "%a %F" "$DROVER_SECRETS_DIR" "$DROVER_SECRETS_DIR/KEY"';
    bench.plane.order([
      sh(`${look}; ls "$DROVER_SECRETS_DIR"; cat "$DROVER_SECRETS_DIR/KEY"; echo " $WORD"`),
    ]);
    await bench.plane.untilStored(ID);
    expect(stored()).toBe(`700 directory\n400 regular file\nKEY\n${STARS} ${STARS}\n`);
    expect(asked()).toHaveLength(1);
    expect(filesWith(VALUE)).toEqual([]);
    expect(statSync(join(bench.stateDir, "host-key.json")).mode & 0o777).toBe(0o600);
  });

  test("in memory, where the machine has a file system there; nothing is left once it is over", async () => {
    bench.start();
    bench.plane.order([sh(then("true"))]);
    await bench.plane.untilState(ID, "running");
    const dir = linkedDir() ?? "";
    expect(MEMORY_ROOTS).toContain(dirname(dir));
    expect(readdirSync(dir)).toHaveLength(1);
    expect(sealedFiles()).toHaveLength(1);
    go();
    await bench.plane.untilState(ID, "exited");
    expect([existsSync(dir), linkedDir()]).toEqual([false, undefined]);
    bench.plane.order([]);
    await bench.plane.until("it is forgotten", () => sealedFiles().length === 0);
  });

  test("a reference never leads to one, and a secret cannot take the place of a mark", async () => {
    const secrets: TaskSpec["secrets"] = {
      DROVER_TOKEN: { secret: "deploy", as: "env" },
      DROVER_RUN_ID: { secret: "deploy", as: "env" },
    };
    bench.plane.secrets[ID] = { DROVER_TOKEN: Buffer.from(VALUE), DROVER_RUN_ID: Buffer.from(VALUE) };
    bench.start();
    const script = `echo '\${DROVER_TOKEN}' $DROVER_RUN_ID; tr '\\0' ' ' </proc/$$/cmdline | wc -c`;
    bench.plane.order([run(ID, ["sh", "-c", script], { secrets })]);
    await bench.plane.untilStored(ID);
    expect(stored()).toContain("${DROVER_TOKEN} build-17\n");
  });

  test("bytes that are not text cannot be a variable", async () => {
    bench.plane.secrets[ID] = { WORD: Buffer.from([1, 0, 2, 255, 4, 5, 6]) };
    bench.start();
    bench.plane.order([sh("true", { secrets: { WORD: { secret: "deploy", as: "env" } } })]);
    const { startError } = await bench.plane.untilState(ID, "exited");
    expect(startError).toMatchObject({ code: "secrets_failed", text: expect.stringContaining("as a file") });
  });

  const isRoot = process.geteuid?.() === 0;
  test.runIf(isRoot)(
    "with `user`, they belong to that user, and other runs of it cannot reach them",
    async () => {
      const other = "build-18/main/1.1";
      chmodSync(bench.dir, 0o711);
      bench.start();
      bench.plane.order([sh(then('cat "$DROVER_SECRETS_DIR/KEY"; id -un'), { user: "nobody" })]);
      await bench.plane.untilState(ID, "running");
      const [name = ""] = readdirSync(linkedDir() ?? "");
      const file = join(linkedDir() ?? "", name, "files", "KEY");
      const spy = run(other, ["sh", "-c", `cat ${file} || echo closed`], { user: "nobody" });
      bench.plane.order([sh(then('cat "$DROVER_SECRETS_DIR/KEY"; id -un'), { user: "nobody" }), spy]);
      await bench.plane.untilStored(other);
      expect(bench.plane.stored(other).toString()).toBe("closed\n");
      go();
      await bench.plane.untilStored(ID);
      expect(stored()).toBe(`${STARS}nobody\n`);
    },
  );
});

describe("whatever becomes of the agent", () => {
  test("the next one masks the same, and removes the files at the end (secrets.md#files)", async () => {
    const first = bench.start();
    bench.plane.order([sh(`echo $WORD; ${then("echo $WORD")}`)]);
    await bench.plane.until("the first line is stored", () => stored() === `${STARS}\n`);
    const dir = linkedDir() ?? "";
    first.child.kill("SIGKILL");
    await first.ended;
    bench.start();
    go();
    await bench.plane.untilStored(ID);
    expect(stored()).toBe(`${STARS}\n${STARS}\n`);
    expect(asked()).toHaveLength(1);
    expect(existsSync(dir)).toBe(false);
  });

  test("files of an attempt that nobody knows any more are removed by the next start", async () => {
    const first = bench.start();
    bench.plane.order([sh(then("true"))]);
    await bench.plane.untilState(ID, "running");
    const dir = linkedDir() ?? "";
    first.child.kill("SIGKILL");
    await first.ended;
    for (const pid of bench.processes()) killIfThere(pid);
    bench.plane.order([]);
    bench.start();
    await until("the files are gone", () => !existsSync(dir) || undefined);
    await until("the sealed values are gone", () => sealedFiles().length === 0 || undefined);
  });

  test.each([
    ["its file of sealed values is damaged", (file: string) => writeFileSync(file, "{}")],
    ["its file of sealed values is gone", (file: string) => rmSync(file)],
  ])("if %s, all that is not sent yet is masked (redaction.md#secrets)", async (_, spoil) => {
    const first = bench.start();
    bench.plane.order([sh(`echo before; ${then("echo after $WORD")}`)]);
    await bench.plane.until("the first line is stored", () => stored() === "before\n");
    first.child.kill("SIGKILL");
    await first.ended;
    const [name = ""] = sealedFiles();
    spoil(join(bench.stateDir, "sealed", name));
    const second = bench.start();
    go();
    await bench.plane.untilStored(ID);
    expect(stored()).toBe(`before\n${"*".repeat(`after ${VALUE}\n`.length)}`);
    expect(second.stderr()).toContain("cannot open the secrets of");
  });
});

describe("a start that gets no secrets (secrets.md#handed)", () => {
  const failWith = (status: number, times: number, detail = "no") => {
    let left = times;
    bench.plane.override = ({ path }) => {
      if (!path.endsWith("/secrets") || left === 0) return undefined;
      left -= 1;
      return { status, body: { detail } };
    };
  };

  test("waits for the control plane, and goes on by itself", async () => {
    failWith(503, 2);
    bench.start();
    bench.plane.order([sh("echo $WORD")]);
    await bench.plane.untilStored(ID);
    expect([asked().length, stored()]).toEqual([3, `${STARS}\n`]);
  });

  test.each([404, 422, 501])(
    "fails for good with %i, and says what the control plane says",
    async (status) => {
      failWith(status, 99, 'there is no secret "deploy"');
      bench.start();
      bench.plane.order([sh("true")]);
      const { startError } = await bench.plane.untilState(ID, "exited");
      expect(startError).toEqual({
        code: "secrets_failed",
        text: 'The secrets of the task are not available: there is no secret "deploy".',
      });
      expect(asked()).toHaveLength(1);
    },
  );

  test("can be stopped while it waits", async () => {
    failWith(503, 99);
    bench.start();
    bench.plane.order([sh("true")]);
    await bench.plane.until("it has asked", () => asked().length > 0);
    bench.plane.order([]);
    await bench.plane.until("it is forgotten", () => bench.plane.attempt(ID) === undefined);
  });

  test("fails on a host that has enrolled without a key", async () => {
    bench.plane.setup = { secretsUrl: undefined };
    bench.start();
    bench.plane.order([sh("true")]);
    const { startError } = await bench.plane.untilState(ID, "exited");
    expect(startError).toMatchObject({
      code: "secrets_failed",
      text: expect.stringContaining("without a key"),
    });
  });

  test("gives up at its deadline, so that its policy may start it again", async () => {
    const plane = new ControlPlane({ key: randomBytes(32), keyid: "w-1" });
    // With any time left another try may come within it: the wait before it is a matter of chance.
    const source = new SecretSource(plane, "http://127.0.0.1:1/v1/hosts/w-1/secrets", "w-1", 0);
    const request = { attempt: ID, publicKey: "" };
    const error = await source.sealedFor(request, new AbortController().signal).catch((caught) => caught);
    expect(error).toBeInstanceOf(NoSecrets);
    expect(error).toMatchObject({ recoverable: true, message: expect.stringContaining("1 try in 0 s") });
  });
});

describe("where there is no memory for files (secrets.md#files)", () => {
  let stateDir: string;
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), "drover-secrets-"));
  });
  afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

  test("they are in the state directory, mode 0700, and the attempt reports that", async () => {
    const key = await hostKeyIn(stateDir);
    expect(await hostKeyIn(stateDir)).toEqual(key);
    const secrets = await AttemptSecrets.open(stateDir, key, []);
    bench.start();
    await bench.plane.until("a host has enrolled", () => bench.plane.enrolled.length > 0);
    const files = new SecretFiles(stateDir, []);
    const source = {
      worker: "w-1",
      sealedFor: async () => {
        const { seal } = await import("../../src/signing/seal.ts");
        const { contextOfHanded } = await import("../../src/signing/contexts.ts");
        const value = Buffer.from(VALUE);
        const sealed = await seal(value, key.publicKey, contextOfHanded("w-1", ID, "KEY"));
        return { items: [{ name: "KEY", ...sealed }] };
      },
    } as unknown as SecretSource; // only these two are used
    const tasks = new TaskSecrets({ secrets, files, source: () => source });
    const uses: TaskSpec["secrets"] = { KEY: { secret: "deploy", as: "file" } };
    expect(await tasks.fetch(ID, uses, new AbortController().signal)).toBe(true);
    expect(tasks.give(ID, task(["true"], { secrets: uses }), undefined)).toEqual({});
    const dir = tasks.dirOf(ID, task(["true"], { secrets: uses })) ?? "";
    expect(dir.startsWith(join(stateDir, "secrets"))).toBe(true);
    expect(statSync(join(stateDir, "secrets")).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, "KEY")).mode & 0o777).toBe(0o400);
    await tasks.forget(ID);
    expect(existsSync(join(stateDir, "secrets"))).toBe(false);
    // Its run may have something left here, so the value is known until that is gone (redaction.md#secrets).
    expect(secrets.secretsOf("build-17")).toHaveLength(1);
    tasks.keepRuns(new Set(["build-18"]));
    expect(secrets.secretsOf("build-17")).toEqual([]);
  });

  test("a link to a directory that others may write is not followed", () => {
    const theirs = mkdtempSync(join(stateDir, "theirs-"));
    symlinkSync(theirs, join(stateDir, "secrets"));
    expect(findMemoryDir(join(stateDir, "secrets"))?.path).toBe(theirs);
    chmodSync(theirs, 0o777);
    expect(findMemoryDir(join(stateDir, "secrets"))).toBeUndefined();
  });
});
