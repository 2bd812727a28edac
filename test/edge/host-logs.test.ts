import { describe, expect, test } from "vitest";
import type { LogChunk } from "../../src/objects/rpc.ts";
import { MAX_LOG_BYTES, MAX_LOG_CHUNK_BYTES, MAX_LOG_READ_BYTES } from "../../src/shared/limits.ts";
import { MAX_STAMPS } from "../../src/shared/time/stamps.ts";
import { contentDigest } from "../../src/signing/mac.ts";
import { signedBy, strangeSecret } from "../support/signed.ts";
import { createEdge, type Json } from "./support/edge.ts";

const PATH = `/v1/hosts/w-1/logs/${encodeURIComponent("run-1/main/1.1")}/stdout`;
const HOST = { worker: "w-1", secret: strangeSecret() };

function put(edge: ReturnType<typeof createEdge>, path: string, bytes: number, headers: object = {}) {
  const body = new Uint8Array(bytes).map((_, index) => index % 256);
  const signed = signedBy(HOST, "log", ["PUT", path], body);
  return edge.send("PUT", path, { "content-length": String(bytes), ...signed, ...headers }, body);
}

/** So many stamps, as large as they can be in practice. */
const stamps = (count: number) => Array.from({ length: count }, () => "99999.1234567").join(".");

describe("log bytes of a host (host-protocol.md#logs)", () => {
  test("come as they are, with what they are of, and are answered with what is stored", async () => {
    const edge = createEdge();
    const answer = await put(edge, `${PATH}?offset=4096`, 300);
    expect([answer.status, await answer.json()]).toEqual([200, { stored: 4_396 }]);
    expect(answer.headers.get("date")).not.toBeNull();
    const [chunk] = edge.chunks;
    expect(chunk).toMatchObject({
      worker: "w-1",
      attempt: "run-1/main/1.1",
      stream: "stdout",
      from: 4_096,
      length: 300,
      digest: contentDigest(chunk?.bytes ?? ""),
    });
    expect(chunk?.bytes[299]).toBe(43);
  });

  test("come with as many stamps as may be (host-protocol.md#stamps)", async () => {
    const edge = createEdge();
    expect((await put(edge, `${PATH}?offset=0&stamps=${stamps(MAX_STAMPS)}`, 10)).status).toBe(200);
    expect(edge.chunks.at(0)?.stamps).toHaveLength(2 * MAX_STAMPS);
  });

  test.each([
    ["as large as may be", MAX_LOG_CHUNK_BYTES, 200],
    ["one byte larger", MAX_LOG_CHUNK_BYTES + 1, 413],
    ["empty, which only asks", 0, 200],
  ])("%s: %d bytes are answered with %d", async (_what, bytes, status) => {
    expect((await put(createEdge(), `${PATH}?offset=0`, bytes)).status).toBe(status);
  });

  test.each([
    ["no signature", `${PATH}?offset=0`, { signature: "" }, 401, "bad_signature"],
    ["no offset", PATH, {}, 400, "invalid_request"],
    ["an offset that is none", `${PATH}?offset=-1`, {}, 400, "invalid_request"],
    ["an offset beyond the cap", `${PATH}?offset=${MAX_LOG_BYTES + 1}`, {}, 400, "invalid_request"],
    ["a stamp that is none", `${PATH}?offset=0&stamps=1.x`, {}, 400, "invalid_request"],
    ["no stamp at all", `${PATH}?offset=0&stamps=`, {}, 400, "invalid_request"],
    ["a stamp too many", `${PATH}?offset=0&stamps=${stamps(MAX_STAMPS)}.1`, {}, 400, "invalid_request"],
    ["another stream", `${PATH.replace("stdout", "stdin")}?offset=0`, {}, 400, "invalid_request"],
    ["an attempt that is none", "/v1/hosts/w-1/logs/main/stdout?offset=0", {}, 400, "invalid_request"],
    ["no length", `${PATH}?offset=0`, { "content-length": "" }, 400, "invalid_request"],
  ])("%s is refused", async (_what, path, headers, status, code) => {
    const answer = await put(createEdge(), path, 10, headers);
    expect([answer.status, Reflect.get((await answer.json()) as object, "code")]).toEqual([status, code]);
  });
});

test("a chunk that does not say its length is refused with the name of that header", async () => {
  const answer = await put(createEdge(), `${PATH}?offset=0`, 10, { "content-length": "" });
  const { errors } = (await answer.json()) as Json;
  expect(errors).toMatchObject([{ pointer: "content-length:" }]);
});

describe("a log that lies in rows, in the bucket, and in rows again", () => {
  const first = MAX_LOG_READ_BYTES + 5;
  const sizes = [first, 3 * MAX_LOG_READ_BYTES, 77];
  const all = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0)).map((_, index) => index % 251);

  /** An edge whose run answers reads as its object would: the middle by name. */
  function edgeOverBorders() {
    const edge = createEdge();
    edge.addRun("a", { state: "complete" });
    const [, length = 0] = sizes;
    edge.objectsInBucket.set("key", all.slice(first, first + length));
    const { allocation } = edge.objects;
    edge.objects.allocation = (id) => ({
      ...allocation(id),
      log: async ({ from: wanted, maxBytes }): Promise<LogChunk> => {
        const from = wanted < 0 ? all.length + wanted : wanted;
        const rest = { from, size: all.length, ended: true, dropped: 0 };
        const inside = from >= first && from < first + length;
        const object = { key: "key", offset: from - first, length: first + length - from };
        if (inside) return { ...rest, data: new Uint8Array(), object };
        const end = from < first ? first : all.length;
        return { ...rest, data: all.slice(from, Math.min(end, from + maxBytes)) };
      },
    });
    return edge;
  }

  test.each([
    ["bytes=0-", 0, all.length],
    [`bytes=${first - 1}-${first}`, first - 1, first + 1],
    [`bytes=${first}-${first}`, first, first + 1],
    [`bytes=${first + 10}-${first + 19}`, first + 10, first + 20],
    [`bytes=${first + 10}-`, first + 10, all.length],
    ["bytes=-78", all.length - 78, all.length],
    ["bytes=-77", all.length - 77, all.length],
  ])("%s is exactly that", async (range, from, to) => {
    const answer = await edgeOverBorders().call("GET", "/v1/runs/a/logs/main/stdout", undefined, { range });
    expect(answer.status).toBe(206);
    const got = new Uint8Array(await answer.arrayBuffer());
    expect(got.length).toBe(to - from);
    expect(Buffer.compare(got, all.subarray(from, to))).toBe(0);
  });

  test("breaks off when an object is missing: a part must not look like the whole", async () => {
    const edge = edgeOverBorders();
    edge.objectsInBucket.clear();
    const answer = await edge.call("GET", "/v1/runs/a/logs/main/stdout");
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });
});
