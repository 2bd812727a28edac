import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { WRONG_SECRET_RATE } from "../../src/routes/access/access.ts";
import { TOKEN_RANDOM_BYTES, tokenText } from "../../src/shared/access/token-text.ts";
import { DroverError } from "../../src/shared/errors.ts";
import { contentDigest } from "../../src/signing/mac.ts";
import { until } from "../local/support/scratch.ts";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Edge, type Json, TOKEN } from "./support/edge.ts";
import { startServer } from "./support/server.ts";

// What an edge does with secrets that it has not seen, when many of them come at once: each test has an edge
// of its own, which remembers nothing.

afterEach(() => {
  vi.useRealTimers();
});

const HTTPS = "https://drover.test";
const AT = { "cf-connecting-ip": "192.0.2.1" };
const other = createEdge();
/** A token of the right form, which is valid at another Drover. */
const stranger = () => makeToken(other, ["runs:read"]);
const statusOf = async (answer: Promise<Response>) => (await answer).status;
const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, n) => make(n));
const lookUps = ({ calls }: Edge, method = "grant") =>
  calls.filter((call) => call === `registry ${method}`).length;
const counted = (statuses: number[]) => {
  const groups = [...Map.groupBy(statuses, String)];
  return Object.fromEntries(groups.map(([status, all]) => [status, all.length]));
};

/** Makes the registry's calls of one name wait until the test opens the gate. */
function gateOf(edge: Edge, method: string) {
  const gate = Promise.withResolvers<void>();
  const seen = { waiting: 0 };
  const { registry } = edge.objects;
  edge.objects.registry = () =>
    new Proxy(registry(), {
      get(target, name) {
        const call: unknown = Reflect.get(target, name);
        if (name !== method || typeof call !== "function") return call;
        return async (...args: unknown[]) => {
          seen.waiting += 1;
          await gate.promise;
          return Reflect.apply(call, target, args);
        };
      },
    });
  const reached = async (calls: number) => {
    await until(`${calls} calls of ${method}`, async () => seen.waiting >= calls || undefined);
    expect(seen.waiting).toBe(calls);
  };
  return { open: gate.resolve, reached };
}

