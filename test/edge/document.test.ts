import { describe, expect, test } from "vitest";
import { DocumentCheck } from "./support/document.ts";
import { createEdge, type Json } from "./support/edge.ts";
import { statusOf, workerOf } from "./support/samples.ts";

/** An answer as the app would give it. */
function answerOf(status: number, body: unknown, type = "application/json"): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
}

/** A refusal with this code. */
function refusalOf(status: number, code: string): Response {
  const problem = { type: "", title: "", status, detail: "", instance: "", code, temporary: false };
  return answerOf(status, problem, "application/problem+json");
}

describe("an answer that /openapi.json does not declare fails the test that got it", async () => {
  const document: Json = await createEdge().json(200, "GET", "/openapi.json");
  const check = new DocumentCheck(document);
  const run = statusOf("a");
  const worker = workerOf("w", "default");

  const FITTING = [
    { name: "what is declared", target: "/v1/runs/a", answer: answerOf(200, run) },
    { name: "of a schema made of others", target: "/v1/workers/w", answer: answerOf(200, worker) },
    { name: "a refusal", target: "/v1/runs/a?wait=1s", answer: refusalOf(404, "unknown_run") },
    { name: "a route that is not there", target: "/v2", answer: refusalOf(404, "not_found") },
  ];
  test.each(FITTING)("fits: $name", async ({ target, answer }) => {
    await check.check("GET", target, answer);
  });

  const ODD = [
    {
      name: "W2: a header",
      target: "/v1/runs/a",
      answer: new Response(JSON.stringify(run), {
        headers: { "content-type": "application/json", "drover-secret": "x" },
      }),
      says: "not declared: drover-secret",
    },
    { name: "a status", target: "/v1/runs/a", answer: answerOf(203, run), says: "203, which" },
    { name: "a code", target: "/v1/runs/a", answer: refusalOf(404, "unknown_pool"), says: "it/code" },
    { name: "a type", target: "/v1/runs/a", answer: answerOf(200, run, "text/html"), says: "text/html" },
    {
      name: "a field of another type",
      target: "/v1/runs/a",
      answer: answerOf(200, { ...run, version: "1" }),
      says: "it/version must be integer",
    },
    {
      name: "a field that is missing",
      target: "/v1/runs/a",
      answer: answerOf(200, { ...run, state: undefined }),
      says: "required property 'state'",
    },
    {
      name: "a field that nobody named",
      target: "/v1/runs/a",
      answer: answerOf(200, { ...run, secret: "x" }),
      says: "unevaluated properties",
    },
    {
      name: "a field that nobody named, of a schema made of others",
      target: "/v1/workers/w",
      answer: answerOf(200, { ...worker, secret: "x" }),
      says: "unevaluated properties",
    },
  ];
  test.each(ODD)("$name", async ({ target, answer, says }) => {
    await expect(check.check("GET", target, answer)).rejects.toThrow(says);
  });
});
