import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProviderFailure } from "../../src/core/provider-answers.ts";
import { httpProvider } from "../../src/providers/http.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { MAX_PROVIDER_ANSWER_BYTES, MAX_RETRY_AFTER_MS, MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import { machine } from "../support/provider.ts";

// A provider that answers anything at all: each call ends with a classified reason, never with an exception.

type Answer = (response: ServerResponse) => void;

let answer: Answer = (response) => response.end();
let server: Server;
/** What was asked for, as `METHOD path`. */
const calls: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const NOW = Date.UTC(2026, 10, 21, 8, 30);
const dateIn = (ms: number) => new Date(NOW + ms).toUTCString();
/** Long enough for every answer that comes, and short enough to wait for the one that does not. */
const TIMEOUT_MS = 2_000;
const WANTED: CreateInstance = {
  token: "w1",
  name: "w1",
  instanceType: "small",
  image: "",
  userData: "the code is drvc_secret",
  tags: {},
  resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
};

function provider() {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return httpProvider({ kind: "http", url, secret: "secret" }, () => NOW, TIMEOUT_MS);
}

const says =
  (status: number, body: string | object = "", headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  };

/** An answer that goes on as long as somebody reads. */
const endless: Answer = (response) => {
  const piece = Buffer.alloc(1024 * 1024, 32);
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
};

/** On a busy machine so many bytes do not come in the time that a call has. */
const TOO_LONG = new RegExp(`more than ${MAX_PROVIDER_ANSWER_BYTES} bytes|took too long`);

/** How each of the three calls fails, with this answer. */
async function failures(to: Answer): Promise<(ProviderFailure | undefined)[]> {
  answer = to;
  const cloud = provider();
  const answers = [
    await cloud.create(WANTED),
    await cloud.list("drover-pool:p", []),
    await cloud.destroy(machine("i-1")),
  ];
  return answers.map((one) => (one.kind === "failed" ? one.failure : undefined));
}

describe("what a provider may answer that is none of the contract", () => {
  it.each<[string, Answer, ProviderFailure["class"], RegExp]>([
    ["nothing: it hangs up", (response) => void response.destroy(), "temporary", /^nobody answered at http:/],
    ["nothing, ever", () => {}, "temporary", /took too long/],
    [
      "half an answer",
      (response) => void response.writeHead(200, { "content-length": "9" }).end("{"),
      "temporary",
      /^nobody answered at http:|took too long/,
    ],
    ["an endless one", endless, "temporary", TOO_LONG],
    ["a redirect", says(302, "", { location: "http://elsewhere.test/" }), "temporary", /answered 302/],
    ["not found, in HTML", says(404, "<html>no such page</html>"), "temporary", /answered 404.*no such page/],
    ["a wrong secret, in HTML", says(401, "<html>who are you</html>"), "temporary", /answered 401.*who/],
    ["a gateway's refusal, in HTML", says(403, "<html>go away</html>"), "temporary", /answered 403.*away/],
    ["a bad request, in HTML", says(400, "<html>what?</html>"), "invalid", /answered 400.*what/],
    ["a body that is too long", says(413), "invalid", /answered 413/],
    ["a body that makes no sense", says(422), "invalid", /answered 422/],
    ["a gateway's trouble, in HTML", says(502, "<html>bad gateway</html>"), "temporary", /answered 502/],
    ["trouble without a word", says(503), "temporary", /answered 503/],
    ["a request that took too long to come", says(408), "temporary", /answered 408/],
    ["a request that came too early", says(425), "temporary", /answered 425/],
    ["a limit without a word", says(429), "rate_limit", /answered 429/],
    [
      "a class that there is not",
      says(500, { class: "bored", text: "no" }),
      "temporary",
      /answered 500.*bored/,
    ],
  ])("%s: %s", async (what, to, cause, text) => {
    const [create, list, destroy] = await failures(to);
    for (const failure of [create, list, ...(what.startsWith("not found") ? [] : [destroy])]) {
      expect(failure).toMatchObject({ class: cause, text: expect.stringMatching(text) });
    }
  });

  it.each<[string, string, RegExp]>([
    ["nothing at all", "", /it is empty/],
    ["HTML", "<html>welcome</html>", /it is not valid JSON/],
    ["half a JSON", '{"items": [', /it is not valid JSON/],
    ["another JSON", '{"machines": []}', /is invalid: `/],
    ["no list", '{"items": {"id": "i-1"}, "complete": true}', /is invalid: `/],
    ["null", "null", /is invalid/],
  ])("200 with %s: whether it had its effect a listing will show", async (_what, body, text) => {
    const [create, list, destroy] = await failures(says(200, body));
    for (const failure of [create, list]) {
      expect(failure).toMatchObject({ class: "temporary", text: expect.stringMatching(text) });
    }
    // Nobody believes the answer to a destroy anyway.
    expect(destroy).toBeUndefined();
  });

  it("what it repeats of a create is not shown: that is secret", async () => {
    const [create] = await failures(says(200, WANTED));
    expect(create?.text).not.toContain("drvc_secret");
  });

  it("no redirect is followed: the secret is for this address alone", async () => {
    calls.length = 0;
    await failures(says(307, "", { location: "/elsewhere" }));
    expect(calls).toEqual(["POST /instances", "GET /instances?tag=drover-pool%3Ap", "DELETE /instances/i-1"]);
  });

  it("a long text is cut", async () => {
    const long = "x".repeat(2 * MAX_TEXT_CHARS);
    for (const body of [long, { class: "quota", text: long }]) {
      const [create] = await failures(says(500, body));
      expect(create?.text).toHaveLength(MAX_TEXT_CHARS);
    }
  });
});