/** The cookie that a browser gets for a code. */
async function signedIn(edge: Edge): Promise<string> {
  const { code } = await edge.json(201, "POST", "/v1/sessions");
  const answer = await signIn(edge, code);
  expect(answer.status).toBe(204);
  return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

const signIn = (edge: Edge, code: string) =>
  edge.send(
    "POST",
    `${HTTPS}/ui/session`,
    { ...AT, "content-type": "application/json" },
    JSON.stringify({ code }),
  );
const signOut = (edge: Edge, cookie: string) =>
  edge.send("DELETE", `${HTTPS}/ui/session`, { ...AT, cookie, "sec-fetch-site": "same-origin" });

describe("first uses that come at once (access.md#rate-limits)", () => {
  test("of one token are all accepted, and cost one look-up", async () => {
    const edge = createEdge();
    const caller = as(edge, makeToken(edge, ["runs:write"]), AT);
    const gate = gateOf(edge, "grant");
    const answers = times(20, () => statusOf(caller.send("POST", "/v1/runs", { argv: ["true"] })));
    await gate.reached(1);
    gate.open();
    expect(counted(await Promise.all(answers))).toEqual({ 201: 20 });
    expect(lookUps(edge)).toBe(1);
  });

  test("of 1,000 submissions with one token are all accepted", async () => {
    const edge = createEdge();
    const caller = as(edge, makeToken(edge, ["runs:write"]), AT);
    const answers = times(1_000, () => statusOf(caller.send("POST", "/v1/runs", { argv: ["true"] })));
    expect(counted(await Promise.all(answers))).toEqual({ 201: 1_000 });
    expect(lookUps(edge)).toBe(1);
  });

  test("of one token, and of 20, are all accepted by a real Worker that has just started", async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const made = await Promise.all(
      times(20, (n) => server.json(201, "POST", "/v1/tokens", { name: `t-${n}`, preset: "viewer" })),
    );
    const tokens: string[] = made.map(({ token }) => token);
    const sent = [...times(100, () => tokens[0]), ...tokens];
    const answers = sent.map((token) =>
      statusOf(server.send("GET", "/v1/caller", { authorization: `Bearer ${token}` })),
    );
    expect(counted(await Promise.all(answers))).toEqual({ 200: 120 });
  });

  test("of a session's cookie, right after its sign-in, are all accepted (sessions.md#cookie)", async () => {
    const edge = createEdge();
    const headers = { ...AT, cookie: await signedIn(edge), "sec-fetch-site": "same-origin" };
    const answers = times(8, () => statusOf(edge.send("GET", `${HTTPS}/v1/caller`, headers)));
    expect(counted(await Promise.all(answers))).toEqual({ 200: 8 });
    expect(lookUps(edge, "sessionGrant")).toBe(1);
  });

  test("of 50 good tokens from one address wait for each other, and are all accepted", async () => {
    const edge = createEdge();
    const tokens = times(50, () => makeToken(edge, ["runs:read"]));
    const gate = gateOf(edge, "grant");
    const answers = tokens.map((token) => statusOf(as(edge, token, AT).send("GET", "/v1/caller")));
    await gate.reached(WRONG_SECRET_RATE.quota);
    gate.open();
    expect(counted(await Promise.all(answers))).toEqual({ 200: 50 });
  });

  test("of 50 good codes from one address wait for each other, and all start a session", async () => {
    const edge = createEdge();
    const owners = times(5, () => as(edge, makeToken(edge, ["runs:read"])));
    const codes = await Promise.all(times(50, (n) => owners[n % 5]?.json(201, "POST", "/v1/sessions")));
    const answers = codes.map(({ code }) => statusOf(signIn(edge, code)));
    expect(counted(await Promise.all(answers))).toEqual({ 204: 50 });
  });

  test("of 100 wrong tokens cost five look-ups, also while none of them has ended", async () => {
    const edge = createEdge();
    vi.useFakeTimers({ toFake: ["Date"] }); // or one would be free again before all are judged
    const gate = gateOf(edge, "grant");
    const answers = times(100, () => statusOf(as(edge, stranger(), AT).send("GET", "/v1/caller")));
    await gate.reached(5);
    gate.open();
    expect(counted(await Promise.all(answers))).toEqual({ 401: 5, 429: 95 });
    expect(lookUps(edge)).toBe(5);
  });

  test("of one wrong token cost one look-up, and count once", async () => {
    const edge = createEdge();
    const wrong = as(edge, stranger(), AT);
    const answers = times(20, () => statusOf(wrong.send("GET", "/v1/caller")));
    expect(counted(await Promise.all(answers))).toEqual({ 401: 20 });
    expect(lookUps(edge)).toBe(1);
  });

  test("count for nothing if the registry cannot be asked", async () => {
    const edge = createEdge();
    const caller = as(edge, makeToken(edge, ["runs:read"]), AT);
    const { fault } = edge;
    edge.fault = () => {
      throw new DroverError("unavailable", "a part of Drover could not be reached");
    };
    for (let tries = 0; tries < 10; tries += 1)
      expect(await statusOf(caller.send("GET", "/v1/caller"))).toBe(503);
    edge.fault = fault;
    await caller.json(200, "GET", "/v1/caller");
  });

  test("that a limit to networks refuses do not count as wrong (access.md#limits)", async () => {
    const edge = createEdge();
    for (let tries = 0; tries < 10; tries += 1) {
      const token = makeToken(edge, ["runs:read"], { sources: ["198.51.100.0/24"] });
      await as(edge, token, AT).json(403, "GET", "/v1/caller");
    }
  });

  describe("that wait for a request which the platform has ended", () => {
    /** The platform ends the next request at the look-up of its token, and keeps its other calls. */
    function endNextAtLookUp(edge: Edge): { calls: number } {
      const seen = { calls: 0 };
      const never = new Promise<never>(() => undefined);
      const { registry } = edge.objects;
      edge.objects.registry = () =>
        new Proxy(registry(), {
          get(target, name) {
            if (name !== "grant") return Reflect.get(target, name);
            seen.calls += 1;
            return seen.calls === 1 ? () => never : Reflect.get(target, name);
          },
        });
      return seen;
    }

    /** Sends many requests with one token, of which the first is ended. Tells what the others get. */
    async function sentWith(edge: Edge, token: string) {
      const seen = endNextAtLookUp(edge);
      const caller = as(edge, token, AT);
      void caller.send("GET", "/v1/caller");
      const others = times(10, () => statusOf(caller.send("GET", "/v1/caller")));
      await vi.advanceTimersByTimeAsync(9_000);
      expect(seen.calls).toBe(1);
      await vi.advanceTimersByTimeAsync(2_000);
      return { statuses: counted(await Promise.all(others)), calls: seen.calls };
    }

    beforeEach(() => {
      vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout"] });
    });

    test("do not wait for ever", async () => {
      const edge = createEdge();
      expect(await sentWith(edge, makeToken(edge, ["runs:read"]))).toEqual({
        statuses: { 200: 10 },
        calls: 2,
      });
    });

    test("are accepted with a secret newer than what is remembered (access.md#rotation)", async () => {
      const edge = createEdge();
      const token = makeToken(edge, ["runs:read"]);
      await as(edge, token, AT).json(200, "GET", "/v1/caller");
      const random = crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES));
      const { id, text } = tokenText(random, token.slice(4, 14));
      edge.tokens.rotate(id, contentDigest(text), 1_000, "admin"); // as another isolate would
      expect(await sentWith(edge, text)).toEqual({ statuses: { 200: 10 }, calls: 2 });
    });
  });

  test("after a revocation do not wait for a look-up from before it (access.md#cache)", async () => {
    const edge = createEdge();
    const { id, token } = await edge.json(201, "POST", "/v1/tokens", { name: "ci", preset: "viewer" });
    let isHeld = true;
    const { registry } = edge.objects;
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    edge.objects.registry = () => {
      const api = registry();
      return new Proxy(api, {
        get(target, name) {
          if (name !== "grant" || !isHeld) return Reflect.get(target, name);
          return async (...args: Parameters<typeof api.grant>) => {
            const grant = await api.grant(...args);
            asked.resolve();
            await held.promise;
            return grant;
          };
        },
      });
    };
    const before = statusOf(as(edge, token, AT).send("GET", "/v1/caller"));
    await asked.promise;
    isHeld = false;
    await edge.json(200, "DELETE", `/v1/tokens/${id}`);
    await as(edge, token, AT).json(401, "GET", "/v1/caller");
    held.resolve();
    expect(await before).toBe(200);
    await as(edge, token, AT).json(401, "GET", "/v1/caller");
  });
});

