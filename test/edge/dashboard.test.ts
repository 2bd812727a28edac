import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Server, startServer } from "./support/server.ts";

describe("GET /ui: the dashboard (ui.md#security)", () => {
  let edge: Server;
  beforeAll(async () => {
    edge = await startServer();
  });
  afterAll(() => edge?.stop());

  test.each(["/ui", "/ui/runs", "/ui/runs/build-17?tab=log", "/ui/workers/default-9b6c-1"])(
    "%s needs no token, and is the document of the page",
    async (path) => {
      const answer = await edge.send("GET", path, {});
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(await answer.text()).toContain('<script type="module" src="/ui/files/main.js">');
    },
  );

  test("takes scripts, styles and connections of this Drover alone, and no text becomes markup", async () => {
    const answer = await edge.send("GET", "/ui", {});
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain(
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types drover-worker",
    );
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect(await answer.text()).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
  });

  test.each([
    ["main.js", "text/javascript"],
    ["style.css", "text/css"],
  ])("%s is sent once", async (name, type) => {
    const answer = await edge.send("GET", `/ui/files/${name}`, {});
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
    await answer.body?.cancel();
    const tag = answer.headers.get("etag") ?? "";
    const again = await edge.send("GET", `/ui/files/${name}`, { "if-none-match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test("has no other files", async () => {
    expect((await edge.send("GET", "/ui/files/package.json", {})).status).toBe(404);
    expect((await edge.send("GET", "/ui/files/..%2Findex.html", {})).status).toBe(404);
  });
});
