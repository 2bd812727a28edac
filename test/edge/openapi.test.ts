import { describe, expect, test } from "vitest";
import { createEdge, type Json } from "./support/edge.ts";

/** Everything that is called `$ref`, anywhere in a document. */
function refsOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : refsOf(inner),
  );
}

function resolve(document: Json, ref: string): unknown {
  const path = ref.replace(/^#\//, "").split("/");
  return path.reduce((value, key) => value?.[key], document);
}

describe("GET /openapi.json", () => {
  const edge = createEdge();
  const document = (): Promise<Json> => edge.json(200, "GET", "/openapi.json");

  test("is an OpenAPI 3.1 document and needs no token", async () => {
    const answer = await edge.send("GET", "/openapi.json", {});
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      openapi: "3.1.0",
      info: { title: "Drover", version: "1.2.3" },
    });
  });

  test("has every route of the app, and no other", async () => {
    const { paths } = await document();
    const documented = Object.entries<Json>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // Middleware is mounted for all methods; what has a method is a route.
    const routes = edge.app.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(new Set(documented)).toEqual(new Set(routes));
  });

  test("every reference in it resolves", async () => {
    const whole = await document();
    const refs = refsOf(whole);
    expect(refs.length).toBeGreaterThan(20);
    expect(refs.filter((ref) => resolve(whole, ref) === undefined)).toEqual([]);
  });

  test("every path parameter is declared, and every operation says what it answers with", async () => {
    const { paths } = await document();
    for (const [path, methods] of Object.entries<Json>(paths)) {
      for (const operation of Object.values<Json>(methods)) {
        const named = (path.match(/\{\w+\}/g) ?? []).map((part) => part.slice(1, -1));
        const declared = (operation.parameters ?? []).filter((one: Json) => one.in === "path");
        expect(declared.map((one: Json) => one.name).sort()).toEqual(named.sort());
        expect(operation.summary).not.toBe("");
        expect(operation.responses.default.content).toHaveProperty(["application/problem+json"]);
      }
    }
  });

  test("says which routes need the token: all of /v1 but those of hosts", async () => {
    const { paths } = await document();
    for (const [path, methods] of Object.entries<Json>(paths)) {
      const guarded = path.startsWith("/v1/") && !path.startsWith("/v1/hosts/");
      for (const { security } of Object.values<Json>(methods)) {
        expect([path, security]).toEqual([path, guarded ? [{ bearer: [] }] : undefined]);
      }
    }
  });
});