describe("an address with a program that goes on with an old secret (access.md#rate-limits)", () => {
  const LOOPBACK = "http://127.0.0.1:8787";
  const proofOf = (edge: Edge, token: string) =>
    edge.send("GET", `/proof?nonce=${"n".repeat(32)}&token=${token.slice(4, 14)}`, AT);
  const KINDS: [string, (edge: Edge) => Promise<() => Promise<Response>>][] = [
    [
      "a token that is not valid",
      async (edge) => {
        const wrong = as(edge, stranger(), AT);
        return () => wrong.send("GET", "/v1/caller");
      },
    ],
    [
      "the cookie of a session that has ended",
      async (edge) => {
        const cookie = await signedIn(edge);
        await signOut(edge, cookie);
        return () =>
          edge.send("GET", `${HTTPS}/v1/caller`, { ...AT, cookie, "sec-fetch-site": "same-origin" });
      },
    ],
    [
      "a code that was used",
      async (edge) => {
        const { code } = await edge.json(201, "POST", "/v1/sessions");
        await signIn(edge, code);
        return () => signIn(edge, code);
      },
    ],
    [
      "sign-outs of a session that has ended",
      async (edge) => {
        const cookie = await signedIn(edge);
        await signOut(edge, cookie);
        return () => signOut(edge, cookie);
      },
    ],
    [
      "proofs for a token that is not valid",
      async (edge) => {
        const wrong = stranger();
        return () => proofOf(edge, wrong);
      },
    ],
  ];

  describe.each(KINDS)("%s", (name, prepare) => {
    /** Sends it each 6 s, which is longer than an isolate remembers that it is wrong, until it is refused. */
    const polled = async (edge: Edge) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const send = await prepare(edge);
      let last = await send();
      for (let tries = 0; tries < 30; tries += 1) {
        vi.setSystemTime(Date.now() + (tries < 15 ? 6_000 : 0));
        last = await send();
      }
      return last;
    };

    test("is limited, by an answer that says when to return", async () => {
      const edge = createEdge();
      edge.url = LOOPBACK;
      const answer = await polled(edge);
      expect(answer.status).toBe(429);
      const headers = Object.fromEntries(answer.headers);
      expect(headers).toMatchObject({
        "ratelimit-policy": '"requests";q=5;w=60',
        ratelimit: expect.stringMatching(/^"requests";r=0;t=\d+$/),
        "retry-after": expect.stringMatching(/^[1-9]\d*$/),
      });
    });

    test("takes nothing from new tokens, sign-ins, sign-outs and proofs of others there", async () => {
      const edge = createEdge();
      edge.url = LOOPBACK;
      const cookie = name.startsWith("sign-outs") ? undefined : await signedIn(edge);
      const isOfCodes = name.startsWith("a code");
      await polled(edge);
      for (const good of times(3, () => makeToken(edge, ["runs:read"]))) {
        expect(await statusOf(proofOf(edge, good))).toBe(200);
        await as(edge, good, AT).json(200, "GET", "/v1/caller");
      }
      if (!isOfCodes) await signedIn(edge);
      if (cookie !== undefined) expect(await statusOf(signOut(edge, cookie))).toBe(204);
    });
  });

  test("asks for five proofs by ids that nobody has, and no more for a while", async () => {
    const edge = createEdge();
    edge.url = LOOPBACK;
    vi.useFakeTimers({ toFake: ["Date"] });
    const answers = await Promise.all(times(100, () => statusOf(proofOf(edge, stranger()))));
    expect(counted(answers)).toEqual({ 200: 5, 429: 95 });
    expect(lookUps(edge)).toBe(5);
    const problem: Json = await (await proofOf(edge, stranger())).json();
    expect(problem).toMatchObject({ code: "too_many_requests", temporary: true });
    expect(await statusOf(edge.send("GET", `/proof?nonce=${"n".repeat(32)}`, AT))).toBe(200);
    await as(edge, TOKEN, AT).json(200, "GET", "/v1/caller");
  });
});

