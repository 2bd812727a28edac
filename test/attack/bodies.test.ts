import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "../edge/support/server.ts";

// What is not text is no JSON: it must not be stored as another text than the one that was sent.

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());

test.each([
  ["a byte that begins nothing", "a\xff"],
  ["a character that is cut", "a\xc3"],
  ["a surrogate", "\xed\xa0\x80"],
  ["a slash in two bytes", "\xc0\xaf"],
])("X22: a body with %s is refused, and nothing is stored", async (_what, odd) => {
  const body = Buffer.from(`{"id":"odd","argv":["echo","${odd}"]}`, "latin1");
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const answer = await fetch(`${server.url}/v1/runs`, { method: "POST", headers, body });
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({ code: "malformed_json", detail: expect.stringContaining("not valid UTF-8") }),
  ]);
  await server.json(404, "GET", "/v1/runs/odd");
});

test("X22: what is UTF-8 is taken as it is", async () => {
  const argv = ["echo", "käse 文字 🐄"];
  const run = await server.json(201, "POST", "/v1/runs", { id: "even", argv });
  expect(run.spec.argv).toEqual(argv);
});
