import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import type { LogRequest, SignedChunk } from "../../src/objects/rpc.ts";
import { contentDigest } from "../../src/signing/mac.ts";
import { refusal, type TestHost } from "./support/host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const ATTEMPT = "first/main/1.1";
/** Every byte that there is, again and again. */
const bytesOf = (from: number, length: number) => Uint8Array.from({ length }, (_, i) => (from + i) % 256);

interface Sent extends Partial<Omit<SignedChunk, "digest" | "body">> {
  bytes?: Uint8Array<ArrayBuffer>;
  body?: Uint8Array<ArrayBuffer>;
}

/** A host of which one run is known to run. */
async function runningRun(
  more: Parameters<typeof submit>[1] = {},
): Promise<{ worker: string; host: TestHost }> {
  await makePool();
  await submit("first", more);
  const booted = await bootMachine(world.cloud);
  await eventually(async () => ((await booted.host.report()).attempts.length > 0 ? true : undefined));
  await report(booted.host, {});
  return booted;
}

/** Says that it runs, with what is given of its stdout. */
function report(host: TestHost, stdout: { from?: number; size?: number; data?: string }) {
  const log = { stdout: { from: 0, size: 0, ...stdout } };
  return host.report({ attempts: [{ id: ATTEMPT, state: "running", startedAgoMs: 1, log }] });
}

/** Sends a chunk as the edge does. */
async function put(worker: string, from: number, length: number, more: Sent = {}): Promise<number> {
  const { bytes = bytesOf(from, length), body = bytes, ...rest } = more;
  const stream = new Blob([body]).stream();
  const chunk = { worker, attempt: ATTEMPT, stream: "stdout" as const, from, length, ...rest };
  return objects.logs().put({ ...chunk, digest: contentDigest(bytes), body: stream });
}

const request = (from: number, more: Partial<LogRequest> = {}): LogRequest => {
  return { task: "main", stream: "stdout", from, maxBytes: 1_000_000, waitMs: 0, ...more };
};

/** The log from an offset on, as the edge puts it together. */
async function read(from = 0): Promise<Uint8Array> {
  const parts: ArrayBuffer[] = [];
  for (let at = from; ; ) {
    const { data, object, size } = await objects.allocation("first").log(request(at));
    const part = object === undefined ? data : await objects.logs().get(object);
    const bytes = await new Response(part).arrayBuffer();
    parts.push(bytes);
    at += bytes.byteLength;
    if (at >= size || bytes.byteLength === 0) return new Uint8Array(await new Blob(parts).arrayBuffer());
  }
}

const keys = async () => (await bindings.LOGS?.list())?.objects.map(({ key }) => key) ?? [];