describe("a session that was in use here (access.md#rate-limits)", () => {
  const PAGE = { ...AT, "sec-fetch-site": "same-origin" };
  const callerOf = (edge: Edge, cookie: string) =>
    statusOf(edge.send("GET", `${HTTPS}/v1/caller`, { ...PAGE, cookie }));
  /** The cookie of a session that was used once. */
  async function usedSession(edge: Edge): Promise<string> {
    const cookie = await signedIn(edge);
    expect(await callerOf(edge, cookie)).toBe(200);
    return cookie;
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });

  test("is ended by its sign-out, however many wrong cookies its address has sent", async () => {
    const edge = createEdge();
    const cookie = await usedSession(edge);
    const wrong = await Promise.all(times(6, () => signedIn(other)));
    const answers: number[] = [];
    for (const one of wrong) answers.push(await statusOf(signOut(edge, one)));
    expect(counted(answers)).toEqual({ 204: 5, 429: 1 });
    expect(await statusOf(signOut(edge, cookie))).toBe(204);
    expect(edge.sessions.list(null)).toEqual([]);
  });

  test("and has ended counts when it is signed out again and again", async () => {
    const edge = createEdge();
    const cookie = await usedSession(edge);
    const answers: number[] = [];
    for (let tries = 0; tries < 7; tries += 1) answers.push(await statusOf(signOut(edge, cookie)));
    expect(counted(answers)).toEqual({ 204: 6, 429: 1 });
  });

  test("and whose break-glass secret was replaced counts as a wrong one (sessions.md#life)", async () => {
    const edge = createEdge();
    const cookie = await usedSession(edge);
    edge.adminToken = "another secret";
    const answers: number[] = [];
    for (let tries = 0; tries < 20; tries += 1) answers.push(await callerOf(edge, cookie));
    // A secret that was wrong before leaves two of the five to others.
    expect(counted(answers)).toEqual({ 401: 3, 429: 17 });
  });

  test("and whose break-glass secret was replaced counts once for what comes at once", async () => {
    const edge = createEdge();
    const cookie = await usedSession(edge);
    edge.adminToken = "another secret";
    const answers = await Promise.all(times(20, () => callerOf(edge, cookie)));
    expect(counted(answers)).toEqual({ 401: 20 });
    expect(await callerOf(edge, cookie)).toBe(401);
  });
});
