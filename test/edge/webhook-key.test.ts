import { expect, test } from "vitest";
import { DroverError } from "../../src/shared/errors.ts";
import { DocumentCheck } from "./support/document.ts";
import { createEdge } from "./support/edge.ts";

test.each([
  ["createWebhook", "/v1/webhooks", { name: "new", url: "https://ci.example.com/hook" }],
  ["rotateWebhook", "/v1/webhooks/ci/rotate", {}],
])("%s declares that it needs a wrapping key (webhooks.md#secrets)", async (_, path, body) => {
  const edge = createEdge();
  await edge.json(201, "POST", "/v1/webhooks", { name: "ci", url: "https://ci.example.com/hook" });
  const document = new DocumentCheck(await edge.json(200, "GET", "/openapi.json"));
  edge.fault = (call) => {
    if (/^registry (create|rotate)Webhook/.test(call)) throw new DroverError("no_wrapping_key", "none");
  };
  const answer = await edge.call("POST", path, body);
  expect(answer.status).toBe(501);
  await document.check("POST", path, answer);
});
