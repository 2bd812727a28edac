import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { DroverError } from "../../src/shared/errors.ts";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Edge } from "./support/edge.ts";

// Endpoints whose objects do not answer, beside one that does.

const URL = "https://ci.example.com/hook";

let edge: Edge;
let brokenId: string;
let log: MockInstance<typeof console.error>;
beforeEach(async () => {
  log = vi.spyOn(console, "error").mockReturnValue(undefined);
  edge = createEdge("default");
  await edge.json(201, "POST", "/v1/webhooks", { name: "well", url: URL });
  const labels = { team: "x" };
  ({ id: brokenId } = await edge.json(201, "POST", "/v1/webhooks", { name: "broken", url: URL, labels }));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
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

  test("since it is just deleted is unknown by its name", async () => {
    edge.fault = (call) => {
      if (call !== `webhook ${brokenId} read`) return;
      edge.webhooks.delete("broken"); // as another request does between the two calls
      throw gone;
    };
    const problem = await edge.json(404, "GET", "/v1/webhooks/broken");
    expect(problem).toMatchObject({ code: "unknown_webhook", detail: expect.stringContaining('"broken"') });
  });

  test("by a bug leaves a line in the log of the Worker, which says which one and how", async () => {
    failBy(new Error("it is broken"));
    await edge.json(200, "GET", "/v1/webhooks");
    const error = expect.stringContaining("it is broken");
    expect(log.mock.calls).toEqual([[{ event: "webhook_unread", id: brokenId, error }]]);
  });

  test("by an outage leaves no line in the log", async () => {
    failBy(new Error("Durable Object has been reset"));
    await edge.json(200, "GET", "/v1/webhooks");
    expect(log).not.toHaveBeenCalled();
  });

  test("fails a request for it alone otherwise, which can be repeated", async () => {
    failBy(new Error("Durable Object has been reset"));
    await edge.json(503, "GET", "/v1/webhooks/broken");
  });
});

describe("an endpoint that does not answer right after a change (webhooks.md#unknown)", () => {
  beforeEach(() => {
    edge.fault = (call) => {
      if (/^webhook \S+ read$/.test(call)) throw new Error("Durable Object has been reset");
    };
  });

  test.each([
    ["created", 201, "/v1/webhooks", { name: "new", url: URL }, "new"],
    ["given another secret", 200, "/v1/webhooks/broken/rotate", {}, "broken"],
  ])("and was %s is shown as unknown with its secret, which nothing shows again", async (...row) => {
    const [, status, path, body, name] = row;
    expect(await edge.json(status, "POST", path, body)).toMatchObject({
      name,
      url: URL,
      state: "unknown",
      secret: expect.stringMatching(/^whsec_/),
      createdBy: "admin",
    });
  });

  test("and was created is there with the id of the answer", async () => {
    const { id } = await edge.json(201, "POST", "/v1/webhooks", { name: "new", url: URL });
    edge.fault = () => undefined;
    expect(await edge.json(200, "GET", "/v1/webhooks/new")).toMatchObject({ id, state: "active" });
  });
});

test("a token that ends during the list gets no list of unknown endpoints (access.md#walls)", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const token = makeToken(edge, ["webhooks:write"]);
  edge.fault = (call) => {
    if (call !== "registry webhooks") return;
    edge.tokens.revoke(token.slice(4, 14), "admin", false);
    vi.setSystemTime(Date.now() + 30_000);
  };
  expect(await as(edge, token).json(401, "GET", "/v1/webhooks")).toMatchObject({ code: "unauthorized" });
});
