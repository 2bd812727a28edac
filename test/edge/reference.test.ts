import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Server, startServer } from "./support/server.ts";

/** Every place that a page takes something from. */
function sourcesOf(html: string): string[] {
  return [...html.matchAll(/ (?:src|href)="([^"]*)"/g)].map(([, source]) => source ?? "");
}

describe("GET /docs: the reference page (api.md#reference-page)", () => {
  let edge: Server;
  beforeAll(async () => {
    edge = await startServer();
  });
  afterAll(() => edge?.stop());

  test("needs no token, and takes everything from this Drover", async () => {
    const answer = await edge.send("GET", "/docs", {});
    const html = await answer.text();
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(sourcesOf(html)).toContain("/docs/swagger-ui-bundle.js");
    for (const source of sourcesOf(html).filter((one) => one !== "data:,")) {
      expect([source, (await edge.send("GET", source, {})).status]).toEqual([source, 200]);
    }
  });

  test("P39: a person who opens the address of a Drover is led to it", async () => {
    for (const accept of ["text/html,application/xhtml+xml", "*/*"]) {
      const answer = await edge.send("GET", "/?utm=x", { accept });
      expect([answer.status, answer.headers.get("location")]).toEqual([302, "/docs"]);
    }
  });

  test("shows this Drover's document, and asks nobody else about it", async () => {
    const start = await (await edge.send("GET", "/docs/start.js", {})).text();
    expect(start).toContain('url: "/openapi.json"');
    expect(start).toContain("validatorUrl: null");
  });

  test("may run no script and no style that stands in it, and has none", async () => {
    const answer = await edge.send("GET", "/docs", {});
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(await answer.text()).not.toMatch(/<script(?! src=)|<style| style=| on\w+=/);
  });

  test.each([
    ["swagger-ui-bundle.js", "text/javascript", "SwaggerUIBundle"],
    ["swagger-ui.css", "text/css", ".swagger-ui"],
  ])("%s is whole, and fetched only once", async (name, type, within) => {
    const answer = await edge.send("GET", `/docs/${name}`, {});
    expect(answer.headers.get("content-type")).toBe(`${type}; charset=utf-8`);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await answer.text();
    expect(text.length).toBeGreaterThan(100_000);
    expect(text).toContain(within);
    expect(text).not.toContain("sourceMappingURL");
    const tag = answer.headers.get("etag") ?? "";
    const again = await edge.send("GET", `/docs/${name}`, { "if-none-match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test("what a browser has of the page already is not sent again", async () => {
    const { etag } = Object.fromEntries((await edge.send("GET", "/docs", {})).headers);
    const again = await edge.send("GET", "/docs", { "if-none-match": etag ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const { paths } = await edge.json(200, "GET", "/openapi.json");
    expect(paths["/docs"].get.responses).toHaveProperty(["304"]);
  });

  test("has no other files", async () => {
    expect((await edge.send("GET", "/docs/package.json", {})).status).toBe(404);
  });
});
