import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { unpack } from "../../archive/unpack.ts";
import type { AttemptReport } from "../../src/schema/host.ts";
import { type Bench, kill, openBench, run, stop } from "./support/bench.ts";
import type { Call, Override } from "./support/fake-plane.ts";
import { openFileServer, sha256Of } from "./support/file-server.ts";

const ID = "build-17/main/1.1";
const SH = (script: string) => ["sh", "-c", script];

const PATIENT = { timeout: 120_000 };

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const isUpload = ({ method, path }: Call) => method === "PUT" && path.includes("/snapshots/");
const isDownload = ({ method, path }: Call) => method === "GET" && path.includes("/snapshots/");
const HANGS: Override = { status: 200, raw: Buffer.alloc(9), cutAfter: 0 };

/** Uploads hang until it is called. */
function hangUploads(): () => void {
  bench.plane.override = (call) => (isUpload(call) ? HANGS : undefined);
  return () => {
    bench.plane.override = () => undefined;
  };
}
const uploads = () => bench.plane.calls.filter(isUpload).length;
const untilUploads = (count: number) => bench.plane.until("it uploads", () => uploads() >= count);

/** The files of a result. */
async function filesOf({ outputs }: AttemptReport): Promise<Record<string, string>> {
  if (outputs === undefined || !("snapshot" in outputs)) throw new Error(JSON.stringify(outputs));
  const [file, into] = [join(bench.dir, "result"), join(bench.dir, "into")];
  writeFileSync(file, bench.plane.snapshots.read(outputs.snapshot) ?? "");
  mkdirSync(into);
  await unpack(file, into, AbortSignal.timeout(9_000), { bytes: 10 ** 6, entries: 99 });
  return Object.fromEntries(readdirSync(into).map((name) => [name, readFileSync(join(into, name), "utf8")]));
}

/** By zstd, for which the agent needs its library if the machine has Node 20. */
function snapshotOf(files: Record<string, string>): string {
  const folder = join(bench.dir, "files");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return bench.plane.snapshots.keep(zstdCompressSync(execFileSync("tar", ["-C", folder, "-cf", "-", "."])));
}

// Of the snapshot see decisions/files.md#snapshots.
describe("a task begins with a snapshot and ends with one (decisions/files.md#outputs)", () => {
  test("its files are there, it reads its standard input, its result is stored if it fails", async () => {
    bench.start();
    const snapshot = snapshotOf({ given: "given\n" });
    const script = "cat given - >made; cat >again; ln -s made link; exit 3";
    const more = { snapshot, stdin: "read\n", outputs: ["made", "again"] };
    bench.plane.order([run(ID, SH(script), more)]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject({ exit: { code: 3 }, outputs: { files: 2 } });
    expect(await filesOf(attempt)).toEqual({ made: "given\nread\n", again: "" });
  });

  test("another user gets both, too", async (context) => {
    if (process.geteuid?.() !== 0) context.skip("only root can run a command as another user");
    const more = {
      user: "nobody",
      snapshot: snapshotOf({ given: "given\n" }),
      stdin: "read\n",
      outputs: ["m"],
    };
    execFileSync("chmod", ["711", bench.dir]);
    bench.start();
    bench.plane.order([run(ID, SH("cat given /dev/stdin >m && id -un >>m"), more)]);
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt.startError ?? (await filesOf(attempt))).toEqual({ m: "given\nread\nnobody\n" });
  });

  test("without one its standard input is at its end", async () => {
    bench.start();
    bench.plane.order([run(ID, ["cat"])]);
    expect((await bench.plane.untilState(ID, "exited")).exit).toMatchObject({ code: 0 });
  });

  test("a bad snapshot is why it does not start", async () => {
    bench.start();
    bench.plane.order([run(ID, ["true"], { snapshot: bench.plane.snapshots.keep(Buffer.from("no tar")) })]);
    const { startError } = await bench.plane.untilState(ID, "exited");
    expect(startError).toEqual({
      code: "snapshot_failed",
      text: expect.stringContaining("cannot be unpacked"),
    });
  });

  test("the store is busy at first", async () => {
    const answers = [{ status: 503 }, { status: 503 }];
    bench.plane.override = (call) => (isUpload(call) ? answers.shift() : undefined);
    bench.start();
    bench.plane.order([run(ID, SH("echo x >a"), { outputs: ["a"] })]);
    expect(await filesOf(await bench.plane.untilState(ID, "exited"))).toEqual({ a: "x\n" });
  });

  test("there is no bucket: it is said of the result, and the exit is kept", async () => {
    bench.plane.setup = { snapshotsUrl: undefined };
    bench.start();
    bench.plane.order([run(ID, SH("exit 4"), { outputs: ["a"] })]);
    const attempt = await bench.plane.untilState(ID, "exited");
    const error = expect.stringContaining("no bucket");
    expect(attempt).toMatchObject({ exit: { code: 4 }, outputs: { error } });
  });
});

