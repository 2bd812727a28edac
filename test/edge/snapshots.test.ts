import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_BODY_BYTES, MAX_SNAPSHOT_BYTES } from "../../src/shared/limits.ts";
import { digestField, EMPTY_DIGEST } from "../../src/signing/mac.ts";
import { type Otherwise, signedBy, strangeSecret } from "../support/signed.ts";
import { createEdge, type Json } from "./support/edge.ts";
import { HttpHost, OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const hexOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const bytesOf = (length: number, seed = 0): Bytes =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + seed) % 251);

const SMALL = bytesOf(1_000);
const ID = `sha256:${hexOf(SMALL)}`;
const PATH = `/v1/snapshots/${ID}`;
const NOT_THERE = `/v1/snapshots/sha256:${"0".repeat(64)}`;

let server: Server;
let host: HttpHost;
beforeAll(async () => {
  server = await startServer();
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
  const { code } = await server.json(201, "POST", "/v1/enrollments", { pool: "own", ttl: "1h" });
  host = new HttpHost(server);
  expect(await host.enroll(code)).toMatchObject({ status: 200 });
});
afterAll(() => server.stop());

/** Sends with the token. `fetch` says the length of bytes by itself. */
function send(method: string, path: string, headers: Record<string, string> = {}, body?: Bytes) {
  return server.send(method, path, { authorization: `Bearer ${server.token}`, ...headers }, body);
}

const codeOf = async (answer: Response) => ((await answer.json()) as Json).code;

describe("a snapshot of a client (api.md#snapshots)", () => {
  test("is stored once, read whole, and found there when it is sent again", async () => {
    const first = await send("PUT", PATH, {}, SMALL);
    expect([first.status, await first.json()]).toEqual([201, { id: ID, bytes: 1_000 }]);
    const again = await send("PUT", PATH, {}, SMALL);
    expect([again.status, await again.json()]).toEqual([200, { id: ID, bytes: 1_000 }]);
    const read = await send("GET", PATH);
    expect(read.status).toBe(200);
    expect(Object.fromEntries(read.headers)).toMatchObject({
      "content-length": "1000",
      "accept-ranges": "bytes",
      etag: `"${ID}"`,
    });
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(SMALL);
    const head = await send("HEAD", PATH);
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "1000", ""]);
    const known = await send("GET", PATH, { "if-none-match": `"${ID}"` });
    expect([known.status, await known.text()]).toEqual([304, ""]);
  });

  test("may be larger than any other body, and empty", async () => {
    for (const bytes of [bytesOf(MAX_BODY_BYTES + 1), bytesOf(0)]) {
      const path = `/v1/snapshots/sha256:${hexOf(bytes)}`;
      expect((await send("PUT", path, {}, bytes)).status).toBe(201);
      expect(hexOf(new Uint8Array(await (await send("GET", path)).arrayBuffer()))).toBe(hexOf(bytes));
    }
  });

  test.each([
    ["bytes=10-19", 206, 10, 20],
    ["bytes=990-", 206, 990, 1_000],
    ["bytes=-10", 206, 990, 1_000],
    ["bytes=-5000", 206, 0, 1_000],
    ["bytes=0-5000", 206, 0, 1_000],
    ["lines=1-2", 200, 0, 1_000],
  ])("%s is answered with %d and those bytes", async (range, status, from, to) => {
    await send("PUT", PATH, {}, SMALL);
    const answer = await send("GET", PATH, { range });
    const said = status === 206 ? `bytes ${from}-${to - 1}/1000` : null;
    expect([answer.status, answer.headers.get("content-range")]).toEqual([status, said]);
    expect(answer.headers.get("content-length")).toBe(String(to - from));
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(SMALL.slice(from, to));
  });

  test("a range behind the end is 416, and says where the end is", async () => {
    await send("PUT", PATH, {}, SMALL);
    const answer = await send("GET", PATH, { range: "bytes=1000-" });
    expect([answer.status, answer.headers.get("content-range")]).toEqual([416, "bytes */1000"]);
    expect(await codeOf(answer)).toBe("range_not_satisfiable");
  });

  test("of another digest is refused, and nothing is stored", async () => {
    for (const length of [500, 3_000_000]) {
      const path = `/v1/snapshots/sha256:${hexOf(bytesOf(length, 7))}`;
      const answer = await send("PUT", path, {}, bytesOf(length, 8));
      expect([answer.status, await codeOf(answer)]).toEqual([422, "digest_mismatch"]);
      expect((await send("HEAD", path)).status).toBe(404);
    }
  });

  test("of another digest is refused even if the right one is there, which stays", async () => {
    await send("PUT", PATH, {}, SMALL);
    const answer = await send("PUT", PATH, {}, bytesOf(1_000, 9));
    expect([answer.status, await codeOf(answer)]).toEqual([422, "digest_mismatch"]);
    expect(new Uint8Array(await (await send("GET", PATH)).arrayBuffer())).toEqual(SMALL);
  });

  test("that comes without a length is refused", async () => {
    const body = new Blob([bytesOf(10, 3)]).stream();
    const answer = await server.send("PUT", NOT_THERE, { authorization: `Bearer ${server.token}` }, body);
    expect([answer.status, await codeOf(answer)]).toEqual([411, "length_required"]);
  });

  test.each(["GET", "HEAD"])("that is not there: %s is 404", async (method) => {
    const answer = await send(method, NOT_THERE);
    expect(answer.status).toBe(404);
    if (method === "GET") expect(await codeOf(answer)).toBe("unknown_snapshot");
  });

  test.each(["PUT", "GET"])("%s needs the token", async (method) => {
    const body = method === "PUT" ? SMALL : undefined;
    expect((await server.send(method, PATH, {}, body)).status).toBe(401);
  });
});

