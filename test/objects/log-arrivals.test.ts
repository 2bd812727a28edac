import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { MAX_INLINE_LOG_BYTES } from "../../src/core/allocation/output/logs.ts";
import { MAX_ARRIVAL_ROWS, MAX_ARRIVALS } from "../../src/objects/reads/log-arrivals.ts";
import type { Arrivals, ArrivalsRequest } from "../../src/objects/rpc.ts";
import type { LogPiece, StreamName } from "../../src/schema/host.ts";
import { STREAMS } from "../../src/shared/attempt-id.ts";
import { contentDigest } from "../../src/signing/mac.ts";
import { refusal, type TestHost } from "./support/host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// In which order both streams arrived, as a run's object stores it and says it (api.md#arrivals).

const world = freshWorld();
const ATTEMPT = "first/main/1.1";

/** A host whose run has started a minute ago. */
async function runningRun(): Promise<{ worker: string; host: TestHost }> {
  await makePool();
  await submit("first");
  const booted = await bootMachine(world.cloud);
  await eventually(async () => ((await booted.host.report()).attempts.length > 0 ? true : undefined));
  return booted;
}

const STARTED_MS = 5;
const piece = (from: number, data: string, stamps?: number[]): LogPiece => {
  return { from, size: from + data.length, data: btoa(data), ...(stamps && { stamps }) };
};
const says = (host: TestHost, log: Partial<Record<StreamName, LogPiece>>) =>
  host.report({ attempts: [{ id: ATTEMPT, state: "running", startedAgoMs: STARTED_MS, log }] });

const ask = (more: Partial<ArrivalsRequest> = {}): Promise<Arrivals> =>
  objects
    .allocation("first")
    .arrivals({ task: "main", streams: STREAMS, from: { stdout: 0, stderr: 0 }, waitMs: 0, ...more });

/** The order alone, such as `out 0-2`; `?` stands behind bytes without a time. */
const order = ({ items }: Arrivals) =>
  items.map(({ stream, from, to, at }) => `${stream.slice(3)} ${from}-${to}${at === null ? "?" : ""}`);

async function putChunk(worker: string, from: number, length: number, stamps?: number[]): Promise<number> {
  const bytes = new Uint8Array(length);
  const at = { worker, attempt: ATTEMPT, stream: "stdout" as const, from, length, stamps };
  return objects.logs().put({ ...at, digest: contentDigest(bytes), body: new Blob([bytes]).stream() });
}

test("tails, rows and chunks keep their stamps, also when the object is loaded again", async () => {
  const { worker, host } = await runningRun();
  await says(host, { stdout: piece(0, "ab", [1, 1, 1, 2]), stderr: piece(0, "e", [1, 2]) });
  expect(await putChunk(worker, 2, 1_000, [400, 3, 600, 1])).toBe(1_002);
  const long = "x".repeat(MAX_INLINE_LOG_BYTES + 1);
  await says(host, { stdout: piece(1_002, long, [long.length, 4]), stderr: piece(1, "f", [1, 4]) });
  await evictDurableObject(bindings.ALLOCATION.getByName("first"));
  const all = await ask();
  const end = 1_002 + long.length;
  expect(order(all)).toEqual([
    "out 0-1",
    "err 0-1",
    "out 1-2",
    "out 2-402",
    "out 402-1002",
    `out 1002-${end}`,
    "err 1-2",
  ]);
  expect(all).toMatchObject({ attempt: "1.1", ended: false, stored: { stdout: end, stderr: 2 } });
  expect(all.next).toEqual(all.stored);
  expect(order(await ask({ from: { stdout: 500, stderr: 1 } }))).toEqual([
    "out 500-1002",
    `out 1002-${end}`,
    "err 1-2",
  ]);
  expect(order(await ask({ streams: ["stderr"] }))).toEqual(["err 0-1", "err 1-2"]);
});

