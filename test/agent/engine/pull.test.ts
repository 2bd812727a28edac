import { afterEach, describe, expect, test } from "vitest";
import type { EngineError } from "../../../agent/engine/errors.ts";
import { JsonLines } from "../../../agent/engine/json-lines.ts";
import type { PullOptions } from "../../../agent/engine/pull.ts";
import {
  foldPull,
  mayUnpack,
  type PullProgress,
  progressOf,
  progressText,
  UNPULLED,
} from "../../../agent/engine/pull-progress.ts";
import { until } from "../../local/support/scratch.ts";
import { type FakeEngine, openFakeEngine, type PullPlay } from "../support/fake-engine.ts";

const downloading = (id: string, current: number, total: number) => ({
  id,
  status: "Downloading",
  progressDetail: { current, total },
});
const DOCKER = [
  { status: "Pulling from library/alpine", id: "3" },
  { status: "Pulling fs layer", progressDetail: {}, id: "aa" },
  { status: "Pulling fs layer", progressDetail: {}, id: "bb" },
  { status: "Waiting", progressDetail: {}, id: "bb" },
  downloading("aa", 100, 1_000_000),
  downloading("aa", 900_000, 1_000_000),
  { status: "Verifying Checksum", progressDetail: {}, id: "aa" },
  { status: "Download complete", progressDetail: {}, id: "aa" },
  { status: "Already exists", progressDetail: {}, id: "bb" },
  { status: "Extracting", progressDetail: { current: 32_768, total: 1_000_000 }, id: "aa" },
  { status: "Extracting", progressDetail: { current: 65_536, total: 1_000_000 }, id: "aa" },
  { status: "Pull complete", progressDetail: {}, id: "aa" },
  { status: "Digest: sha256:abc" },
  { status: "Status: Downloaded newer image for alpine:3" },
];

/** The progress after each line. */
function folded(lines: readonly unknown[]): PullProgress[] {
  let state = UNPULLED;
  return lines.map((line) => {
    state = foldPull(state, line);
    return progressOf(state);
  });
}

describe("engine.md#pull-progress: how far a pull is", () => {
  test("Docker's lines, in words", () => {
    expect(folded(DOCKER).map(progressText)).toEqual([
      "no layer yet",
      "0 of 1 layer",
      "0 of 2 layers",
      "0 of 2 layers",
      "0 of 2 layers, 0.0 of 1.0 MB",
      "0 of 2 layers, 0.9 of 1.0 MB",
      "1 of 2 layers, 1.0 of 1.0 MB",
      "1 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
      "2 of 2 layers, 1.0 of 1.0 MB",
    ]);
  });

  test.each<[string, unknown[], boolean]>([
    ["more bytes", [downloading("aa", 1, 9), downloading("aa", 2, 9)], true],
    ["the same bytes", [downloading("aa", 2, 9), downloading("aa", 2, 9)], false],
    ["fewer bytes, after a new try", [downloading("aa", 5, 9), downloading("aa", 2, 9)], false],
    ["more that is unpacked", DOCKER.slice(9, 11), true],
    [
      "a wait",
      [
        { id: "aa", status: "Pulling fs layer" },
        { id: "aa", status: "Waiting" },
      ],
      false,
    ],
    ["a try", [1, 2].map((left) => ({ id: "aa", status: `Retrying in ${left} seconds` })), false],
    ["another word", [{ status: "a" }, { status: "b" }], true],
    ["what is no progress", [{ status: "a" }, 7], false],
  ])("%s after that: a movement or not", (_, lines, moved) => {
    const [before, after] = folded(lines).map(({ movements }) => movements);
    expect((after ?? 0) > (before ?? 0)).toBe(moved);
  });

  test.each([
    [{ errorDetail: { code: 1, message: "no" }, error: "no" }, "no"],
    [{ error: "only this" }, "only this"],
    [{ status: "fine" }, undefined],
  ])("%j is the error %s", (line, error) => {
    expect(foldPull(UNPULLED, line).error).toBe(error);
  });

  test("podman says nothing while it unpacks", () => {
    const named = foldPull(UNPULLED, { id: "aa", status: "Pulling fs layer" });
    const came = foldPull(named, { id: "aa", status: "Download complete" });
    expect([UNPULLED, named, came].map(mayUnpack)).toEqual([false, false, true]);
  });
});

describe("lines of JSON", () => {
  test("that are split anywhere, also within a character", () => {
    const bytes = Buffer.from('{"a":"é€"}\r\n\n{"b":2}');
    for (let at = 0; at <= bytes.length; at += 1) {
      const lines = new JsonLines();
      const values = [
        ...lines.push(bytes.subarray(0, at)),
        ...lines.push(bytes.subarray(at)),
        ...lines.end(),
      ];
      expect(values).toEqual([{ a: "é€" }, { b: 2 }]);
    }
  });

  test.each([["<html>\n"], [`"${"x".repeat(1_100_000)}`]])("%.20j are none", (text) => {
    expect(() => new JsonLines().push(Buffer.from(text))).toThrow(
      expect.objectContaining({ kind: "not_engine" }),
    );
  });
});