describe("a snapshot of a host (host-protocol.md#snapshots)", () => {
  const result = bytesOf(2_000, 42);
  const hex = hexOf(result);

  const signedPut = (id: string, more: Otherwise = {}, secret = host.secret) =>
    signedBy({ worker: host.worker, secret }, "put-snapshot", ["PUT", at(id)], "", {
      digest: digestField(Buffer.from(id, "hex").toString("base64")),
      ...more,
    });
  const signedGet = (id: string, secret = host.secret) =>
    signedBy({ worker: host.worker, secret }, "get-snapshot", ["GET", at(id)]);
  const at = (id: string) => `/v1/hosts/${host.worker}/snapshots/sha256:${id}`;

  test("its setup says where they are", async () => {
    const { body } = await host.join();
    expect(body.snapshotsUrl).toBe(`${server.url}/v1/hosts/${host.worker}/snapshots`);
  });

  test("goes up signed by its digest, comes down in parts, and a client reads it", async () => {
    const up = await server.send("PUT", at(hex), signedPut(hex), result);
    expect([up.status, await up.json()]).toEqual([201, { id: `sha256:${hex}`, bytes: 2_000 }]);
    const again = await server.send("PUT", at(hex), signedPut(hex), result);
    expect(again.status).toBe(200);
    const down = await server.send("GET", at(hex), { ...signedGet(hex), range: "bytes=1500-" });
    expect(down.status).toBe(206);
    expect(new Uint8Array(await down.arrayBuffer())).toEqual(result.slice(1_500));
    const client = await send("GET", `/v1/snapshots/sha256:${hex}`);
    expect(new Uint8Array(await client.arrayBuffer())).toEqual(result);
  });

  test.each([
    ["no signature", () => ({}), 401, "bad_signature"],
    ["the signature of another host", () => signedPut(hex, {}, strangeSecret()), 401, "bad_signature"],
    [
      "another digest than its name's",
      () => signedPut(hex, { digest: EMPTY_DIGEST }),
      422,
      "digest_mismatch",
    ],
  ])("an upload with %s is refused", async (_what, headers, status, code) => {
    const answer = await server.send("PUT", at(hex), headers(), result);
    expect([answer.status, await codeOf(answer)]).toEqual([status, code]);
    expect(answer.headers.get("date")).not.toBeNull();
  });

  test("an upload of other bytes than were signed is refused", async () => {
    const other = hexOf(bytesOf(10, 1));
    const answer = await server.send("PUT", at(other), signedPut(other), result);
    expect([answer.status, await codeOf(answer)]).toEqual([422, "digest_mismatch"]);
  });

  test("a download needs the host's signature, and an unknown one is 404", async () => {
    const foreign = await server.send("GET", at(hex), signedGet(hex, strangeSecret()));
    expect([foreign.status, await codeOf(foreign)]).toEqual([401, "bad_signature"]);
    const unknown = await server.send("GET", at("0".repeat(64)), signedGet("0".repeat(64)));
    expect([unknown.status, await codeOf(unknown)]).toEqual([404, "unknown_snapshot"]);
  });
});

describe("what is refused before a byte is read (api.md#snapshots)", () => {
  const line: [string, string] = ["PUT", `/v1/hosts/w-1/snapshots/${ID}`];
  const digest = digestField(Buffer.from(ID.slice(7), "hex").toString("base64"));
  const signer = { worker: "w-1", secret: strangeSecret() };
  const SIGNED = signedBy(signer, "put-snapshot", line, "", { digest });
  const paths = [
    ["of a client", PATH],
    ["of a host", `/v1/hosts/w-1/snapshots/${ID}`],
  ];

  test.each(paths)("one %s that is too large, by a byte", async (_who, path) => {
    const put = (length: number) => {
      return createEdge().call("PUT", path, SMALL, { ...SIGNED, "content-length": String(length) });
    };
    const answer = await put(MAX_SNAPSHOT_BYTES + 1);
    expect([answer.status, await codeOf(answer)]).toEqual([413, "body_too_large"]);
    // Here nobody compares the length with the bytes, so that these are what is wrong.
    expect(await codeOf(await put(MAX_SNAPSHOT_BYTES))).toBe("digest_mismatch");
  });

  test.each(paths)("one %s whose name is none", async (_who, path) => {
    for (const name of ["sha256:abc", ID.toUpperCase(), ID.slice(7), `md5:${ID.slice(7)}`]) {
      const wrong = await createEdge().call("GET", path.replace(ID, name), undefined, SIGNED);
      const { errors, code }: Json = await wrong.json();
      expect([wrong.status, code, errors[0].pointer]).toEqual([400, "invalid_request", "{snapshot}"]);
    }
  });
});
