import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { Header } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectOutputs } from "../../agent/exec/files/collect.ts";
import { DOWNLOAD_BOUNDS } from "../../agent/exec/files/download.ts";
import { fetchSnapshot } from "../../agent/exec/inputs/snapshot.ts";
import { ControlPlane } from "../../agent/plane/control-plane.ts";
import { makeSalt } from "../../agent/plane/sign.ts";
import { Snapshots } from "../../agent/plane/snapshots.ts";
import { unpack } from "../../archive/unpack.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { until } from "../local/support/scratch.ts";
import { FakePlane, type Override } from "./support/fake-plane.ts";

let dir: string;
let plane: FakePlane;
let snapshots: Snapshots;
const place = () => ({ local: join(dir, "local"), private: join(dir, "private") });
const local = (...path: string[]) => join(dir, "local", ...path);
const url = () => `${plane.url}/v1/hosts/w-1/snapshots`;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drover-snapshots-"));
  for (const folder of Object.values(place())) mkdirSync(folder);
  plane = await new FakePlane().start();
  plane.secret = makeSalt();
  snapshots = new Snapshots(new ControlPlane({ key: keyOf(plane.secret), keyid: "w-1" }), url());
});
afterEach(async () => {
  await plane.close();
  rmSync(dir, { recursive: true, force: true });
});

const QUICK = { ...DOWNLOAD_BOUNDS, retryFirstMs: 1 };

/** Answers these first, in order, then as usual. */
function first(...answers: Override[]): void {
  plane.override = () => answers.shift();
}

function fetchIt(snapshot: string, more: Partial<Parameters<typeof fetchSnapshot>[2]> = {}): Promise<void> {
  const signal = new AbortController().signal;
  return fetchSnapshot(snapshot, snapshots, {
    dirs: place(),
    boot: "boot-1",
    signal,
    bounds: QUICK,
    ...more,
  });
}

async function faultOf(...args: Parameters<typeof fetchIt>) {
  const error: unknown = await fetchIt(...args).catch((thrown: unknown) => thrown);
  return error instanceof Error && "startError" in error ? error.startError : error;
}

function tarOf(make: (folder: string) => void): Buffer {
  const folder = mkdtempSync(join(dir, "tar-"));
  make(folder);
  return execFileSync("tar", ["-C", folder, "-cf", "-", "."], { maxBuffer: 2 ** 28 });
}

const one = (content: string | Buffer = "content") => tarOf((at) => writeFileSync(join(at, "a"), content));

