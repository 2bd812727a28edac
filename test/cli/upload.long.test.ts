import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ArchiveFault } from "../../archive/faults.ts";
import { packingFault } from "../../cli/snapshot/upload.ts";
import { RunSpec, type RunStatus } from "../../src/schema/run/run.ts";
import { MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { type ControlPlane, problem } from "./support/control-plane.ts";

let bench: Bench;
let tree: string;
beforeEach(async () => {
  bench = await openBench();
  tree = join(bench.dir, "tree");
  mkdirSync(join(tree, "src"), { recursive: true });
  mkdirSync(join(tree, "empty"));
  writeFileSync(join(tree, "run.sh"), "echo hello\n");
  chmodSync(join(tree, "run.sh"), 0o755);
  writeFileSync(join(tree, "src", "a.txt"), "a");
  writeFileSync(join(tree, "a.log"), "left out");
  writeFileSync(join(tree, ".gitignore"), "*.log\n");
  symlinkSync("src/a.txt", join(tree, "link"));
});
afterEach(() => bench.close());

const SNAPSHOT = /^\/v1\/snapshots\//;

function submitted(plane: ControlPlane) {
  return plane.seen.find(({ method, path }) => method === "POST" && path === "/v1/runs")?.body as {
    [field: string]: unknown;
  };
}

const puts = ({ seen }: ControlPlane) => seen.filter(({ method }) => method === "PUT");

describe("drover run --upload", () => {
  test("sends what is not left out, once, and runs in it", async () => {
    const { plane } = bench;
    // It would say how far it is, on a busy machine.
    const args = ["run", "-q", "--upload", "tree", "--out", "dist/**", "--out", "*.txt", "--", "./run.sh"];
    expect(await bench.run(args)).toMatchObject({ code: 0, stderr: "" });
    const [archive] = plane.snapshots.values();
    const listed = execFileSync("tar", ["-tf", "-"], { input: zstdDecompressSync(archive ?? "") }).toString();
    expect(listed.split("\n")).toEqual([".gitignore", "empty/", "link", "run.sh", "src/", "src/a.txt", ""]);
    const [digest] = plane.snapshots.keys();
    expect(submitted(plane)).toMatchObject({ snapshot: `sha256:${digest}`, outputs: ["dist/**", "*.txt"] });
    expect(submitted(plane)).not.toHaveProperty("dir");
    await bench.run(args);
    expect(puts(plane)).toHaveLength(1);
  });

  test("goes into the directory below it that --dir names", async () => {
    await bench.run(["run", "--upload", ".", "--dir", "src", "--", "x"], { cwd: tree });
    expect(submitted(bench.plane)).toMatchObject({ dir: "src" });
  });

  test("goes with a file, too", async () => {
    writeFileSync(join(bench.dir, "run.json"), '{"argv": ["x"], "outputs": ["y"]}');
    await bench.run(["run", "-f", "run.json", "--upload", "tree"]);
    expect(submitted(bench.plane)).toMatchObject({
      argv: ["x"],
      outputs: ["y"],
      snapshot: expect.any(String),
    });
  });

  test("tells how far it is, if that takes long", async () => {
    bench.plane.on("PUT", SNAPSHOT, () => undefined, 1);
    const running = bench.start(["run", "--upload", "tree", "--", "x"]);
    await running.says(/^drover: Uploading tree: 5 files, \d+B of \d+B$/m);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(143);
  });

  test("leaves nothing behind here, also when it is interrupted", async () => {
    const scratch = join(bench.dir, "scratch");
    mkdirSync(scratch);
    const options = { env: { ...environmentFor(bench.plane), TMPDIR: scratch } };
    bench.plane.on("PUT", SNAPSHOT, () => undefined, 1);
    const running = bench.start(["run", "--quiet", "--upload", "tree", "--", "x"], options);
    await bench.plane.requests("PUT", SNAPSHOT);
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130, stderr: "drover: Stopped by SIGINT.\n" });
    await bench.run(["run", "--upload", "tree", "--", "x"], options);
    expect(execFileSync("ls", ["-A", scratch]).toString()).toBe("");
  });

  test("SN: the name of a directory with nothing in it does not run into the full stop", async () => {
    mkdirSync(join(bench.dir, "bare"));
    const { code, stderr } = await bench.run(["run", "--upload", ".", "--", "x"], {
      cwd: join(bench.dir, "bare"),
    });
    expect([code, stderr]).toEqual([125, expect.stringContaining('There is nothing to upload in ".".')]);
  });

  test.each([
    [["--upload", "nothing"], "nothing cannot be read: there is no such file or directory"],
    [["--upload", "tree/run.sh"], "tree/run.sh is not a directory"],
    [["--upload", "tree/empty"], 'There is nothing to upload in "tree/empty".'],
    [["--upload", "out"], 'out cannot be uploaded: .*"away"'],
    [
      ["--upload", "tree", "--snapshot", `sha256:${"0".repeat(64)}`],
      "--upload and --snapshot cannot be combined",
    ],
    [["--snapshot", "sha256:0"], "64 lower-case hexadecimal digits"],
    [["--stdin", "nothing"], "Cannot read nothing"],
    [["--stdin", "large"], "large is too large for --stdin, which takes less than 256KiB"],
    [["--stdin", "binary"], "binary is not UTF-8 text"],
  ])("with %j says what is wrong, and starts nothing", async (flags, text) => {
    mkdirSync(join(bench.dir, "out"));
    symlinkSync("../../elsewhere", join(bench.dir, "out", "away"));
    writeFileSync(join(bench.dir, "large"), "x".repeat(MAX_SPEC_BYTES + 1));
    writeFileSync(join(bench.dir, "binary"), Buffer.from([0xff, 0xfe]));
    const { code, stderr } = await bench.run(["run", ...flags, "--", "x"]);
    expect(stderr).toMatch(new RegExp(text.replaceAll(".", "\\.").replaceAll("\\.*", ".*")));
    expect(code).toBe(125);
    expect(submitted(bench.plane)).toBe(undefined);
  });

  test.each([
    [new ArchiveFault("the archive would be larger than 10 bytes"), /^d cannot be uploaded: the archive/],
    [systemError("EACCES", "/d/secret"), /^\/d\/secret cannot be read: permission denied\.$/],
    [systemError("EIO", "/d/bad"), /^\/d\/bad cannot be read: EIO: a fault\.$/],
    [systemError("ENOSPC"), /^d cannot be read: the disk for temporary files is full\.$/],
  ])("puts %s into words", (error, text) => {
    expect(packingFault(error, "d")).toMatchObject({
      name: "CliError",
      message: expect.stringMatching(text),
    });
  });

  test("says which flag a snapshot that is not there came by", async () => {
    const errors = [{ pointer: "/snapshot", detail: "is not stored" }];
    bench.plane.on("POST", /runs$/, (_seen, res) => problem(res, 404, "unknown_snapshot", { errors }));
    const { stderr } = await bench.run(["run", "--snapshot", `sha256:${"0".repeat(64)}`, "--", "x"]);
    expect(stderr).toContain("--snapshot: is not stored");
  });
});

