import { afterEach, describe, expect, test, vi } from "vitest";
import { DroverError, STATUS_OF_CODE } from "../../src/shared/errors.ts";
import { createEdge, type Json, TOKEN } from "./support/edge.ts";

afterEach(() => vi.restoreAllMocks());

/** An edge with the run `a`, every read of which fails like this. */
function edgeWithFault(error: unknown) {
  const edge = createEdge();
  edge.addRun("a");
  edge.fault = () => {
    throw error;
  };
  return edge;
}

/**
 * An error after it has crossed an object's boundary: a plain Error with the same properties
 * (platform.md#calls-and-faults).
 */
function crossed(error: DroverError): Error {
  return Object.assign(new Error(error.message), { ...error, name: error.name, remote: true });
}

describe("an error of an object", () => {
  test.each(Object.entries(STATUS_OF_CODE))("with the code %s is answered with %i", async (code, status) => {
    const error = new DroverError(code as keyof typeof STATUS_OF_CODE, "what happened");
    const seen: unknown[] = [];
    // A fault of ours is told to the log; here it is wanted.
    vi.spyOn(console, "error").mockImplementation((line) => seen.push(line));
    for (const thrown of [error, crossed(error)]) {
      const problem = await edgeWithFault(thrown).json(status, "GET", "/v1/runs/a");
      expect(problem).toMatchObject({ code, status, detail: "what happened", temporary: error.temporary });
      expect(problem.type).toBe(`urn:drover:error:${code}`);
      expect(problem.instance).toMatch(/^urn:uuid:/);
    }
    expect(seen.length > 0).toBe(code === "internal");
  });

  test("keeps its fields, its other members and when to try again", async () => {
    const error = new DroverError("busy", "full", {
      retryAfterMs: 2_100,
      fields: [{ pointer: "/pool", detail: "is full" }],
      extra: { runs: ["a"] },
    });
    const answer = await edgeWithFault(crossed(error)).call("GET", "/v1/runs/a");
    expect(answer.headers.get("retry-after")).toBe("3");
    expect(await answer.json()).toMatchObject({
      retryAfterMs: 2_100,
      errors: [{ pointer: "/pool", detail: "is full" }],
      runs: ["a"],
    });
  });

  test("with a code that is not on the list is a fault of ours", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const odd = Object.assign(new Error("odd"), { name: "DroverError", code: "toString" });
    expect(await edgeWithFault(odd).json(500, "GET", "/v1/runs/a")).toMatchObject({ code: "internal" });
  });
});

describe("a fault of the platform is 503, temporary, with Retry-After (platform.md#calls-and-faults)", () => {
  const faults = [
    Object.assign(new Error("Durable Object is overloaded."), { overloaded: true }),
    Object.assign(new Error("reset"), { durableObjectReset: true }),
    Object.assign(new Error("gone"), { retryable: true }),
    new Error("Network connection lost."),
    new Error("Durable Object's isolate exceeded its memory limit and was reset."),
    new Error("Durable Object storage operation exceeded timeout which caused object to be reset."),
    new Error(
      "Internal error while starting up Durable Object storage caused object to be reset; reference = x",
    ),
    new Error("internal error; reference = 47fgujl7otmsr65gpiit8p8g"),
    ...[10_001, 10_043, 10_058].map((code) => new Error(`put: We encountered an internal error. (${code})`)),
  ];
  test.each(faults)("%s", async (fault) => {
    const answer = await edgeWithFault(fault).call("GET", "/v1/runs/a");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ code: "unavailable", temporary: true, retryAfterMs: 1_000 });
  });
});

describe("P4: a full disk below a local Drover is 503, temporary, and said by name", () => {
  const faults = [
    "database or disk is full: SQLITE_FULL",
    "disk I/O error: SQLITE_IOERR (extended: SQLITE_IOERR_SHMSIZE)",
    "unable to open database file: SQLITE_CANTOPEN",
    "rust/worker/ffi.rs:110: overloaded: No space left on device (os error 28)",
  ];
  test.each(faults)("%s", async (fault) => {
    const problem = await edgeWithFault(new Error(fault)).json(503, "GET", "/v1/runs/a");
    expect(problem).toMatchObject({ code: "unavailable", temporary: true, retryAfterMs: 1_000 });
    expect(problem.detail).toMatch(
      /^the disk of the control plane is full; .* continues when there is space$/,
    );
  });
});

test("a fault of ours is 500, leaks nothing, and is found in the log by its instance", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const edge = edgeWithFault(new TypeError("cannot read the key sk-secret"));
  const problem = await edge.json(500, "GET", "/v1/runs/a");
  expect(problem).toMatchObject({ code: "internal", temporary: false });
  expect(JSON.stringify(problem)).not.toContain("secret");
  const [line] = log.mock.calls[0] ?? [];
  expect(line).toMatchObject({
    event: "internal_error",
    instance: problem.instance,
    method: "GET",
    path: "/v1/runs/a",
    name: "TypeError",
    message: "cannot read the key sk-secret",
  });
});

describe("authorization", () => {
  test("the scheme's name may be in any case", async () => {
    const edge = createEdge();
    const answer = await edge.send("GET", "/v1/runs", { authorization: `bearer ${TOKEN}` });
    expect(answer.status).toBe(200);
  });

  test.each([TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase()])("%s is not the token", async (token) => {
    const answer = await createEdge().send("GET", "/v1/runs", { authorization: `Bearer ${token}` });
    expect(answer.status).toBe(401);
  });

  test("without a secret the Worker is closed, not open", async () => {
    const { app, objects } = createEdge();
    for (const adminToken of ["", undefined]) {
      const headers = { authorization: "Bearer undefined" };
      const answer = await app.request("/v1/runs", { headers }, {
        adminToken,
        objects,
        now: Date.now,
      } as Json);
      expect(answer.status).toBe(401);
    }
  });

  test("nothing is asked of any object without the token", async () => {
    const edge = createEdge();
    await edge.send("POST", "/v1/runs", { "content-type": "application/json" }, '{"argv":["true"]}');
    expect(edge.calls).toEqual([]);
  });
});

describe("a method that a route does not take", () => {
  test.each([
    ["DELETE", "/v1/runs", ["GET", "HEAD", "POST"]],
    ["POST", "/v1/pools/default", ["DELETE", "GET", "HEAD", "PUT"]],
    ["GET", "/v1/runs/a/abort", ["POST"]],
    ["PUT", "/healthz", ["GET", "HEAD"]],
  ])("%s %s is 405 and says which there are", async (method, path, allowed) => {
    const answer = await createEdge().call(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")?.split(", ").sort()).toEqual(allowed);
  });

  test("HEAD is answered wherever GET is, without a body", async () => {
    const answer = await createEdge().call("HEAD", "/v1/runs");
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  });
});

test("each answer names its request, and an error names the same one (audit.md#via)", async () => {
  const edge = createEdge();
  const fine = await edge.call("GET", "/v1/pools");
  const wrong = await edge.call("GET", "/v1/runs/nowhere");
  const [one, other] = [fine, wrong].map(({ headers }) => headers.get("x-request-id"));
  expect(one).toMatch(/^[0-9a-f-]{36}$/);
  expect(other).not.toBe(one);
  expect(await wrong.json()).toMatchObject({ instance: `urn:uuid:${other}` });
});
