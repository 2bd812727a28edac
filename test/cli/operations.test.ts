import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { callOf } from "../../client/transport/operations.ts";
import { patienceOf } from "../../client/transport/retry.ts";
import { clientTypes } from "../../scripts/client-types.mjs";
import { OPERATIONS } from "../../src/generated/api.ts";
import { createEdge, type Json } from "../edge/support/edge.ts";

const ROOT = join(import.meta.dirname, "../..");
const document: Json = await createEdge().json(200, "GET", "/openapi.json");

test("what the client stands on is what the routes say now", () => {
  const built = readFileSync(join(ROOT, "src/generated/api.ts"), "utf8");
  expect(clientTypes(document), "run `npm run build`, and then `npm run check`").toBe(built);
});

test("every route that a token can call is known to the client, and no other", () => {
  const routes = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { security }]) => ({ method, path, security })),
  );
  const guarded = routes.filter(
    ({ method, security = [] }) => method !== "head" && security.some((one: Json) => "bearer" in one),
  );
  const lines = guarded.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(
    Object.values(OPERATIONS)
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  ).toEqual(lines.sort());
});

const A = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const A_TYPE = "{\n  a: string;\n}";
const B = { type: "object", properties: { b: { type: "string" } }, required: ["b"] };
const B_TYPE = "{\n  b: string;\n}";

test.each<[schema: object, type: string]>([
  [{ type: "string", enum: ["a", "b"] }, '"a" | "b"'],
  [{ const: 3 }, "3"],
  [{ type: ["integer", "null"] }, "number | null"],
  [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, '("a" | "b")[]'],
  [{ type: "array", items: { oneOf: [A, B] } }, `(${A_TYPE} | ${B_TYPE})[]`],
  [{ type: "array", items: A }, `${A_TYPE}[]`],
  [{ type: "array", items: { ...A, additionalProperties: B } }, `(${A_TYPE} & Record<string, ${B_TYPE}>)[]`],
  [{ type: "object", additionalProperties: { type: "boolean" } }, "Record<string, boolean>"],
  [{ type: "object", properties: {} }, "Record<string, never>"],
  [
    {
      type: "object",
      properties: { "a-b": { type: "null" }, c: { $ref: "#/components/schemas/T" } },
      required: ["c"],
    },
    '{\n  "a-b"?: null | undefined;\n  c: T;\n}',
  ],
  [{ properties: { a: { type: "string" } } }, "{\n  a?: string | undefined;\n}"],
  [{ oneOf: [{ type: "string" }, { allOf: [{ const: 1 }, { type: "number" }] }] }, "string | (1 & number)"],
  [{ type: ["string", "number", "boolean", "object", "array", "null"] }, "unknown"],
])("the schema %j is the type %s", (schema, type) => {
  expect(clientTypes(documentWith(schema))).toContain(`export type S = ${type};\n`);
});

test.each([
  [{ not: {} }],
  [{ allOf: [A], properties: { b: { type: "string" } } }],
  [{ anyOf: [A], type: "object", properties: { b: { type: "string" } } }],
  [{ oneOf: [A], additionalProperties: B }],
  [{ $ref: "#/components/schemas/T", required: ["b"] }],
])("the schema %j, which it does not understand, is no type that lets everything through", (schema) => {
  const text = `do not support this schema: ${JSON.stringify(schema)}`;
  expect(() => clientTypes(documentWith(schema))).toThrow(text);
});

test("an operation without a name has no place in the client", () => {
  const paths = { "/x": { get: { security: [{ bearer: [] }], responses: {} } } };
  expect(() => clientTypes({ paths, components: { schemas: {} } })).toThrow("get /x has no operationId");
});

// An address has no place for these: what parses it takes them away, and another route is asked.
test.each([".", "..", ""])("%j is no name: nothing is asked, least of all another route", async (name) => {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    res.writeHead(204).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = server.address() as AddressInfo; // it listens at a port
    const { runs, pools, snapshots } = createClient({ url: `http://127.0.0.1:${port}`, token: "t" });
    const log = runs.logs("r1", { task: name, stream: "stdout" });
    for (const call of [
      () => runs.get(name),
      () => runs.remove(name),
      () => runs.wait(name),
      () => pools.delete(name),
      () => snapshots.download(name).next(),
      () => log.next(),
    ]) {
      await expect(call()).rejects.toThrow(`${JSON.stringify(name)} cannot be a name`);
    }
    expect(asked).toEqual([]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test.each(["...", ".a", "a.b", "a/..", "%2e%2e", "sha256:0"])("%j is sent as it is", (name) => {
  const { path } = callOf("getRun", { path: { id: name } });
  const { pathname } = new URL(path, "http://x");
  expect(decodeURIComponent(pathname)).toBe(`/v1/runs/${name}`);
  expect(pathname.split("/").length).toBe(4);
});

function documentWith(schema: object): Json {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/S" } } };
  const get = {
    operationId: "getS",
    summary: "S",
    security: [{ bearer: [] }],
    responses: { 200: { content } },
  };
  return { paths: { "/s": { get } }, components: { schemas: { S: schema, T: { type: "string" } } } };
}

test("S6: every route that a token can call has a function of the client", () => {
  const folder = join(ROOT, "client");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const sources = files.map((name) => readFileSync(join(folder, name), "utf8"));
  const missing = Object.keys(OPERATIONS).filter((id) => !sources.some((one) => one.includes(`"${id}"`)));
  expect(missing).toEqual([]);
});

test.each<[patience: unknown, says: string]>([
  [60_000, "this one is 60000"],
  [{ unreachableMs: "60s" }, '`unreachableMs` is "60s"'],
  [{ busyMs: -1 }, "`busyMs` is -1"],
  [{ waitMs: 1 }, "`waitMs` is 1"],
])("S7: a patience that is %j is refused with its form", async (patience, says) => {
  const wrong = JSON.parse(JSON.stringify(patience));
  const options = { url: "http://127.0.0.1:9", token: "t" };
  expect(() => createClient({ ...options, patience: wrong })).toThrow(says);
  const call = createClient(options).runs.get("r1", { patience: wrong });
  await expect(call).rejects.toThrow("must be { unreachableMs, busyMs }");
});

test("S7: a part of a patience keeps the rest, for the client and for one call", () => {
  const usual = { unreachableMs: 3_000, busyMs: 60_000 };
  expect(patienceOf(usual, { busyMs: 0 })).toEqual({ unreachableMs: 3_000, busyMs: 0 });
  expect(patienceOf(usual, { unreachableMs: undefined })).toEqual(usual);
  expect(patienceOf(usual, undefined)).toEqual(usual);
});