describe("drover run --stdin", () => {
  test.each([
    ["a file", "in.txt", "ignore" as const],
    ["what this command gets", "-", "pipe" as const],
  ])("is %s", async (_what, file, stdin) => {
    writeFileSync(join(bench.dir, "in.txt"), "käse\n");
    const running = bench.start(["run", "--stdin", file, "--", "cat"], { stdio: [stdin, "pipe", "pipe"] });
    running.child.stdin?.end("käse\n");
    expect((await running.ended).code).toBe(0);
    expect(submitted(bench.plane)).toMatchObject({ stdin: "käse\n" });
  });
});

describe("drover pull", () => {
  /** A run whose result is what the directory `tree` holds. */
  async function runWithResult(patch: Partial<RunStatus> = {}, outputs = ["**"]): Promise<void> {
    const { plane } = bench;
    const stored = await bench.run(["snapshots", "upload", "tree"]);
    const snapshot = stored.stdout.toString().trim();
    const spec = RunSpec.parse({ argv: ["x"], outputs });
    plane.ends = { state: "complete", exitCode: 1, snapshot, spec, ...patch };
    const ended = await bench.run(["run", "--id", "r1", "--", "x"]);
    if (patch.snapshot === undefined) expect(ended.stderr).toContain("Fetch it: drover pull r1");
  }

  test("brings the files, links, modes and empty directories of a result", async () => {
    await runWithResult();
    const ended = await bench.run(["pull", "r1", "--into", "some/where"]);
    const into = join(bench.dir, "some", "where");
    expect(ended).toMatchObject({ code: 0, stderr: `drover: 5 files of run r1 in ${into}\n` });
    expect(readFileSync(join(into, "src", "a.txt"), "utf8")).toBe("a");
    expect(lstatSync(join(into, "run.sh")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(into, "link"))).toBe("src/a.txt");
    expect(lstatSync(join(into, "empty")).isDirectory()).toBe(true);
  });

  test("replaces what has the same name, and touches nothing outside, whatever leads there", async () => {
    await runWithResult();
    const into = join(bench.dir, "into");
    mkdirSync(join(bench.dir, "outside"));
    mkdirSync(into);
    writeFileSync(join(bench.dir, "outside", "file"), "mine");
    symlinkSync("../outside/file", join(into, "run.sh"));
    writeFileSync(join(into, "other"), "stays");
    expect((await bench.run(["pull", "r1"], { cwd: into })).code).toBe(0);
    expect(readFileSync(join(bench.dir, "outside", "file"), "utf8")).toBe("mine");
    expect(readFileSync(join(into, "run.sh"), "utf8")).toBe("echo hello\n");
    expect(readFileSync(join(into, "other"), "utf8")).toBe("stays");
  });

  test("does not go through a link in the place of a directory", async () => {
    await runWithResult();
    const into = join(bench.dir, "into");
    mkdirSync(join(bench.dir, "outside"));
    mkdirSync(into);
    symlinkSync("../outside", join(into, "src"));
    await bench.run(["pull", "r1", "--into", "into"]);
    expect(existsSync(join(bench.dir, "outside", "a.txt"))).toBe(false);
  });

  test("of what is not what its id says, leaves nothing", async () => {
    await runWithResult();
    for (const digest of bench.plane.snapshots.keys()) {
      bench.plane.snapshots.set(digest, Buffer.from("other bytes"));
    }
    const ended = await bench.run(["pull", "r1", "--into", "into"]);
    expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("wrong bytes") });
    expect(existsSync(join(bench.dir, "into"))).toBe(false);
  });

  const outputs = RunSpec.parse({ argv: ["x"], outputs: ["y"] });
  const failure = {
    class: "infrastructure",
    code: "outputs_failed",
    text: "the result is too large",
  } as const;
  test.each<[Partial<RunStatus>, string]>([
    [{ state: "running" }, "it was submitted without outputs"],
    [{ state: "pending", spec: outputs }, "it has not started yet"],
    [{ state: "running", spec: outputs }, "it is still running"],
    [{ state: "failed", spec: outputs, failure }, "the result is too large"],
    [{ state: "aborted", spec: outputs }, "it is aborted, and its command did not end by itself"],
  ])("of a run that is %j says why there is nothing", async (patch, why) => {
    bench.plane.ends = patch;
    await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
    const { code, stderr } = await bench.run(["pull", "r1"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Run r1 has no result: ${why}.`)]);
  });

  test("finds what the status shows", async () => {
    await runWithResult();
    const { stdout } = await bench.run(["status", "r1"]);
    expect(stdout.toString()).toMatch(/^Result +sha256:[0-9a-f]{64} \(drover pull r1\)$/m);
  });
});

test("what was stored is fetched by its id", async () => {
  const id = (await bench.run(["snapshots", "upload", "tree"])).stdout.toString().trim();
  const ended = await bench.run(["snapshots", "get", id, "--into", "copy"]);
  expect(ended.stderr).toContain("5 files in");
  expect(readFileSync(join(bench.dir, "copy", "src", "a.txt"), "utf8")).toBe("a");
});

function systemError(code: string, path?: string): Error {
  return Object.assign(new Error(`${code}: a fault`), { code, syscall: "open", path });
}
