import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, createClient } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { ControlPlane, problem, type Seen, TOKEN } from "./support/control-plane.ts";

let plane: ControlPlane;
let client: Client;
let dir: string;
beforeEach(async () => {
  plane = await new ControlPlane().start();
  client = createClient({ url: plane.url, token: TOKEN });
  dir = mkdtempSync(join(tmpdir(), "drover-snapshots-"));
});
afterEach(async () => {
  rmSync(dir, { recursive: true });
  await plane.stop();
});

const SNAPSHOT = /^\/v1\/snapshots\//;
const CONTENT = randomBytes(1_000_000);
const sha256 = createHash("sha256").update(CONTENT).digest("hex");
const ID = `sha256:${sha256}`;
const NAME = { sha256, bytes: CONTENT.length };
const methods = () => plane.seen.map(({ method }) => method);

function fileOf(content: Uint8Array): string {
  const path = join(dir, "archive.tar.gz");
  writeFileSync(path, content);
  return path;
}

test("an archive is sent with its length, and only if it is not there", async () => {
  const sent: number[] = [];
  const onProgress = (bytes: number) => sent.push(bytes);
  const first = await client.snapshots.upload(fileOf(CONTENT), NAME, { onProgress });
  expect(first).toEqual({ id: ID, bytes: CONTENT.length, found: false });
  expect(plane.snapshots.get(sha256)?.equals(CONTENT)).toBe(true);
  expect(plane.seen.at(-1)?.headers["content-length"]).toBe(String(CONTENT.length));
  expect(sent.at(-1)).toBe(CONTENT.length);
  const second = await client.snapshots.upload(fileOf(CONTENT), NAME);
  expect(second).toEqual({ ...first, found: true });
  expect(methods()).toEqual(["HEAD", "PUT", "HEAD"]);
});

test("whether a snapshot is stored can be asked, and a failure is no answer", async () => {
  expect(await client.snapshots.isStored(ID)).toBe(false);
  await client.snapshots.upload(fileOf(CONTENT), NAME);
  expect(await client.snapshots.isStored(ID)).toBe(true);
  plane.on("HEAD", SNAPSHOT, (_seen, res) => problem(res, 403, "forbidden"), 1);
  plane.on("GET", SNAPSHOT, (_seen, res) => problem(res, 403, "forbidden"), 1);
  await expect(client.snapshots.isStored(ID)).rejects.toMatchObject({ code: "forbidden" });
});

test("a stream can be sent, too, and whatever is sent is sent anew from its start", async () => {
  plane.on("PUT", SNAPSHOT, (_seen, res) => problem(res, 503, "unavailable"), 1);
  plane.on("PUT", SNAPSHOT, (_seen, res) => res.destroy(), 1);
  let opened = 0;
  const archive = async function* () {
    opened += 1;
    for (let at = 0; at < CONTENT.length; at += 100_000) yield CONTENT.subarray(at, at + 100_000);
  };
  await client.snapshots.upload(archive, NAME);
  expect(opened).toBe(3);
  expect(plane.snapshots.get(sha256)?.equals(CONTENT)).toBe(true);
});

test("a refusal says why, before anything is sent", async () => {
  plane.on("HEAD", SNAPSHOT, (_seen, res) => res.writeHead(501).end());
  plane.on("GET", SNAPSHOT, (_seen, res) => problem(res, 501, "no_bucket"));
  await expect(client.snapshots.upload(fileOf(CONTENT), NAME)).rejects.toMatchObject({ code: "no_bucket" });
  expect(methods()).toEqual(["HEAD", "GET"]);
});

test("a file that cannot be read, or has become another, is an error", async () => {
  const patience = { unreachableMs: 0, busyMs: 0 };
  await expect(client.snapshots.upload(join(dir, "nothing"), NAME, { patience })).rejects.toThrow();
  const shorter = client.snapshots.upload(fileOf(CONTENT.subarray(1)), NAME, { patience });
  await expect(shorter).rejects.toThrow();
  expect(plane.snapshots.size).toBe(0);
});

test("a download comes whole, over as many connections as it takes", async () => {
  plane.snapshots.set(sha256, CONTENT);
  let breaks = 0;
  plane.on(
    "GET",
    SNAPSHOT,
    ({ headers }, res) => {
      breaks += 1;
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
      const range = { "content-range": `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` };
      res.writeHead(from === 0 ? 200 : 206, from === 0 ? {} : range);
      res.write(CONTENT.subarray(from, from + 250_001), () => res.destroy());
    },
    4,
  );
  expect((await buffer(client.snapshots.download(ID))).equals(CONTENT)).toBe(true);
  expect(breaks).toBe(4);
});