describe("engine.md#pull: a pull", () => {
  let fake: FakeEngine;
  afterEach(() => fake?.close());

  /** Pulls an image whose pull is played so. Resolves with the error. */
  async function pulled(play: PullPlay, options: PullOptions = {}, name = "alpine:3") {
    fake = await openFakeEngine();
    fake.pulls.set(name, [play]);
    // It rejects with nothing else.
    return fake.engine.pullImage(name, options).then(
      () => undefined,
      (error) => error as EngineError,
    );
  }

  test("is asked for by name and tag, with credentials and platform, and shows how far it is", async () => {
    const seen: PullProgress[] = [];
    const auth = { username: "me", password: "p" };
    const onProgress = (progress: PullProgress) => seen.push(progress);
    expect(await pulled({ lines: DOCKER }, { auth, platform: "linux/amd64", onProgress })).toBeUndefined();
    expect(fake.requests.at(-1)).toMatchObject({
      method: "POST",
      path: "/images/create",
      query: { fromImage: "alpine", tag: "3", platform: "linux/amd64" },
      headers: { "x-registry-auth": expect.stringMatching(/^eyJ/) },
    });
    expect(seen.at(-1)).toMatchObject({ layers: 2, layersDone: 2, bytesDone: 1_000_000 });
    expect(await fake.engine.inspectImage("alpine:3")).toMatchObject({ os: "linux" });
  });

  test("without tag and without credentials asks for latest, and sends none", async () => {
    await pulled({}, {}, "alpine");
    expect(fake.requests.at(-1)?.query).toEqual({ fromImage: "alpine", tag: "latest" });
    expect(fake.requests.at(-1)?.headers).not.toHaveProperty("x-registry-auth");
  });

  test.each<[string, PullPlay, object]>([
    [
      "fails after a good beginning",
      {
        lines: [
          ...DOCKER.slice(0, 5),
          { errorDetail: { message: "unexpected EOF" }, error: "unexpected EOF" },
        ],
      },
      { kind: "image", fault: "temporary", said: "unexpected EOF" },
    ],
    [
      "fails in its first line",
      { lines: [{ error: "toomanyrequests: slow down" }] },
      { kind: "image", fault: "rate_limit" },
    ],
    [
      "is refused",
      { status: 404, message: "manifest unknown" },
      { kind: "image", fault: "missing", status: 404 },
    ],
    [
      "is refused without a word",
      { status: 403, message: "" },
      { kind: "image", fault: "denied", status: 403 },
    ],
    ["is cut", { lines: DOCKER.slice(0, 5), ending: "cut" }, { kind: "cut" }],
    ["is answered in HTML", { lines: ["<html>Sign in\n"] }, { kind: "not_engine" }],
    ["has half a line at its end", { lines: ['{"status":'] }, { kind: "not_engine" }],
  ])("that %s", async (_, play, error) => {
    expect(await pulled(play)).toMatchObject(error);
  });

  test("that stands still is ended, with how far it was and what was said last", async () => {
    const error = await pulled({ lines: DOCKER.slice(0, 6), ending: "stall" }, { stallMs: 1_500 });
    expect(error).toMatchObject({ kind: "timeout" });
    expect(error?.message).toContain("(0 of 2 layers, 0.9 of 1.0 MB)");
    expect(error?.message).toContain('"aa: Downloading"');
    fake.pulls.set("quiet:1", [{ ending: "stall" }]);
    const quiet = fake.engine.pullImage("quiet:1", { stallMs: 50 });
    await expect(quiet).rejects.toThrow("(no layer yet). The engine has said nothing.");
  });

  test("that has all its layers may stand still for longer", async () => {
    const error = await pulled({ lines: DOCKER.slice(0, 9), ending: "stall" }, { stallMs: 300 });
    expect(error?.message).toContain("for 1.5 s nothing has moved (2 of 2 layers");
  });

  test("that moves is not ended, however long it takes", async () => {
    fake = await openFakeEngine();
    let sent = 0;
    fake.override = ({ path }, response) => {
      if (path !== "/images/create") return false;
      response.writeHead(200);
      const more = setInterval(() => {
        sent += 1;
        response.write(`${JSON.stringify(downloading("aa", sent, 14))}\n`);
        if (sent === 14) response.end();
        if (sent === 14) clearInterval(more);
      }, 250);
      return true;
    };
    await fake.engine.pullImage("alpine:3", { stallMs: 3_000 });
    expect(sent).toBe(14);
  });

  test("ends when it is told to", async () => {
    const stop = new AbortController();
    const pull = pulled({ lines: DOCKER.slice(0, 5), ending: "stall" }, { signal: stop.signal });
    await until("it has been asked for", () => fake?.requests.some(({ path }) => path === "/images/create"));
    stop.abort();
    expect(await pull).toMatchObject({ kind: "aborted" });
  });
});
