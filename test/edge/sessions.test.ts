import { afterEach, describe, expect, test, vi } from "vitest";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Edge, TOKEN } from "./support/edge.ts";

const HTTPS = "https://drover.test";
const LOOPBACK = "http://127.0.0.1:8787";
const MINUTE = 60_000;

afterEach(() => {
  vi.useRealTimers();
});

type Headers = Record<string, string>;

const signIn = (edge: Edge, body: object, { base = HTTPS, ...headers }: Headers = {}) =>
  edge.send(
    "POST",
    `${base}/ui/session`,
    { "content-type": "application/json", ...headers },
    JSON.stringify(body),
  );

/** The cookie of an answer, as a browser sends it. */
function cookieOf(answer: Response): string {
  const [cookie] = answer.headers.getSetCookie();
  return cookie?.split(";")[0] ?? "";
}

/** A browser that is signed in: sends as a page of Drover does, unless `headers` say otherwise. */
async function browser(edge: Edge, token: string) {
  const answer = await signIn(edge, { token });
  expect(answer.status).toBe(204);
  const cookie = cookieOf(answer);
  const page = { "sec-fetch-site": "same-origin" };
  return {
    cookie,
    send: (method: string, path: string, headers: Headers = page) =>
      edge.send(method, `${HTTPS}${path}`, { cookie, ...headers }),
  };
}

const problem = async (answer: Response) => ({ status: answer.status, ...((await answer.json()) as object) });

describe("a browser session (sessions.md)", () => {
  test("does what its token may, and nothing else", async () => {
    const edge = createEdge();
    const { send } = await browser(edge, makeToken(edge, ["runs:read"]));
    expect((await send("GET", "/v1/runs")).status).toBe(200);
    expect(await problem(await send("GET", "/v1/pools"))).toMatchObject({
      status: 403,
      code: "missing_scope",
    });
  });

  test("is named in events and by /v1/caller, and never shows its secret", async () => {
    const edge = createEdge();
    const { send, cookie } = await browser(edge, makeToken(edge, ["runs:read"], {}, { name: "ann" }));
    const answer = await send("GET", "/v1/caller");
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ by: "session:ann", scopes: ["runs:read"], expiresAt: null });
    expect(text).not.toContain(cookie.split("=")[1]);
  });

  test("of the break-glass secret may do everything", async () => {
    const edge = createEdge();
    const { send } = await browser(edge, TOKEN);
    expect(await (await send("GET", "/v1/caller")).json()).toMatchObject({
      by: "session:admin",
      scopes: ["admin"],
    });
    expect((await send("GET", "/v1/tokens")).status).toBe(200);
  });

  test.each([
    ["a token", (edge: Edge) => makeToken(edge, ["runs:read"], {}, { name: "ann" }), "session:ann"],
    ["the break-glass secret", () => TOKEN, "session:admin"],
  ])(
    "of %s that signs out is named in the audit log as in events (access.md#actors)",
    async (_, make, by) => {
      const edge = createEdge();
      const end = vi.spyOn(edge.sessions, "end");
      const { send } = await browser(edge, make(edge));
      await send("DELETE", "/ui/session");
      expect(end).toHaveBeenCalledWith(expect.any(String), by);
    },
  );

  test("costs no call to an object while it is warm, and one look-up after 30 s", async () => {
    const edge = createEdge();
    const { send } = await browser(edge, makeToken(edge, ["runs:read"]));
    await send("GET", "/v1/caller");
    const before = edge.calls.length;
    for (let count = 0; count < 20; count += 1) await send("GET", "/v1/caller");
    expect(edge.calls.length).toBe(before);
  });

  test("ends once its token is revoked, after 30 s at most", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const edge = createEdge();
    const token = makeToken(edge, ["runs:read"]);
    const { send } = await browser(edge, token);
    expect((await send("GET", "/v1/caller")).status).toBe(200);
    edge.tokens.revoke(token.slice(4, 14), "admin", false);
    vi.setSystemTime(Date.now() + 30_000);
    expect(await problem(await send("GET", "/v1/caller"))).toMatchObject({
      status: 401,
      detail: "this session has ended; sign in again",
    });
  });

  test("ends at sign-out, which clears the cookie", async () => {
    const edge = createEdge();
    const { send } = await browser(edge, TOKEN);
    const out = await send("DELETE", "/ui/session");
    expect(out.status).toBe(204);
    expect(out.headers.getSetCookie()[0]).toMatch(/^__Host-drover=; Max-Age=0; /);
    expect((await send("GET", "/v1/caller")).status).toBe(401);
    expect(edge.sessions.list(null)).toEqual([]);
  });

  test("of another browser is listed, and can be ended", async () => {
    const edge = createEdge();
    const { send } = await browser(edge, makeToken(edge, ["runs:read"], {}, { name: "bob" }));
    const admin = as(edge, TOKEN);
    const { items } = await admin.json(200, "GET", "/v1/sessions");
    expect(items).toMatchObject([{ name: "bob" }]);
    expect((await admin.send("DELETE", `/v1/sessions/${items[0].id}`)).status).toBe(204);
    expect((await send("GET", "/v1/caller")).status).toBe(401);
  });

  test("of somebody who may do more cannot be ended", async () => {
    const edge = createEdge();
    await browser(edge, TOKEN);
    await browser(edge, makeToken(edge, ["workers:write"]));
    const lesser = as(edge, makeToken(edge, ["tokens:write"]));
    const { items } = await lesser.json(200, "GET", "/v1/sessions");
    expect(items).toHaveLength(2);
    for (const { id } of items) {
      expect(await lesser.json(403, "DELETE", `/v1/sessions/${id}`)).toMatchObject({ code: "beyond_limits" });
    }
  });
});