describe("a snapshot is unpacked into the directory of its task (decisions/files.md#snapshots)", () => {
  test.each<[string, (tar: Buffer) => Buffer]>([
    ["as it is", (tar) => tar],
    ["by gzip", gzipSync],
    ["by zstd", zstdCompressSync],
  ])("%s: links, modes and empty directories survive", async (_, packed) => {
    const tar = tarOf((at) => {
      mkdirSync(join(at, "bin"));
      writeFileSync(join(at, "bin", "run"), "#!/bin/sh\n", { mode: 0o755 });
      symlinkSync("bin/run", join(at, "link"));
      mkdirSync(join(at, "empty"), { mode: 0o700 });
    });
    await fetchIt(plane.snapshots.keep(packed(tar)));
    expect(readFileSync(local("bin", "run"), "utf8")).toBe("#!/bin/sh\n");
    expect(statSync(local("bin", "run")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(local("link"))).toBe("bin/run");
    expect(lstatSync(local("empty")).mode & 0o777).toBe(0o700);
  });

  test("once for a placement: what was changed since stays; another boot does it again", async () => {
    const snapshot = plane.snapshots.keep(one());
    await fetchIt(snapshot);
    writeFileSync(local("a"), "changed");
    await fetchIt(snapshot);
    expect([readFileSync(local("a"), "utf8"), plane.calls.length]).toEqual(["changed", 1]);
    await fetchIt(snapshot, { boot: "boot-2" });
    expect([readFileSync(local("a"), "utf8"), plane.calls.length]).toEqual(["content", 2]);
    expect(readdirSync(join(dir, "private")).filter((name) => !name.endsWith(".done"))).toEqual([]);
  });

  test("one that is cut is gone on with", async () => {
    const tar = one(randomBytes(300_000));
    const snapshot = plane.snapshots.keep(tar);
    const part = () => readdirSync(join(dir, "private")).find((name) => name.endsWith(".part"));
    const isThere = () => statSync(join(dir, "private", part() ?? ".")).size === 100_000 || undefined;
    const cutOnce = () => until("the first part is on the disk", isThere);
    first({ status: 200, raw: tar, cutAfter: 100_000, cutOnce });
    await fetchIt(snapshot);
    expect(plane.calls[1]?.headers.range).toBe("bytes=100000-");
    expect(statSync(local("a")).size).toBe(300_000);
  });

  test.each<[string, Override]>([
    ["its server is busy", { status: 503 }],
    ["this clock is wrong", { status: 401, createdAt: Date.now() + 60_000 }],
    ["this clock was wrong when the call was signed", { status: 401 }],
    ["other bytes come, which nobody has signed", { status: 200, raw: Buffer.from("other") }],
  ])("it is tried again when %s", async (_, answer) => {
    const snapshot = plane.snapshots.keep(one());
    first(answer);
    await fetchIt(snapshot);
    expect(plane.calls.length).toBe(2);
  });
});

describe("one that cannot be had is the fault of the start", () => {
  const code = "snapshot_failed";

  test("with another digest", async () => {
    const snapshot = plane.snapshots.keep(one());
    plane.override = () => ({ status: 200, raw: one("other") });
    const text = expect.stringMatching(/its content is wrong: its sha256 is .* \(5 tries in a row\)/);
    expect(await faultOf(snapshot)).toEqual({ code, text, recoverable: true });
    expect(readdirSync(local())).toEqual([]);
    expect(plane.calls.length).toBe(5);
  });

  test("not because of too many bytes, which nobody has signed", async () => {
    const tar = one();
    const snapshot = plane.snapshots.keep(tar);
    first({ status: 200, raw: randomBytes(tar.length + 1) });
    await fetchIt(snapshot, { bounds: { ...QUICK, bytes: tar.length } });
    expect(plane.calls.length).toBe(2);
  });

  test.each<[string, Override, string]>([
    ["unknown", { status: 404 }, "answers 404"],
    ["elsewhere, where no signature may go", { status: 302, headers: { location: "/x" } }, "answers 302"],
    ["not for this host", { status: 403 }, "answers 403"],
  ])("%s", async (_, answer, words) => {
    first(answer);
    const text = expect.stringContaining(words);
    expect(await faultOf(plane.snapshots.keep(one()))).toEqual({ code, text, recoverable: true });
    expect(plane.calls.length).toBe(1);
  });

  test("because the control plane has no bucket", async () => {
    const signal = new AbortController().signal;
    const failed = fetchSnapshot(`sha256:${"0".repeat(64)}`, undefined, { dirs: place(), boot: "b", signal });
    await expect(failed).rejects.toThrow("the control plane has no bucket");
  });

  test.each<[string, () => Buffer, string]>([
    ["no archive", () => Buffer.from("text".repeat(500)), "cannot be unpacked"],
    ["a file above", () => entry({ path: "../x" }), "leads out"],
    ["an absolute file", () => entry({ path: "/etc/x" }), "leads out"],
    ["a link above", () => entry({ path: "x", type: "SymbolicLink", linkpath: "../.." }), "may lead out"],
    [
      "a second name of a file above",
      () => entry({ path: "x", type: "Link", linkpath: "../x" }),
      "out of its",
    ],
    ["a pipe", () => entry({ path: "x", type: "FIFO" }), "neither a file"],
    [
      "cut, by zstd",
      () => zstdCompressSync(one(randomBytes(9_000))).subarray(0, 5_000),
      "cannot be unpacked",
    ],
  ])("because it is %s, which another try would not mend", async (_, make, words) => {
    const text = expect.stringContaining(words);
    expect(await faultOf(plane.snapshots.keep(make()))).toEqual({ code, text });
    expect([readdirSync(local()), readdirSync(dir).includes("x")]).toEqual([[], false]);
  });

  test("and one that hangs ends with whoever waits for it", async () => {
    const snapshot = plane.snapshots.keep(one());
    first({ status: 200, raw: one(), cutAfter: 0 });
    const stop = new AbortController();
    const failed = fetchIt(snapshot, { signal: stop.signal, bounds: DOWNLOAD_BOUNDS });
    await plane.until("it is asked for", () => plane.calls.length > 0);
    stop.abort(new Error("enough"));
    await expect(failed).rejects.toThrow("enough");
  });
});

/** An archive of one good entry and one as it is said to be. */
function entry(fields: Partial<ConstructorParameters<typeof Header>[0] & object>): Buffer {
  const blocks = ["good", fields].map((one) => {
    const block = Buffer.alloc(512);
    const said = typeof one === "string" ? { path: one } : one;
    new Header({ mode: 0o644, type: "File", size: 0, ...said } as object).encode(block);
    return block;
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

describe("outputs are packed and stored (decisions/files.md#outputs-can-be-unpacked)", () => {
  const collect = (globs = ["**"], more: Partial<Parameters<typeof collectOutputs>[1]> = {}) =>
    collectOutputs(globs, { dirs: place(), snapshots, signal: AbortSignal.timeout(50_000), ...more });
  const patient = { stallsMs: 20_000, givenUpMs: 60_000 };
  const hasty = { stallsMs: 20_000, givenUpMs: 0 };
  const bounded = (bounds: typeof patient) =>
    new Snapshots(new ControlPlane({ key: keyOf(plane.secret), keyid: "w-1" }), url(), bounds);

  test("with what fits, and the archive lies nowhere else", async () => {
    for (const name of ["a", "b.txt"]) writeFileSync(local(name), name);
    const outcome = await collect(["*.txt"]);
    if (!("snapshot" in outcome)) throw new Error(outcome.error);
    const bytes = plane.snapshots.read(outcome.snapshot) ?? Buffer.alloc(0);
    expect(outcome).toMatchObject({ files: 1, bytes: bytes.length });
    writeFileSync(join(dir, "it"), bytes);
    mkdirSync(join(dir, "into"));
    await unpack(join(dir, "it"), join(dir, "into"), AbortSignal.timeout(9_000), { bytes: 99, entries: 9 });
    expect(readdirSync(join(dir, "into"))).toEqual(["b.txt"]);
    expect(readdirSync(join(dir, "private"))).toEqual([]);
  });

  test("nothing fits: an empty archive", async () => {
    expect(await collect(["nothing"])).toMatchObject({ files: 0, snapshot: expect.any(String) });
  });

  test.each<[string, Override[]]>([
    ["is busy", [{ status: 503 }, { status: 429, body: { detail: "later", retryAfterMs: 0 } }]],
    ["is cut off", [{ status: 200, raw: Buffer.alloc(9), cutAfter: 1 }]],
    ["finds this clock wrong", [{ status: 401, createdAt: Date.now() + 60_000 }]],
  ])("again, when the control plane %s", async (_, answers) => {
    const tries = answers.length + 1;
    first(...answers);
    expect(await collect(["**"], { snapshots: bounded(patient) })).toMatchObject({ files: 0 });
    expect(plane.calls.length).toBe(tries);
  });

  test("again, when the control plane hangs", async () => {
    first({ status: 200, raw: Buffer.alloc(9), cutAfter: 0 });
    const bounds = { ...patient, stallsMs: 100 };
    expect(await collect(["**"], { snapshots: bounded(bounds) })).toMatchObject({ files: 0 });
    // On a busy machine the second try, too, can take longer than this bound.
    expect(plane.calls.length).toBeGreaterThanOrEqual(2);
  });

  type More = () => Parameters<typeof collect>[1];
  const nothing = () => undefined;
  const small = { bytes: 10, contents: 9, entries: 9 };
  const toLink = () => {
    rmSync(local(), { recursive: true });
    symlinkSync("/etc", local());
  };
  test.each<[string, () => void, More, string]>([
    [
      "the store refuses them",
      () => first({ status: 413, body: { detail: "too much" } }),
      nothing,
      "too much",
    ],
    ["there is no bucket", nothing, () => ({ snapshots: undefined }), "no bucket"],
    ["the store has no bucket", () => first({ status: 501 }), nothing, "501"],
    [
      "nothing helps for too long",
      () => first({ status: 503 }),
      () => ({ snapshots: bounded(hasty) }),
      "no success for too long",
    ],
    ["they are too large", nothing, () => ({ bounds: small }), "larger than 10 bytes"],
    ["a link of them leads out", () => symlinkSync("/etc/passwd", local("l")), nothing, '"l" is a link'],
    ["a link is in the place of the directory", toLink, nothing, "directory is no longer a directory"],
  ])("or it is said why not: %s", async (_, prepare, more, words) => {
    prepare();
    expect(await collect(["**"], more())).toEqual({ error: expect.stringContaining(words) });
    expect(readdirSync(join(dir, "private"))).toEqual([]);
  });

  test("again, also when the first try was longer than all the tries after it may be", async () => {
    first({ status: 200, raw: Buffer.alloc(9), cutAfter: 0 });
    // The wait before the next try is 2 s at most.
    const bounds = { stallsMs: 2_600, givenUpMs: 2_500 };
    expect(await collect(["**"], { snapshots: bounded(bounds) })).toMatchObject({ files: 0 });
    expect(plane.calls.length).toBe(2);
  });

  test("again, when the connection breaks in the middle of a large archive", async () => {
    const bytes = randomBytes(8 * 2 ** 20);
    writeFileSync(local("large"), bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    plane.resetsUploads = 1;
    const archive = { file: local("large"), sha256, bytes: bytes.length };
    const bounds = { stallsMs: 20_000, givenUpMs: 60_000 };
    await bounded(bounds).store(archive, AbortSignal.timeout(50_000));
    expect(plane.snapshots.read(`sha256:${sha256}`)?.equals(bytes)).toBe(true);
    expect(plane.resetsUploads).toBe(0);
  });

  test("not again, when the archive itself cannot be read", async () => {
    const archive = { file: local(), sha256: "0".repeat(64), bytes: 9 };
    const stored = bounded(patient).store(archive, AbortSignal.timeout(50_000));
    await expect(stored).rejects.toThrow("The archive cannot be read: EISDIR");
  });

  test("or packing them has hung for too long", async () => {
    // Opening a pipe for writing hangs until somebody reads it.
    const [pipe, other] = [join(dir, "private", "outputs.tar.gz"), join(dir, "other")];
    execFileSync("mkfifo", [pipe]);
    linkSync(pipe, other);
    const outcome = await collect(["**"], { stallsMs: 50 });
    closeSync(openSync(other, constants.O_RDONLY | constants.O_NONBLOCK));
    expect(outcome).toEqual({ error: expect.stringContaining("packing them made no progress for 0.05 s") });
  });
});