describe("a machine in a listing that is none of the contract is left out, and the others count", () => {
  const good = (id: string) => ({
    ...{ id, name: id, address: null, state: "running", instanceType: "small", tags: {}, createdAt: "" },
  });
  const { address: _none, ...unaddressed } = good("i-2");

  it.each<[string, unknown[], RegExp]>([
    ["an unknown state", [{ ...good("i-2"), state: "hibernating" }], /machine i-2 is invalid: `state`/],
    ["no address, not even null", [unaddressed], /machine i-2 is invalid: `address`/],
    ["no id", [{ ...good("i-2"), id: undefined }], /a machine without an id is invalid: `id`/],
    ["no object", [7], /a machine without an id is invalid/],
    ["too long an id", [good("i".repeat(1_000))], /machine i{256} is invalid: `id`/],
    ["several", [7, { id: "i-4" }, null], /a machine without an id is invalid: .*, and 2 more are invalid/],
  ])("%s", async (_what, bad, text) => {
    const [before, after] = [good("i-1"), good("i-3")];
    answer = says(200, { items: [before, ...bad, after], complete: true });
    const listing = await provider().list("drover-pool:p", []);
    const partial = { why: expect.stringMatching(text) };
    expect(listing).toEqual({ kind: "listed", beganAt: NOW, items: [before, after], partial });
  });

  it("what is wrong is told in few words", async () => {
    const odd = { ...good("i-2"), tags: { ["x".repeat(1_000_000)]: 7 } };
    answer = says(200, { items: [odd], complete: true });
    const listing = await provider().list("drover-pool:p", []);
    expect(JSON.stringify(listing).length).toBeLessThan(2 * MAX_TEXT_CHARS);
  });
});

it("a long address or type is cut, so that it can be stored and hides no other machine", async () => {
  const long = "x".repeat(3_000_000);
  const instance = { ...WANTED, id: "i-1", address: long, state: "running", instanceType: long };
  const said = { ...instance, createdAt: "" };
  const kept = { id: "i-1", address: "x".repeat(256), instanceType: "x".repeat(256) };
  answer = says(200, said);
  expect(await provider().create(WANTED)).toMatchObject({ kind: "created", instance: kept });
  answer = says(200, { items: [said], complete: true });
  const listing = await provider().list("drover-pool:p", []);
  expect(listing).toMatchObject({ kind: "listed", items: [kept] });
  expect(listing).not.toHaveProperty("partial");
});

