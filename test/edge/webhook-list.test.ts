import { beforeEach, describe, expect, test } from "vitest";
import { DroverError } from "../../src/shared/errors.ts";
import { createEdge, type Edge } from "./support/edge.ts";

// Endpoints whose objects do not answer, beside one that does.

const URL = "https://ci.example.com/hook";

let edge: Edge;
let brokenId: string;
beforeEach(async () => {
  edge = createEdge("default");
  await edge.json(201, "POST", "/v1/webhooks", { name: "well", url: URL });
  const labels = { team: "x" };
  ({ id: brokenId } = await edge.json(201, "POST", "/v1/webhooks", { name: "broken", url: URL, labels }));
});

/** The object of the endpoint `broken` fails in this way. */
function failBy(error: Error): void {
  edge.fault = (call) => {
    if (call === `webhook ${brokenId} read`) throw error;
  };
}

const gone = new DroverError("unknown_webhook", "there is no such webhook");

describe("an endpoint whose object does not answer (webhooks.md#unknown)", () => {
  test.each([
    ["fails", new Error("it is broken"), /^the endpoint did not answer: it failed unexpectedly; ask again$/],
    ["is reset", new Error("Durable Object has been reset"), /could not be reached just now.*; ask again$/],
    ["has no settings yet", gone, /^the endpoint does not have its settings yet; Drover sends them again/],
  ])("since it %s is listed with what the registry knows, and why", async (_, error, text) => {
    failBy(error);
    const { items } = await edge.json(200, "GET", "/v1/webhooks");
    expect(items).toMatchObject([
      {
        name: "broken",
        id: brokenId,
        url: URL,
        labels: { team: "x" },
        state: "unknown",
        unknown: { text: expect.stringMatching(text) },
        waiting: null,
        createdBy: "admin",
      },
      { name: "well", state: "active", unknown: null, waiting: 0 },
    ]);
  });

  test("since it has no settings yet is there by its name, too", async () => {
    failBy(gone);
    const one = await edge.json(200, "GET", "/v1/webhooks/broken");
    expect(one).toMatchObject({ name: "broken", state: "unknown" });
  });

  test("fails a request for it alone otherwise, which can be repeated", async () => {
    failBy(new Error("Durable Object has been reset"));
    await edge.json(503, "GET", "/v1/webhooks/broken");
  });
});