test("a session makes no code for another one, which would outlive it (sessions.md#life)", async () => {
  const { send } = await browser(createEdge(), TOKEN);
  expect(await problem(await send("POST", "/v1/sessions"))).toMatchObject({
    status: 403,
    code: "beyond_limits",
  });
});

describe("a code (sessions.md#codes)", () => {
  const code = async (edge: Edge, token: string) =>
    (await as(edge, token).json(201, "POST", "/v1/sessions")).code;

  test("starts one session of the caller that made it", async () => {
    const edge = createEdge();
    const text = await code(edge, makeToken(edge, ["runs:read"], {}, { name: "ann" }));
    const answer = await signIn(edge, { code: text });
    expect(answer.status).toBe(204);
    const caller = await edge.send("GET", `${HTTPS}/v1/caller`, { cookie: cookieOf(answer) });
    expect(await caller.json()).toMatchObject({ by: "session:ann" });
    const again = await problem(await signIn(edge, { code: text }));
    expect(again).toMatchObject({ status: 401, code: "unauthorized" });
  });

  test("works for a minute", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const edge = createEdge();
    const text = await code(edge, TOKEN);
    vi.setSystemTime(Date.now() + MINUTE);
    expect(await problem(await signIn(edge, { code: text }))).toMatchObject({
      status: 401,
      detail: expect.stringContaining("older than a minute"),
    });
  });

  test("that was mistyped costs no call to an object", async () => {
    const edge = createEdge();
    const text: string = await code(edge, TOKEN);
    const before = edge.calls.length;
    for (const wrong of [text.slice(0, -1), `${text.slice(0, -1)}-`, "hunter2", `drvs_${text.slice(5)}`]) {
      expect((await signIn(edge, { code: wrong })).status).toBe(401);
    }
    expect(edge.calls.length).toBe(before);
  });

  test("guessed more than five times a minute limits its address", async () => {
    const edge = createEdge();
    const statuses: number[] = [];
    const used = await code(edge, TOKEN);
    await signIn(edge, { code: used });
    for (let tries = 0; tries < 6; tries += 1) statuses.push((await signIn(edge, { code: used })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });
});

test.each([{}, { code: "drvc_1", token: TOKEN }])(
  "a sign-in with neither or both of `code` and `token` says so (sessions.md#codes)",
  async (body) => {
    expect(await problem(await signIn(createEdge(), body))).toMatchObject({
      status: 400,
      detail: "the body must have either `code` or `token`",
    });
  },
);

describe("the cookie (sessions.md#cookie)", () => {
  test.each([
    [
      "over https",
      HTTPS,
      /^__Host-drover=drvs_\w{48}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    ],
    [
      "on loopback",
      LOOPBACK,
      /^drover-8787=drvs_\w{48}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/,
    ],
  ])("%s", async (_name, base, form) => {
    const answer = await signIn(createEdge(), { token: TOKEN }, { base });
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(form)]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("of another port is not taken for a session", async () => {
    const edge = createEdge();
    const cookie = cookieOf(await signIn(edge, { token: TOKEN }, { base: LOOPBACK }));
    expect((await edge.send("GET", `${LOOPBACK}/v1/caller`, { cookie })).status).toBe(200);
    expect((await edge.send("GET", "http://127.0.0.1:9999/v1/caller", { cookie })).status).toBe(401);
  });

  test.each([
    ["cut short", (text: string) => text.slice(0, -3)],
    ["with a typing error", (text: string) => `${text.slice(0, -1)}${text.endsWith("0") ? "1" : "0"}`],
    ["of a token", () => TOKEN],
    ["empty", () => ""],
  ])("%s costs no call to an object", async (_name, change) => {
    const edge = createEdge();
    const [name, secret = ""] = cookieOf(await signIn(edge, { token: TOKEN })).split("=");
    const before = edge.calls.length;
    const answer = await edge.send("GET", `${HTTPS}/v1/caller`, { cookie: `${name}=${change(secret)}` });
    expect(answer.status).toBe(401);
    expect(edge.calls.length).toBe(before);
  });

  test("counts for nothing beside a token", async () => {
    const edge = createEdge();
    const { cookie } = await browser(edge, TOKEN);
    const token = makeToken(edge, ["runs:read"], {}, { name: "ann" });
    const caller = await as(edge, token, { cookie }).json(200, "GET", "/v1/caller");
    expect(caller).toMatchObject({ by: "token:ann" });
  });
});

describe("requests that another page causes (sessions.md#csrf)", () => {
  const CASES: [string, string, Headers, boolean][] = [
    ["a page of Drover changes something", "POST", { "sec-fetch-site": "same-origin" }, true],
    ["an older browser names Drover's origin", "POST", { origin: HTTPS }, true],
    ["a page of another site", "POST", { "sec-fetch-site": "cross-site" }, false],
    ["a page of another port or subdomain", "POST", { "sec-fetch-site": "same-site" }, false],
    ["an older browser names another origin", "POST", { origin: "https://evil.test" }, false],
    ["an older browser names no origin", "POST", {}, false],
    ["a sandboxed page", "POST", { origin: "null" }, false],
    ["the address bar changes something", "POST", { "sec-fetch-site": "none" }, false],
    ["both say different things", "POST", { "sec-fetch-site": "cross-site", origin: HTTPS }, false],
    ["a page of Drover reads", "GET", { "sec-fetch-site": "same-origin" }, true],
    ["the address bar reads", "GET", { "sec-fetch-site": "none" }, true],
    ["an older browser reads", "GET", {}, true],
    ["a page of another site reads", "GET", { "sec-fetch-site": "cross-site" }, false],
    ["a page of another port reads", "GET", { "sec-fetch-site": "same-site" }, false],
    ["an older browser reads for another origin", "GET", { origin: "https://evil.test" }, false],
  ];

  /** Every method that a route of the API has, tried with whatever the case's method stands for. */
  const REQUESTS: Record<string, [method: string, path: string][]> = {
    GET: [
      ["GET", "/v1/caller"],
      ["HEAD", "/v1/caller"],
    ],
    POST: [
      ["POST", "/v1/runs/r-1/abort"],
      ["PUT", "/v1/secrets/key"],
      ["PATCH", "/v1/runs/r-1"],
      ["DELETE", "/v1/runs/r-1"],
      ["DELETE", "/ui/session"],
    ],
  };
  const ALL = CASES.flatMap(([name, kind, headers, isAllowed]) =>
    (REQUESTS[kind] ?? []).map(([method, path]) => [name, method, path, headers, isAllowed] as const),
  );

  test.each(ALL)("%s (%s %s)", async (_name, method, path, headers, isAllowed) => {
    const edge = createEdge();
    edge.addRun("r-1", { state: "complete" });
    const { send } = await browser(edge, TOKEN);
    const answer = await send(method, path, headers);
    const isRefused = answer.status === 403;
    expect(isRefused).toBe(!isAllowed);
    if (isRefused && method !== "HEAD") expect(await problem(answer)).toMatchObject({ code: "cross_site" });
    // Nothing has happened: the run is there, and so is the session.
    if (!isAllowed) expect(edge.runs.has("r-1")).toBe(true);
    if (!isAllowed) expect((await send("GET", "/v1/caller")).status).toBe(200);
  });

  test("a form of another site with text/plain changes nothing", async () => {
    const edge = createEdge();
    const { cookie } = await browser(edge, TOKEN);
    const body = JSON.stringify({ argv: ["true"] });
    const headers = { cookie, "content-type": "text/plain", "sec-fetch-site": "cross-site" };
    expect((await edge.send("POST", `${HTTPS}/v1/runs`, headers, body)).status).toBe(403);
    expect(edge.runs.size).toBe(0);
  });

  test("with a token need no such header: a browser adds no token by itself", async () => {
    const edge = createEdge();
    const other = { "sec-fetch-site": "cross-site" };
    expect((await as(edge, TOKEN, other).send("GET", "/v1/caller")).status).toBe(200);
  });

  test.each([
    ["of another site", { "sec-fetch-site": "cross-site" }, 403],
    ["of another origin", { origin: "https://evil.test" }, 403],
    ["of Drover", { origin: HTTPS }, 204],
    ["that is no browser", {}, 204],
  ])("cannot sign a browser in from a page %s", async (_name, headers, status) => {
    expect((await signIn(createEdge(), { token: TOKEN }, headers as Headers)).status).toBe(status);
  });
});

test("every answer is harmless in a browser (sessions.md#content)", async () => {
  const edge = createEdge();
  const run = edge.addRun("r-1", { state: "complete" });
  run.log = new TextEncoder().encode("<script>alert(1)</script>");
  run.logEnded = true;
  const digest = `sha256:${"0".repeat(64)}`;
  edge.snapshots.set(digest, new TextEncoder().encode("<script>alert(1)</script>"));
  const stream = { accept: "text/event-stream" };
  for (const [path, type, more] of [
    ["/v1/caller", "application/json", {}],
    ["/v1/nothing", "application/problem+json", {}],
    ["/openapi.json", "application/json", {}],
    ["/healthz", "application/json", {}],
    ["/metrics", "text/plain", {}],
    ["/v1/runs/r-1/logs/main/stdout", "application/octet-stream", {}],
    [`/v1/snapshots/${digest}`, "application/octet-stream", {}],
    ["/v1/runs/r-1/events", "text/event-stream", stream],
    ["/v1/events?pool=default", "text/event-stream", stream],
  ] as const) {
    const { headers, body } = await as(edge, TOKEN, more).send("GET", path);
    await body?.cancel();
    expect([path, headers.get("content-type")?.split(";")[0]]).toEqual([path, type]);
    expect({ path, policy: headers.get("content-security-policy") }).toEqual({
      path,
      policy: "default-src 'none'; frame-ancestors 'none'; sandbox",
    });
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  }
  const page = await edge.send("GET", "/docs", {});
  expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
});