test("a connection that breaks long after its last byte is a first failure", async () => {
  // Patience for one pause between two tries, and shorter than the consumer takes.
  const patience = { unreachableMs: 250, busyMs: 0 };
  plane.snapshots.set(sha256, CONTENT);
  let connection: ServerResponse | undefined;
  const half = (_seen: Seen, res: ServerResponse) => {
    connection = res.writeHead(200);
    res.write(CONTENT.subarray(0, 1_000));
  };
  plane.on("GET", SNAPSHOT, half, 1);
  const got: Uint8Array[] = [];
  for await (const piece of client.snapshots.download(ID, { patience })) {
    got.push(piece);
    if (got.length > 1) continue;
    await sleep(2 * patience.unreachableMs);
    connection?.destroy();
  }
  expect(Buffer.concat(got).equals(CONTENT)).toBe(true);
  expect(plane.seen.map(({ headers }) => headers.range)).toEqual([undefined, "bytes=1000-"]);
});

test("a download that goes on failing is given up when the patience is over", async () => {
  plane.on("GET", SNAPSHOT, (_seen, res) => res.destroy());
  const first = CONTENT.subarray(0, 1_000);
  plane.on("GET", SNAPSHOT, (_seen, res) => res.writeHead(200).write(first, () => res.destroy()), 1);
  const patience = { unreachableMs: 250, busyMs: 0 };
  await expect(buffer(client.snapshots.download(ID, { patience }))).rejects.toThrow(UnreachableError);
});

test.each([
  ["that ignores Range is read past what is there", (bytes: Buffer) => [200, bytes] as const],
  ["that has nothing more to give ends it", () => [416, Buffer.alloc(0)] as const],
])("a server %s", async (_what, second) => {
  const first = CONTENT.subarray(0, second(CONTENT)[0] === 416 ? CONTENT.length : 1_000);
  plane.on("GET", SNAPSHOT, (_seen, res) => {
    const [status, bytes] = second(CONTENT);
    res.writeHead(status).end(bytes);
  });
  plane.on("GET", SNAPSHOT, (_seen, res) => res.writeHead(200).write(first, () => res.destroy()), 1);
  expect((await buffer(client.snapshots.download(ID))).equals(CONTENT)).toBe(true);
});

test.each([
  ["behind the wanted byte", { "content-range": `bytes 2000-${CONTENT.length - 1}/${CONTENT.length}` }],
  ["without saying from where", {}],
])("a part of a download that comes %s is an error at once", async (_what, headers) => {
  plane.on("GET", SNAPSHOT, (_seen, res) => res.writeHead(206, headers).end(CONTENT.subarray(2_000)));
  const begins = (_seen: Seen, res: ServerResponse) =>
    res.writeHead(200).write(CONTENT.subarray(0, 1_000), () => res.destroy());
  plane.on("GET", SNAPSHOT, begins, 1);
  const got: Uint8Array[] = [];
  const reading = (async () => {
    for await (const piece of client.snapshots.download(ID)) got.push(piece);
  })();
  await expect(reading).rejects.toMatchObject({
    code: "unexpected_answer",
    detail: expect.stringContaining("requested from byte 1000, but"),
  });
  expect(Buffer.concat(got).equals(CONTENT.subarray(0, 1_000))).toBe(true);
  expect(methods()).toEqual(["GET", "GET"]);
});

test("a part of a download that begins before the wanted byte is read past what is there", async () => {
  const whole = `bytes 0-${CONTENT.length - 1}/${CONTENT.length}`;
  plane.on("GET", SNAPSHOT, (_seen, res) => res.writeHead(206, { "content-range": whole }).end(CONTENT));
  const first = CONTENT.subarray(0, 1_000);
  plane.on("GET", SNAPSHOT, (_seen, res) => res.writeHead(200).write(first, () => res.destroy()), 1);
  expect((await buffer(client.snapshots.download(ID))).equals(CONTENT)).toBe(true);
});

test("other bytes than those of the name are an error at the end", async () => {
  plane.snapshots.set(sha256, Buffer.from("something else"));
  await expect(buffer(client.snapshots.download(ID))).rejects.toMatchObject({
    name: ApiError.name,
    code: "unexpected_answer",
    detail: expect.stringContaining("wrong bytes"),
  });
});

test("an unknown snapshot is an error at once", async () => {
  await expect(buffer(client.snapshots.download(ID))).rejects.toMatchObject({ code: "unknown_snapshot" });
  expect(methods()).toEqual(["GET"]);
});
