import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writePayload } from "../../agent/exec/inputs/payload.ts";
import { startErrorOf } from "../../agent/exec/start-fault.ts";
import { MAX_PAYLOAD_BYTES } from "../../src/shared/jobs/limits.ts";
import { type Bench, openBench, run } from "./support/bench.ts";

// A payload in the directory of its task: tasks.md#prepare-16, jobs.md#payload.

describe("a payload is written", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "drover-payload-"));
    makeTask(dir);
  });
  afterEach(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  const local = (...path: string[]) => join(dir, "local", ...path);
  const all = randomBytes(MAX_PAYLOAD_BYTES);

  test("byte for byte, into a folder that is made for it, readable like any file", async () => {
    await write(dir, "in/deep/input.bin", all);
    expect(readFileSync(local("in", "deep", "input.bin"))).toEqual(all);
    expect(statSync(local("in", "deep", "input.bin")).mode & 0o777).toBe(0o644);
    expect(statSync(local("in", "deep")).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(dir, "private"))).toEqual(["payload.done"]);
  });

  test("also if it is empty, and under the longest name that there can be", async () => {
    await write(dir, "n".repeat(255), Buffer.alloc(0));
    expect(readFileSync(local("n".repeat(255))).length).toBe(0);
  });

  test("once for a placement: what the task makes of it stays until the machine boots again", async () => {
    await write(dir, "input", Buffer.from("given"));
    writeFileSync(local("input"), "changed");
    await write(dir, "input", Buffer.from("given"));
    expect(readFileSync(local("input"), "utf8")).toBe("changed");
    await write(dir, "input", Buffer.from("given"), "boot-2");
    expect(readFileSync(local("input"), "utf8")).toBe("given");
  });

  test("again after an agent that died before it was there", async () => {
    mkdirSync(join(dir, "private", "payload.ready"));
    writeFileSync(join(dir, "private", "payload.ready", "input"), "hal");
    await write(dir, "input", Buffer.from("half"));
    expect(readFileSync(local("input"), "utf8")).toBe("half");
  });

  test.each<[string, () => void]>([
    ["a file", () => writeFileSync(local("input"), "of the snapshot")],
    ["a link, which is not followed", () => symlinkSync(join(dir, "outside"), local("input"))],
    ["a folder with files", () => mkdirSync(local("input", "deep"), { recursive: true })],
  ])("in the place of %s", async (_, make) => {
    writeFileSync(join(dir, "outside"), "outside");
    make();
    await write(dir, "input", Buffer.from("given"));
    expect(readFileSync(local("input"), "utf8")).toBe("given");
    expect(readFileSync(join(dir, "outside"), "utf8")).toBe("outside");
  });

  test.each<[string, () => void, string]>([
    ["through a link that leads out", () => symlinkSync(join(dir, "outside"), local("in")), '"in" is not'],
    ["through a link that stays inside", () => symlinkSync("real", local("in")), '"in" is not a directory'],
    ["below a file", () => writeFileSync(local("in"), ""), '"in" is not a directory'],
  ])("never %s", async (_, make, why) => {
    mkdirSync(join(dir, "outside"));
    mkdirSync(local("real"));
    make();
    const { code, text } = startErrorOf(await faultOf(write(dir, "in/input", Buffer.from("given"))));
    expect(code).toBe("start_failed");
    expect(text).toContain('The payload cannot be put into "in/input"');
    expect(text).toContain(why);
    expect(readdirSync(join(dir, "outside"))).toEqual([]);
    expect(readdirSync(local("real"))).toEqual([]);
  });

  // The schema refuses these; an agent believes no control plane in this.
  test.each(["../input", "..", ".", "in/../../input"])("never at %s", async (path) => {
    const { code, text } = startErrorOf(await faultOf(write(dir, path, Buffer.from("given"))));
    expect(code).toBe("start_failed");
    expect(text).toContain("no file inside the task's directory");
    expect(readdirSync(dir).sort()).toEqual(["local", "private"]);
  });

  test("with the owner of the folder that it is in, if the agent is root", async (context) => {
    if (process.geteuid?.() !== 0) context.skip("only root gives files away");
    mkdirSync(local("in"));
    execFileSync("chown", ["65534:65534", local("in")]);
    await write(dir, "in/new/input", Buffer.from("given"));
    const owners = [local("in", "new"), local("in", "new", "input")].map((path) => statSync(path).uid);
    expect(owners).toEqual([65_534, 65_534]);
  });

  test("whole or not at all on a full disk, and the error says that the disk is full", async (context) => {
    if (!mount(dir)) context.skip("this user may not mount a file system to fill");
    try {
      makeTask(dir);
      const { bavail, bsize } = statfsSync(dir);
      writeFileSync(join(dir, "ballast"), Buffer.alloc(bavail * bsize));
      const { code, text } = startErrorOf(await faultOf(write(dir, "input", all)));
      expect(code).toBe("start_failed");
      expect(text).toContain("No space is left on this machine's disk");
      expect(existsSync(local("input"))).toBe(false);
      rmSync(join(dir, "ballast"));
      await write(dir, "input", all);
      expect(readFileSync(local("input"))).toEqual(all);
    } finally {
      execFileSync("umount", ["--lazy", dir]);
    }
  });
});

describe("a command finds its payload", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
  });

  const ID = "given/main/1.1";
  const payload = (content: Buffer) => ({ path: "in/input", content: content.toString("base64") });

  test("as the user that it runs as, which may change it", async (context) => {
    if (process.geteuid?.() !== 0) context.skip("only root runs commands as others");
    chmodSync(bench.dir, 0o711);
    bench.start();
    const script = "cat in/input && echo changed >in/input && stat -c %U in/input in";
    const more = { user: "nobody", payload: payload(Buffer.from("given\n")) };
    bench.plane.order([run(ID, ["sh", "-c", script], more)]);
    await bench.plane.untilStored(ID);
    expect(bench.plane.stored(ID).toString()).toBe("given\nnobody\nnobody\n");
  });

  test("and the journal of what is kept of a failed command does not have it", async () => {
    bench.start();
    const content = Buffer.from("a payload that stands nowhere else");
    bench.plane.order([run(ID, ["sh", "-c", "exit 3"], { keep: true, payload: payload(content) })]);
    const { hold } = await bench.plane.untilState(ID, "exited");
    expect(hold).toBe("kept");
    const journal = readFileSync(join(bench.stateDir, "journal", "given_main_1.1.json"), "utf8");
    expect(journal).toContain('"hold"');
    expect(journal).not.toContain(content.toString("base64"));
  });
});

function makeTask(dir: string): void {
  for (const name of ["local", "private"]) mkdirSync(join(dir, name));
}

function write(dir: string, path: string, content: Buffer, boot = "boot-1"): Promise<void> {
  const dirs = { local: join(dir, "local"), private: join(dir, "private") };
  return writePayload({ path, content: content.toString("base64") }, { dirs, boot });
}

async function faultOf(step: Promise<void>): Promise<unknown> {
  return step.then(
    () => expect.unreachable("it succeeded"),
    (error: unknown) => error,
  );
}

/** A small disk in the place of this directory; false where this user may not mount one. */
function mount(dir: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", dir], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