test("rows of an older version, and bytes of an older agent, have no times (compat.md#stored)", async () => {
  const { worker, host } = await runningRun();
  await says(host, { stdout: piece(0, "ab"), stderr: piece(0, "e") });
  await putChunk(worker, 2, 10);
  const rows = await runInDurableObject(bindings.ALLOCATION.getByName("first"), (_object, { storage }) =>
    [...storage.kv.list({ prefix: "log/" })].map(([, value]) => value),
  );
  expect(rows).toEqual([new Uint8Array([97, 98]), { length: 10, lines: 0 }]);
  expect(order(await ask())).toEqual(["out 0-2?", "out 2-12?", "err 0-1?"]);
  expect(order(await ask({ since: Date.now() + 60_000 }))).toEqual(["out 0-2?", "out 2-12?", "err 0-1?"]);
});

test("stamps that do not fit their bytes are not believed (host-protocol.md#stamps)", async () => {
  const { host } = await runningRun();
  await says(host, { stdout: piece(0, "ab", [3, 1]), stderr: piece(0, "e", [1, 2 ** 40]) });
  const { items } = await ask();
  expect(items.map(({ stream, at }) => [stream, at === null])).toEqual([
    ["stdout", true],
    ["stderr", false],
  ]);
  expect(items[1]?.at).toBeLessThanOrEqual(Date.now() + 60_000);
});

describe("a reader", () => {
  test("waits for more, and is answered when it comes", async () => {
    const { host } = await runningRun();
    await says(host, { stdout: piece(0, "ab", [2, 1]) });
    const waiting = ask({ from: { stdout: 2, stderr: 0 }, waitMs: 20_000 });
    await says(host, { stderr: piece(0, "e", [1, 2]) });
    expect(order(await waiting)).toEqual(["err 0-1"]);
  });

  test("gets what has come since then", async () => {
    const { host } = await runningRun();
    await says(host, { stdout: piece(0, "ab", [1, 1, 1, 2]), stderr: piece(0, "e", [1, 4]) });
    const { items } = await ask();
    const since = items[1]?.at ?? 0;
    const later = await ask({ since });
    expect(order(later)).toEqual(["out 1-2", "err 0-1"]);
    expect(order(await ask({ since: since + 60_000 }))).toEqual([]);
  });

  test("gets pages that follow each other", async () => {
    const { host } = await runningRun();
    const count = MAX_ARRIVALS + 200;
    const half = (bytes: number) =>
      Array.from({ length: bytes }, (_, index) => [1, index === 0 ? 1 : 0]).flat();
    for (let from = 0; from < count; from += 400) {
      await says(host, { stdout: piece(from, "y".repeat(400), half(400)) });
    }
    const first = await ask();
    const second = await ask({ from: first.next });
    expect([first.items.length, second.items.length]).toEqual([MAX_ARRIVALS, 200]);
    expect(first.items.at(-1)?.to).toBe(second.items.at(0)?.from);
    expect(second.next).toEqual(second.stored);
  });

  test("gets what a bounded number of rows says, and then the rest (api.md#arrivals)", async () => {
    const { worker, host } = await runningRun();
    await says(host, {});
    const streams = ["stdout"] as const;
    const count = MAX_ARRIVAL_ROWS + 10;
    for (let row = 0; row < count; row += 1) await putChunk(worker, row * 10, 10);
    const first = await ask({ streams });
    expect(first.items).toHaveLength(MAX_ARRIVAL_ROWS);
    const second = await ask({ streams, from: first.next });
    expect(second.items.at(0)?.from).toBe(first.items.at(-1)?.to);
    expect([second.items.length, second.next.stdout]).toEqual([10, count * 10]);
    const late = await ask({ streams, since: Date.now() + 60_000 });
    expect(late.items).toHaveLength(MAX_ARRIVAL_ROWS);
  });

  test("of a task that has not begun gets nothing, and of one that is none an error", async () => {
    await makePool();
    await submit("first");
    expect(await ask()).toMatchObject({ attempt: null, ended: false, items: [] });
    expect(await refusal(ask({ task: "other" }))).toMatchObject({ code: "unknown_task" });
    expect(await refusal(ask({ attempt: "7.1" }))).toMatchObject({ code: "unknown_attempt" });
  });
});
