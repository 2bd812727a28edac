import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DOWNLOAD_BOUNDS, type DownloadBounds } from "../../agent/exec/files/download.ts";
import { fetchArtifacts } from "../../agent/exec/inputs/artifacts.ts";
import { unpack } from "../../archive/unpack.ts";
import { type FileServer, openFileServer, sha256Of } from "./support/file-server.ts";

let dir: string;
let server: FileServer;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drover-artifacts-"));
  for (const name of ["local", "private"]) mkdirSync(join(dir, name));
  server = await openFileServer();
});
afterEach(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The bounds of the agent, but the next try comes at once. */
const PATIENT: DownloadBounds = { ...DOWNLOAD_BOUNDS, retryFirstMs: 1 };
/** For a server that is too slow. On a machine that stands still for so long, every server is. */
const QUICK: DownloadBounds = { ...PATIENT, slowMs: 200 };
const local = (...path: string[]) => join(dir, "local", ...path);
const artifact = (path: string, content: Buffer, to = ".") => ({
  url: `${server.url}${path}`,
  sha256: sha256Of(content),
  to,
});

function fetchAll(artifacts: Parameters<typeof fetchArtifacts>[0], more: object = {}): Promise<void> {
  const dirs = { local: local(), private: join(dir, "private") };
  const signal = new AbortController().signal;
  return fetchArtifacts(artifacts, { dirs, boot: "boot-1", signal, bounds: PATIENT, ...more });
}

/** Waits until the only download under way has this many bytes in its file. */
async function written(bytes: number): Promise<void> {
  const files = () =>
    readdirSync(dir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const size = () => files().reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
  await expect.poll(size, { interval: 5 }).toBe(bytes);
}

/** A try with all that cannot be fetched: what the task is told of it. */
async function faultOf(...args: Parameters<typeof fetchAll>) {
  const error: unknown = await fetchAll(...args).catch((thrown: unknown) => thrown);
  return error instanceof Error && "startError" in error ? error.startError : error;
}

function tarOf(make: (folder: string) => void, ...flags: string[]): Buffer {
  const folder = mkdtempSync(join(dir, "tar-"));
  make(folder);
  return execFileSync("tar", ["-C", folder, ...flags, "-cf", "-", "."], { maxBuffer: 2 ** 28 });
}

describe("an artifact is fetched (api.md#artifacts)", () => {
  test("into a folder below the task's own, under its name", async () => {
    const content = randomBytes(300_000);
    server.on("/files/a%20b.bin?token=x", content);
    await fetchAll([artifact("/files/a%20b.bin?token=x", content, "data/in/")]);
    expect(readFileSync(local("data", "in", "a b.bin"))).toEqual(content);
    expect(statSync(local("data", "in", "a b.bin")).mode & 0o777).toBe(0o644);
  });

  test("under a name and into a folder as long as there can be, with whatever in them", async () => {
    const content = Buffer.from("odd");
    const [folder, name] = ["t".repeat(255), `a\n${"é".repeat(126)}z`];
    const path = `/${encodeURIComponent(name)}`;
    server.on(path, content);
    await fetchAll([artifact(path, content, folder)]);
    expect(readdirSync(local(folder))).toEqual([name]);
  });

  test("and what is no tar stays a file, a zip too (decisions/files.md#only-tar-is-unpacked)", async () => {
    const content = Buffer.from("PK");
    server.on("/a.zip", content);
    await fetchAll([artifact("/a.zip", content)]);
    expect(readFileSync(local("a.zip"))).toEqual(content);
  });

  test("once: the next attempt of the task does not fetch again, another boot does", async () => {
    const content = Buffer.from("once");
    server.on("/a", content);
    await fetchAll([artifact("/a", content)]);
    await fetchAll([artifact("/a", content)]);
    expect(server.requests).toEqual(["/a"]);
    await fetchAll([artifact("/a", content)], { boot: "boot-2" });
    expect(server.requests).toEqual(["/a", "/a"]);
  });

  test("what is complete stays so when another one cannot be had", async () => {
    const content = Buffer.from("whole");
    server.on("/a", content);
    const both = [artifact("/a", content), artifact("/missing", content)];
    await fetchAll(both.slice(0, 1));
    expect(await faultOf(both)).toMatchObject({ code: "artifact_failed" });
    server.on("/missing", content);
    await fetchAll(both);
    expect(server.requests).toEqual(["/a", "/missing", "/missing"]);
  });

  test("three at a time (tasks.md#prepare-11)", async () => {
    const content = Buffer.from("x");
    let [open, most] = [0, 0];
    const names = Array.from({ length: 9 }, (_, index) => `/${index}`);
    for (const name of names) {
      server.on(name, (_, response) => {
        open += 1;
        most = Math.max(most, open);
        setTimeout(() => {
          open -= 1;
          response.end(content);
        }, 20);
      });
    }
    await fetchAll(names.map((name) => artifact(name, content)));
    expect(most).toBe(3);
    expect(readdirSync(local()).length).toBe(9);
  });

  test("N4: one that cannot be had stops no other, and what was fetched is not fetched again", async () => {
    const content = randomBytes(10_000);
    const asked: Record<string, number> = {};
    const names = ["/missing", "/a", "/b", "/c", "/d"];
    for (const name of names) {
      server.on(name, (_, response) => {
        asked[name] = (asked[name] ?? 0) + 1;
        if (name === "/missing" && asked[name] === 1) response.writeHead(404).end();
        else setTimeout(() => response.end(content), 20);
      });
    }
    const all = names.map((name) => artifact(name, content));
    expect(await faultOf(all)).toMatchObject({ code: "artifact_failed" });
    expect(readdirSync(local()).sort()).toEqual(["a", "b", "c", "d"]);
    await fetchAll(all);
    expect(asked).toEqual({ "/missing": 2, "/a": 1, "/b": 1, "/c": 1, "/d": 1 });
  });

  test("P2: with the modes that they have anywhere, though the agent's own files are private", async () => {
    const folder = mkdtempSync(join(dir, "tar-"));
    mkdirSync(join(folder, "implied"));
    writeFileSync(join(folder, "implied", "file"), "x", { mode: 0o644 });
    const tar = execFileSync("tar", ["-C", folder, "-cf", "-", "implied/file"]);
    server.on("/a.tar", tar);
    server.on("/b", Buffer.from("b"));
    const umask = process.umask(0o077);
    try {
      await fetchAll([artifact("/a.tar", tar), artifact("/b", Buffer.from("b"), "deep/er")]);
    } finally {
      process.umask(umask);
    }
    const modes = ["implied", "implied/file", "deep", "deep/er", "deep/er/b"].map(
      (name) => `${name} ${(statSync(local(name)).mode & 0o777).toString(8)}`,
    );
    expect(modes).toEqual(["implied 755", "implied/file 644", "deep 755", "deep/er 755", "deep/er/b 644"]);
  });

  test("by way of redirects", async () => {
    const content = Buffer.from("moved");
    server.on("/old", (_, response) => response.writeHead(302, { location: "/new" }).end());
    server.on("/new", content);
    await fetchAll([artifact("/old", content)]);
    expect(readFileSync(local("old"))).toEqual(content);
  });

  test("in as many pieces as its server makes of it", async () => {
    const content = randomBytes(400_000);
    server.on("/cut", (request, response) => {
      const from = Number(/\d+/.exec(request.headers.range ?? "0")?.[0]);
      const range = `bytes ${from}-399999/400000`;
      response.writeHead(from === 0 ? 200 : 206, {
        "content-length": 400_000 - from,
        "content-range": range,
      });
      if (from === 300_000) response.end(content.subarray(from));
      else {
        response.write(content.subarray(from, from + 100_000));
        void written(from + 100_000).then(() => response.destroy());
      }
    });
    await fetchAll([artifact("/cut", content)]);
    expect(readFileSync(local("cut"))).toEqual(content);
    const ranges = ["", " bytes=100000-", " bytes=200000-", " bytes=300000-"];
    expect(server.requests).toEqual(ranges.map((range) => `/cut${range}`));
  });

  test("from its beginning, if what an earlier start has left is of another file", async () => {
    const content = randomBytes(1_000);
    const stop = new AbortController();
    server.on("/a", (_, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write(randomBytes(500));
      void written(500).then(() => stop.abort());
    });
    const interrupted = fetchAll([artifact("/a", content)], { signal: stop.signal });
    await expect(interrupted).rejects.toThrow("abort");
    server.requests.length = 0;
    server.on("/a", content);
    await fetchAll([artifact("/a", content)]);
    expect(server.requests).toEqual(["/a bytes=500-", "/a"]);
    expect(readFileSync(local("a"))).toEqual(content);
  });

  test("again after an answer that may be another one later", async () => {
    const content = Buffer.from("late");
    const answers = [503, 429, 500];
    server.on("/a", (_, response) => {
      const status = answers.shift();
      if (status === undefined) response.end(content);
      else response.writeHead(status).end();
    });
    await fetchAll([artifact("/a", content)]);
    expect(server.requests.length).toBe(4);
  });
});

describe("one that cannot be had is a start error (api.md#artifacts)", () => {
  const content = Buffer.from("content");
  const cases: [string, () => void, string, object?][] = [
    [
      "a wrong digest",
      () => server.on("/f", Buffer.from("other")),
      "is not what the run asks for: its sha256",
    ],
    ["not there", () => undefined, "could not be fetched: its server answers 404"],
    ["forbidden", () => server.on("/f", (_, r) => r.writeHead(403).end()), "its server answers 403"],
    [
      "never served",
      () => server.on("/f", (_, r) => r.writeHead(500).end()),
      "answers 500 (5 tries in a row)",
    ],
    ["never answered", () => server.on("/f", () => undefined), "its server is too slow", { bounds: QUICK }],
    ["cut off each time", () => server.on("/f", (_, r) => r.destroy()), "(5 tries in a row)"],
    [
      "redirected for ever",
      () => server.on("/f", (_, r) => r.writeHead(301, { location: "/f" }).end()),
      "redirected more than 10 times",
    ],
    [
      "redirected to what is no web",
      () => server.on("/f", (_, r) => r.writeHead(301, { location: "file:///etc/passwd" }).end()),
      "its redirect is not an http or https URL",
    ],
    [
      "endless",
      () =>
        server.on("/f", (_, r) => {
          const more = () => r.write(Buffer.alloc(65_536), () => r.destroyed || setImmediate(more));
          more();
        }),
      "it is larger than 1000000 bytes",
      { bounds: { ...PATIENT, bytes: 1_000_000 } },
    ],
    [
      "a byte now and then",
      () =>
        server.on("/f", (_, r) => {
          const timer = setInterval(() => r.write("x"), 20);
          r.on("close", () => clearInterval(timer));
        }),
      "its server is too slow: less than 65536 bytes in 0.2 s",
      { bounds: QUICK },
    ],
  ];
  test.each(cases)("%s", async (_, serve, words, more) => {
    serve();
    const fault = await faultOf([artifact("/f", content)], more);
    expect(fault).toMatchObject({ code: "artifact_failed", recoverable: true });
    expect(fault).toMatchObject({ text: expect.stringContaining(words) });
    expect(existsSync(local("f"))).toBe(false);
  });

  test("exactly as large as may be is not too large", async () => {
    server.on("/f", content);
    await fetchAll([artifact("/f", content)], { bounds: { ...PATIENT, bytes: content.length } });
    const less = { bounds: { ...PATIENT, bytes: content.length - 1 } };
    expect(await faultOf([artifact("/f", content, "b/")], less)).toMatchObject({ code: "artifact_failed" });
  });

  test("a server that is not there, and what may be secret in the URL is not told", async () => {
    const url = "http://me:word@127.0.0.1:1/f?token=hidden";
    const fault = await faultOf([{ url, sha256: "0".repeat(64), to: "." }]);
    expect(fault).toMatchObject({
      text: expect.stringContaining("http://127.0.0.1:1/f could not be fetched"),
    });
    expect(JSON.stringify(fault)).not.toMatch(/word|hidden/);
  });

  test.each([
    ["a folder that references have led out", { to: "a/../../x" }, "is not inside the task's directory"],
    ["a URL without a name at its end", { url: "/" }, "does not end with a file name"],
    ["a name with a NUL", { url: "/a%00b" }, "without a slash or NUL"],
    ["a name with a slash", { url: "/..%2Fb" }, "without a slash or NUL"],
    ["a name of 256 bytes", { url: `/${"é".repeat(128)}` }, "it must have 1 to 255 bytes"],
    [
      "a folder of 256 bytes",
      { to: `a/${"t".repeat(256)}/b` },
      "A name in the `to` of an artifact has more than 255 bytes",
    ],
  ])("%s", async (_, { to = ".", url = "/f" }: { to?: string; url?: string }, words) => {
    for (const path of ["/f", new URL(url, server.url).pathname]) server.on(path, content);
    expect(await faultOf([artifact(url, content, to)])).toMatchObject({
      code: "artifact_failed",
      text: expect.stringContaining(words),
    });
  });

  test("a link that the task has left is not followed", async () => {
    server.on("/f", content);
    mkdirSync(join(dir, "elsewhere"));
    symlinkSync(join(dir, "elsewhere"), local("data"));
    const fault = await faultOf([artifact("/f", content, "data/")]);
    expect(fault).toMatchObject({ text: expect.stringContaining('"data" is not a directory') });
    expect(readdirSync(join(dir, "elsewhere"))).toEqual([]);
  });
});

test("a stop ends a download at once, and what came is gone on with", async () => {
  const content = randomBytes(200_000);
  const stop = new AbortController();
  server.on("/a", (_, response) => {
    response.writeHead(200, { "content-length": 200_000 });
    response.write(content.subarray(0, 100_000));
    void written(100_000).then(() => stop.abort());
  });
  const stopped = fetchAll([artifact("/a", content)], { signal: stop.signal });
  await expect(stopped).rejects.toThrow("abort");
  server.on("/a", content);
  await fetchAll([artifact("/a", content)]);
  expect(server.requests).toEqual(["/a", "/a bytes=100000-"]);
  expect(readFileSync(local("a"))).toEqual(content);
});

describe("archives", () => {
  const fill = (folder: string) => {
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin", "tool"), "#!/bin/sh\n", { mode: 0o4755 });
    execFileSync("chmod", ["4755", join(folder, "bin", "tool")]);
    symlinkSync("bin/tool", join(folder, "t"));
    writeFileSync(join(folder, "large"), randomBytes(200_000));
  };

  test.each([
    ["/a.tar", []],
    ["/a.tar.gz", ["-z"]],
    ["/a.tgz", ["-z"]],
  ])("%s is unpacked, and nobody gets another's rights by it", async (path, flags) => {
    const archive = tarOf(fill, ...flags);
    server.on(path, archive);
    await fetchAll([artifact(path, archive, "tools/")]);
    expect(readdirSync(local("tools")).sort()).toEqual(["bin", "large", "t"]);
    const tool = statSync(local("tools", "t"));
    expect([tool.mode & 0o7777, tool.uid]).toEqual([0o755, process.getuid?.()]);
    expect(readdirSync(join(dir, "private")).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  const escaping: [string, (folder: string) => void, string[], string][] = [
    ["a file above", (f) => writeFileSync(join(f, "x"), ""), ["--transform=s,x,../escaped,"], "leads out"],
    [
      "an absolute file",
      (f) => writeFileSync(join(f, "x"), ""),
      ["-P", "--transform=s,./x,/escaped,"],
      "leads out",
    ],
    ["a link above", (f) => symlinkSync("..", join(f, "x")), [], "may lead out"],
    ["a link elsewhere", (f) => symlinkSync("/etc", join(f, "x")), [], "may lead out"],
    ["a pipe", (f) => void execFileSync("mkfifo", [join(f, "x")]), [], "neither a file"],
  ];
  test.each(escaping)(
    "one with %s leaves nothing behind, and no other try will help",
    async (_, make, flags, words) => {
      const archive = tarOf(
        (folder) => {
          writeFileSync(join(folder, "first"), "");
          make(folder);
        },
        ...flags,
      );
      server.on("/a.tar", archive);
      const fault = await faultOf([artifact("/a.tar", archive, "in/")]);
      expect(fault).toMatchObject({ code: "artifact_failed", text: expect.stringContaining(words) });
      expect(fault).not.toHaveProperty("recoverable");
      expect(existsSync(local("in"))).toBe(false);
      expect(existsSync(local("escaped")) || existsSync("/escaped")).toBe(false);
    },
  );

  test("a file that goes through a link of the same archive does not", async () => {
    const one = tarOf((folder) => {
      mkdirSync(join(folder, "real"));
      symlinkSync("real", join(folder, "x"));
    });
    const two = tarOf((folder) => {
      mkdirSync(join(folder, "x"));
      writeFileSync(join(folder, "x", "y"), "");
    });
    const file = join(dir, "two.tar");
    for (const [name, content] of [
      ["one.tar", one],
      ["two.tar", two],
    ] as const) {
      writeFileSync(join(dir, name), content);
    }
    execFileSync("tar", ["-Af", join(dir, "one.tar"), file]);
    const archive = readFileSync(join(dir, "one.tar"));
    server.on("/a.tar", archive);
    await faultOf([artifact("/a.tar", archive)]);
    expect(existsSync(local("real", "y"))).toBe(false);
  });

  test.each([
    ["cut", (archive: Buffer) => archive.subarray(0, archive.length - 100_000)],
    ["no archive", () => randomBytes(5_000)],
    ["empty", () => Buffer.alloc(0)],
  ])("one that is %s is said to be", async (_, spoil) => {
    const archive = spoil(tarOf(fill, "-z"));
    server.on("/a.tar.gz", archive);
    const fault = await faultOf([artifact("/a.tar.gz", archive)]);
    expect(fault).toMatchObject({
      code: "artifact_failed",
      text: expect.stringContaining("cannot be unpacked"),
    });
  });

  test("what it brings is bounded, however small it is", async () => {
    const file = join(dir, "bomb.tar.gz");
    writeFileSync(
      file,
      tarOf((folder) => writeFileSync(join(folder, "zeros"), Buffer.alloc(1_000_000)), "-z"),
    );
    const { signal } = new AbortController();
    await unpack(file, local(), signal, { bytes: 1_000_000, entries: 2 });
    expect(statSync(local("zeros")).size).toBe(1_000_000);
    await expect(unpack(file, local(), signal, { bytes: 999_999, entries: 2 })).rejects.toThrow(
      "more than 999999",
    );
    await expect(unpack(file, local(), signal, { bytes: 1_000_000, entries: 1 })).rejects.toThrow(
      "more than 1 ent",
    );
  });
});
