import { describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../src/shared/limits.ts";
import { BAD_REQUESTS, expectRefusal } from "./support/bad-requests.ts";
import { createEdge, TOKEN } from "./support/edge.ts";

describe("a bad request is refused with an error that names the field and what is allowed", () => {
  test.each(BAD_REQUESTS)("$method $path: $name", async (bad) => {
    const edge = createEdge();
    await expectRefusal(edge.send, TOKEN, bad);
    expect(edge.runs.size, "nothing is stored").toBe(0);
    expect([...edge.pools.keys()]).toEqual(["default"]);
  });
});

test("a body over the limit is refused even if its length was not announced", async () => {
  const edge = createEdge();
  const piece = new Uint8Array(1024 * 1024).fill(0x20);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += piece.length;
      controller.enqueue(piece);
    },
  });
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const answer = await edge.send("POST", "/v1/runs", headers, endless);
  expect(answer.status).toBe(413);
  expect(sent, "no more is read than must be").toBeLessThan(2 * MAX_BODY_BYTES);
});

test("an answer names a hundred errors at most, and says how many there are", async () => {
  const edge = createEdge();
  const { errors, detail } = await edge.json(400, "POST", "/v1/runs", { argv: Array(5_000).fill(1) });
  expect(errors).toHaveLength(100);
  expect(detail).toContain("`errors` lists the first 100 of 5000 errors");
});

test("P27: of many unknown fields one says which there are", async () => {
  const edge = createEdge();
  const body = { argv: ["true"], name: "x", version: "1", scripts: {} };
  const { errors } = await edge.json(400, "POST", "/v1/runs", body);
  const details = errors.map(({ detail }: { detail: string }) => detail);
  const listed = expect.stringMatching(/^is not a known field; the fields are id, argv/);
  expect(details).toEqual([listed, "is not a known field", "is not a known field"]);
});

test("all fields that are wrong are named at once", async () => {
  const edge = createEdge();
  const body = { argv: [], timeout: 3, comand: 1, resources: { cpus: 1 } };
  const { errors } = await edge.json(400, "POST", "/v1/runs", body);
  const pointers = errors.map((one: { pointer: string }) => one.pointer);
  expect(pointers.sort()).toEqual(["/argv", "/comand", "/resources/cpus", "/timeout"]);
});