test("a chunk before any report is stored by a run that was just loaded (rules.md#invariant-7)", async () => {
  await makePool();
  await submit("first");
  const { worker, host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  // Its first placement is stored with the pool alone, which a run that was just loaded has not heard yet.
  await evictDurableObject(bindings.ALLOCATION.getByName("first"));
  expect(await put(worker, 0, 5_000)).toBe(5_000);
  await report(host, { from: 5_000, size: 5_000 });
  expect(Buffer.compare(await read(), bytesOf(0, 5_000))).toBe(0);
});

describe("a chunk is in the bucket before it is acknowledged (R1)", () => {
  test("rows, objects and the tail are one stream, from wherever it is read", async () => {
    const { worker, host } = await runningRun();
    const text = (from: number, length: number) => btoa(String.fromCharCode(...bytesOf(from, length)));
    await report(host, { from: 0, size: 100, data: text(0, 100) });
    expect(await put(worker, 100, 5_000)).toBe(5_100);
    expect(await put(worker, 5_100, 3_000)).toBe(8_100);
    await report(host, { from: 8_100, size: 8_300, data: text(8_100, 200) });
    expect(await put(worker, 8_300, 1_000)).toBe(9_300);
    const all = bytesOf(0, 9_300);
    for (const from of [0, 1, 99, 100, 101, 5_099, 5_100, 8_099, 8_100, 8_299, 8_300, 9_299]) {
      expect(Buffer.compare(await read(from), all.subarray(from)), `from ${from}`).toBe(0);
    }
    expect(await keys()).toEqual([
      `logs/${ATTEMPT}/stdout/000000000100-5000`,
      `logs/${ATTEMPT}/stdout/000000005100-3000`,
      `logs/${ATTEMPT}/stdout/000000008300-1000`,
    ]);
  });

  test("a part of an object is asked for as that part", async () => {
    const { worker } = await runningRun();
    await put(worker, 0, 5_000);
    const { object, data } = await objects.allocation("first").log(request(1_200));
    expect(object).toEqual({ key: `logs/${ATTEMPT}/stdout/000000000000-5000`, offset: 1_200, length: 3_800 });
    expect(data.length).toBe(0);
  });

  test("the orders tell the host how far it is stored", async () => {
    const { worker, host } = await runningRun();
    await put(worker, 0, 5_000);
    const { logs } = await report(host, { from: 5_000, size: 5_000 });
    expect(logs[ATTEMPT]).toMatchObject({ stdout: 5_000 });
  });

  test("who follows is woken by it", async () => {
    const { worker } = await runningRun();
    const following = objects.allocation("first").log(request(0, { waitMs: 30_000 }));
    await put(worker, 0, 5_000);
    expect((await following).object?.length).toBe(5_000);
  });

  test("it costs two rows: itself, and the allocation's record", async () => {
    const { worker } = await runningRun();
    await put(worker, 0, 5_000);
    const before = { ...meter };
    await put(worker, 5_000, 5_000);
    expect(meter.rowsWritten - before.rowsWritten).toBe(2);
    expect(meter.requests - before.requests).toBe(2);
  });
});

describe("the numbers of lines (api.md#lines)", () => {
  const line = (wanted: { offset: number } | { line: number }) =>
    objects.allocation("first").line({ task: "main", stream: "stdout", ...wanted });

  test("are those of its host, and cost no row", async () => {
    const { worker, host } = await runningRun();
    await report(host, { from: 0, size: 4, data: btoa("a\nb\n") });
    const before = { ...meter };
    await put(worker, 4, 5_000, { lines: 40 });
    await put(worker, 5_004, 3_000, { lines: 7 });
    expect(meter.rowsWritten - before.rowsWritten).toBe(5);
    const first = { attempt: "1.1", stored: 8_004, from: 0, to: 4, line: 1 };
    const second = { ...first, from: 4, to: 5_004, line: 3 };
    const third = { ...first, from: 5_004, to: 8_004, line: 43 };
    expect(await line({ offset: 3 })).toEqual(first);
    expect(await line({ offset: 4 })).toEqual(second);
    expect(await line({ offset: 8_003 })).toEqual(third);
    expect(await line({ line: 2 })).toEqual(first);
    expect(await line({ line: 43 })).toEqual(second);
    expect(await line({ line: 44 })).toEqual(third);
  });

  test("are not known behind a chunk of an agent that does not count", async () => {
    const { worker } = await runningRun();
    await put(worker, 0, 5_000);
    await put(worker, 5_000, 3_000, { lines: 7 });
    expect(await line({ offset: 0 })).toMatchObject({ from: 0, line: 1 });
    expect(await line({ offset: 5_000 })).toMatchObject({ from: 5_000, line: null });
  });
});

describe("what does not continue the stream", () => {
  test.each([
    ["the same chunk again", 0, 1_000, 1_000],
    ["one behind a gap", 1_001, 500, 1_000],
    ["one that overlaps, cut otherwise", 500, 1_000, 1_000],
    ["an empty one", 1_000, 0, 1_000],
  ])("%s is answered with what is stored, and written nowhere", async (_what, from, length, stored) => {
    const { worker } = await runningRun();
    await put(worker, 0, 1_000);
    const before = await keys();
    expect(await put(worker, from, length)).toBe(stored);
    expect(await keys()).toEqual(before);
    expect(Buffer.compare(await read(), bytesOf(0, 1_000))).toBe(0);
  });

  test("two at the same time are one", async () => {
    const { worker } = await runningRun();
    expect(await Promise.all([put(worker, 0, 4_000), put(worker, 0, 4_000)])).toEqual([4_000, 4_000]);
    expect(Buffer.compare(await read(), bytesOf(0, 4_000))).toBe(0);
  });
});

describe("a chunk is refused", () => {
  test.each([
    ["of which a byte was changed", "bad_signature", { body: bytesOf(1, 1_000) }],
    ["shorter than it says", "invalid_request", { length: 1_001 }],
    ["of a run that is not there", "unknown_attempt", { attempt: "other/main/1.1" }],
    ["of an epoch that is not there", "unknown_attempt", { attempt: "first/main/2.1" }],
  ])("%s", async (_what, code, more) => {
    const { worker } = await runningRun();
    expect((await refusal(put(worker, 0, 1_000, more))).code).toBe(code);
    expect(await keys()).toEqual([]);
  });

  test("of a worker that the run was not placed on", async () => {
    await runningRun();
    // Another host, with a good signature of its own.
    await submit("second", { resources: { vcpus: 4 } });
    const { worker } = await bootMachine(world.cloud);
    expect((await refusal(put(worker, 0, 1_000))).code).toBe("forbidden");
  });
});

test("without a name it is the latest attempt that is read, or the oldest if that is asked for", async () => {
  const { host } = await runningRun({
    restart: { attempts: 1, interval: "1h", delay: "50ms", mode: "fail" },
  });
  const exit = { code: 1, signal: null, oomKilled: false, message: "" };
  const log = { stdout: { from: 0, size: 0 }, stderr: { from: 0, size: 0 } };
  await host.report({
    attempts: [{ id: ATTEMPT, state: "exited", startedAgoMs: 5, endedAgoMs: 1, exit, log }],
  });
  const attempt = async (more: Partial<LogRequest>) =>
    (await objects.allocation("first").log(request(0, more))).attempt;
  await eventually(async () => {
    await host.report();
    return (await attempt({})) === "1.2" ? true : undefined;
  });
  expect(await attempt({ oldest: true })).toBe("1.1");
});