describe("when to ask again (cases.md#case-20, RFC 9110 §10.2.3)", () => {
  const slow = { class: "rate_limit", text: "slow down" };

  it.each<[string, object | string, Record<string, string>, number | undefined]>([
    ["seconds", "", { "retry-after": "7" }, 7_000],
    ["a date", "", { "retry-after": dateIn(9_000), date: dateIn(0) }, 9_000],
    ["a date of its own clock", "", { "retry-after": dateIn(99_000), date: dateIn(90_000) }, 9_000],
    ["a date that has passed", "", { "retry-after": dateIn(-9_000), date: dateIn(0) }, 0],
    ["no time at all", "", { "retry-after": "soon" }, undefined],
    ["the service's own word", { ...slow, retryAfterMs: 1_500 }, {}, 1_500],
    ["a fraction of a millisecond, rounded up", { ...slow, retryAfterMs: 0.5 }, {}, 1],
    ["which counts more than the header", { ...slow, retryAfterMs: 1_500 }, { "retry-after": "7" }, 1_500],
    ["the header beside a body without a time", slow, { "retry-after": "7" }, 7_000],
    ["the longest", "", { "retry-after": String(MAX_RETRY_AFTER_MS / 1_000) }, MAX_RETRY_AFTER_MS],
    ["longer than that", "", { "retry-after": "99999999" }, MAX_RETRY_AFTER_MS],
    ["much longer, in the body", { ...slow, retryAfterMs: 1e300 }, {}, MAX_RETRY_AFTER_MS],
  ])("%s", async (_what, body, headers, ms) => {
    for (const failure of await failures(says(429, body, headers))) {
      expect(failure).toMatchObject({ class: "rate_limit" });
      expect(failure?.retryAfterMs).toBe(ms);
    }
  });
});

it("what the service itself calls invalid is, whatever its status", async () => {
  for (const status of [302, 401, 403, 404, 503]) {
    const said = { class: "invalid", text: "no such image" };
    const [create, list] = await failures(says(status, said));
    expect([create, list]).toEqual([
      { ...said, refused: true },
      { ...said, refused: true },
    ]);
  }
});

it("the scope of a refusal arrives as it was said (decisions/pool.md#d18)", async () => {
  for (const scope of ["all", "group", "type"] as const) {
    const said = { class: "capacity", text: "none left", scope };
    const refused = { ...said, refused: true };
    expect(await failures(says(503, said))).toEqual([refused, refused, refused]);
  }
});

it.each([
  [302, "", true],
  [400, "", true],
  [401, "", true],
  [403, "", true],
  [404, "", true],
  [429, "", true],
  [403, { class: "temporary", text: "not now" }, true],
  [503, { class: "quota", text: "two" }, true],
  [503, { class: "temporary", text: "later" }, undefined],
  [408, "", undefined],
  [409, "", undefined],
  [500, "", undefined],
  [502, "", undefined],
])("P9: whether a create that was answered %d %o may have made a machine", async (status, body, refused) => {
  const [create] = await failures(says(status, body));
  expect(create?.refused).toBe(refused);
});

describe("a create that is answered with 202 goes on (clouds.md#pending)", () => {
  it.each([
    ["after 5 s, if the service does not say when", {}, 5_000],
    ["after the pause that it asks for", { "retry-after": "20" }, 20_000],
    ["after the longest pause, if it asks for more", { "retry-after": "9999999" }, MAX_RETRY_AFTER_MS],
  ])("%s", async (_what, headers: Record<string, string>, retryAfterMs) => {
    answer = says(202, "", headers);
    expect(await provider().create(WANTED)).toMatchObject({ kind: "pending", retryAfterMs });
  });
});

describe("the console of a machine (clouds.md#console)", () => {
  const shown = () => provider().console?.({ worker: "w1", id: "i/1", zone: null });

  it("is what the service says, and whether more was before it", async () => {
    answer = says(200, { text: "booting\n", truncated: true, more: 1 });
    expect(await shown()).toEqual({ kind: "console", text: "booting\n", isCut: true, updatedAt: null });
    expect(calls.at(-1)).toBe("GET /instances/i%2F1/console");
  });

  it.each([404, 405, 501])("is none if the service says %i: it need not have the call", async (status) => {
    answer = says(status);
    expect(await shown()).toMatchObject({ kind: "none" });
  });

  it.each([
    ["it is no text", says(200, { text: 1 }), "temporary"],
    ["the service wants a pause", says(429), "rate_limit"],
    ["the secret is refused", says(403, { class: "auth", text: "no" }), "auth"],
  ])("fails, classified, if %s", async (_, to, kind) => {
    answer = to;
    expect(await shown()).toMatchObject({ kind: "failed", failure: { class: kind } });
  });
});
