import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatSize, parseSize } from "../../src/shared/size.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import { watchPeaks } from "./support/peaks.ts";

// An archive through the Worker into the bucket and back. DROVER_SNAPSHOT_SIZE takes another size.

const BYTES = parseSize(process.env.DROVER_SNAPSHOT_SIZE ?? "256MiB") ?? 0;
/** What the Worker may have resident beyond what it has at rest, however large the archive is. */
const MAX_MORE_BYTES = 100_000_000;
const PART_BYTES = 1024 * 1024;

let home: string;
let up: RunningDrover | undefined;
beforeAll(async () => {
  home = makeHome("large-snapshots");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Bytes that are no two parts alike, made while they are read. */
function* parts(): Generator<Buffer> {
  const part = Buffer.alloc(PART_BYTES, "some bytes of an archive ");
  for (let n = 0; n * PART_BYTES < BYTES; n += 1) {
    const own = Buffer.from(part);
    own.writeUInt32LE(n);
    yield own.subarray(0, Math.min(PART_BYTES, BYTES - n * PART_BYTES));
  }
}

function digestOf(pieces: Iterable<Uint8Array>): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

/** Calls, and says by how much that has raised the peak of the Worker. */
async function measured<T>(what: string, call: () => Promise<T>): Promise<T> {
  if (up === undefined) throw new Error("it is not up");
  const before = watchPeaks(up.stateDir, 0).stop().worker;
  const watch = watchPeaks(up.stateDir, 0);
  const beganAt = performance.now();
  const result = await call();
  const seconds = (performance.now() - beganAt) / 1_000;
  const more = watch.stop().worker - before;
  const speed = formatSize(Math.round(BYTES / seconds));
  console.info(
    `${what} ${formatSize(BYTES)} in ${seconds.toFixed(1)} s (${speed}/s); ` +
      `worker ${Math.round(before / 1e6)} MB and ${Math.round(more / 1e6)} MB more`,
  );
  expect(before).toBeGreaterThan(0);
  expect(more).toBeLessThan(MAX_MORE_BYTES);
  return result;
}

test("a large snapshot goes in and comes out at constant memory", { timeout: 600_000 }, async () => {
  if (up === undefined) throw new Error("it is not up");
  const { url, token } = up;
  const hex = digestOf(parts());
  const address = `${url}/v1/snapshots/sha256:${hex}`;
  const headers = { authorization: `Bearer ${token}` };
  const put = async () => {
    const body = Readable.toWeb(Readable.from(parts())) as ReadableStream<Uint8Array>;
    const length = { "content-length": String(BYTES) };
    const answer = await fetch(address, {
      method: "PUT",
      headers: { ...headers, ...length },
      body,
      duplex: "half",
    });
    return answer.status;
  };
  expect(await measured("PUT", put)).toBe(201);
  expect(await measured("PUT again", put)).toBe(200);
  const hash = createHash("sha256");
  await measured("GET", async () => {
    const answer = await fetch(address, { headers });
    expect(answer.headers.get("content-length")).toBe(String(BYTES));
    for await (const part of answer.body ?? []) hash.update(part);
  });
  expect(hash.digest("hex")).toBe(hex);
});