describe("what comes while its outputs are being stored", () => {
  test("the agent is killed: the next one collects them again", async () => {
    const go = hangUploads();
    const agent = bench.start();
    bench.plane.order([run(ID, SH("echo x >a; exit 5"), { outputs: ["a"] })]);
    expect((await bench.plane.untilState(ID, "uploading")).exit).toMatchObject({ code: 5 });
    await untilUploads(1);
    await kill(agent);
    go();
    bench.start();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt.exit).toMatchObject({ code: 5 });
    expect(await filesOf(attempt)).toEqual({ a: "x\n" });
  });

  test.each<[string, number | undefined, () => void, object]>([
    ["an order to stop it", undefined, () => bench.plane.order([stop(ID)]), { exit: { code: 0 } }],
    ["its deadline", 5_000, () => undefined, { exit: { code: 0 }, timedOut: true }],
  ])("%s: it is over without them", async (_, timeoutMs, act, said) => {
    hangUploads();
    bench.start();
    bench.plane.order([run(ID, ["true"], { outputs: ["**"] }, timeoutMs)]);
    await untilUploads(1);
    act();
    const attempt = await bench.plane.untilState(ID, "exited");
    expect(attempt).toMatchObject(said);
    expect(attempt.outputs).toBeUndefined();
    bench.plane.order([]);
    await bench.plane.until("it is forgotten", () => bench.plane.reports.at(-1)?.attempts.length === 0);
    await expect.poll(() => readdirSync(join(bench.stateDir, "allocs")), PATIENT).toEqual([]);
  });

  test("the agent is told to end: it does not wait for them, and says so", async () => {
    hangUploads();
    const agent = bench.start();
    bench.plane.order([run(ID, ["true"], { outputs: ["**"] })]);
    await untilUploads(1);
    agent.child.kill("SIGTERM");
    expect(await bench.plane.untilState(ID, "exited")).toMatchObject({ exit: { code: 0 }, stopped: "agent" });
    await agent.ended;
  });
});

describe("a preparation that hangs does not outlive the deadline, one over all phases", () => {
  const left = () => bench.plane.until("it is over", () => over(bench.plane.attempt(ID)));
  const over = (attempt: AttemptReport | undefined) =>
    attempt !== undefined && ["exited", "gone"].includes(attempt.state) && attempt;

  test("of a snapshot", async () => {
    bench.plane.override = (call) => (isDownload(call) ? HANGS : undefined);
    bench.start();
    bench.plane.order([run(ID, ["true"], { snapshot: `sha256:${"0".repeat(64)}` }, 3_000)]);
    await bench.plane.until("it is asked for", () => bench.plane.calls.some(isDownload));
    expect(await left()).toMatchObject({ timedOut: true });
  });

  test("of an artifact", async () => {
    const files = await openFileServer();
    try {
      files.on("/a", () => undefined);
      const artifacts = [{ url: `${files.url}/a`, sha256: sha256Of(Buffer.from("a")), to: "." }];
      bench.start();
      bench.plane.order([run(ID, ["true"], { artifacts }, 3_000)]);
      await expect.poll(() => files.requests, PATIENT).toEqual(["/a"]);
      expect(await left()).toMatchObject({ timedOut: true });
    } finally {
      await files.close();
    }
  });
});
