import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import type { Json } from "./support/edge.ts";
import { type Answer, HttpHost, OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";

// What a host is refused, as written in host-protocol.md#refusals, over real HTTP, and that each is seen in
// the worker's events. The hosts are self-hosted machines, whose codes can be had for the asking.

let server: Server;
beforeAll(async () => {
  server = await startServer();
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
});
afterAll(() => server.stop());

const invite = (ttl = "1h"): Promise<Json> =>
  server.json(201, "POST", "/v1/enrollments", { pool: "own", ttl });
const eventsOf = async (worker: string): Promise<Json[]> =>
  (await server.json(200, "GET", `/v1/workers/${worker}`)).events;

/** A host that has enrolled and reported. */
async function readyHost(): Promise<HttpHost> {
  const host = new HttpHost(server);
  expect(await host.enroll((await invite()).code)).toMatchObject({ status: 200 });
  expect(await host.report()).toMatchObject({ status: 200 });
  return host;
}

async function clone(host: HttpHost): Promise<HttpHost> {
  const copy = new HttpHost(server, host.secret);
  copy.worker = host.worker;
  expect((await copy.join("boot of the clone")).status).toBe(200);
  return copy;
}

/** The answer to a host that is refused, and which worker has seen it if it is not that of the ready host. */
type Refused = Answer & { worker?: string };

async function withCode(use: (code: string) => Promise<Answer>): Promise<Refused> {
  const { code, worker } = await invite();
  return { ...(await use(code)), worker };
}

// What is done, how it is answered, and how the worker's events call it.
const TABLE: [string, (host: HttpHost) => Promise<Refused>, number, string][] = [
  [
    "a used code with another secret, as a task finds it in its machine's user data (case 72)",
    () =>
      withCode(async (code) => {
        expect((await new HttpHost(server).enroll(code)).status).toBe(200);
        return new HttpHost(server).enroll(code);
      }),
    409,
    "code_used",
  ],
  [
    "a report that was changed on its way",
    async (host) => {
      const path = `/v1/hosts/${host.worker}/reports`;
      const headers = host.headers("POST", path, JSON.stringify(host.next()));
      const json = { ...headers, "content-type": "application/json" };
      const answer = await server.send("POST", path, json, JSON.stringify(host.next()));
      return { status: answer.status, body: await answer.json() };
    },
    401,
    "bad_signature",
  ],
  [
    "an earlier start of the agent",
    async (host) => {
      const later = new HttpHost(server, host.secret);
      later.worker = host.worker;
      expect((await later.join()).body.incarnation).toBe(2);
      return host.report();
    },
    409,
    "stale_incarnation",
  ],
  [
    "the first of two clones, by the second",
    async (host) => {
      await clone(host);
      return host.report();
    },
    409,
    "stale_incarnation",
  ],
  [
    "the first of two clones, when it comes back",
    async (host) => {
      await clone(host);
      return host.join();
    },
    409,
    "cloned",
  ],
  [
    "the second of two clones, when it starts again after that",
    async (host) => {
      const copy = await clone(host);
      await host.join();
      return copy.join("boot of the clone");
    },
    // Nothing runs there, so it is over at once: neither is let in any more.
    410,
    "enrollment_over",
  ],
];

describe("it is refused, and seen in the events of the worker that it was for", () => {
  test.each(TABLE)("%s", async (_what, act, status, code) => {
    const host = await readyHost();
    const answer = await act(host);
    expect(answer).toMatchObject({ status, body: { status, code, temporary: false } });
    const refused = (await eventsOf(answer.worker ?? host.worker)).filter((event) => event.code === code);
    expect(refused).toMatchObject([{ type: "Refused", message: answer.body.detail }]);
    if (code === "cloned") {
      const worker = await server.json(200, "GET", `/v1/workers/${host.worker}`);
      expect(worker.idleBehavior).toBe("drain");
      expect(worker.events.map(({ type }: Json) => type)).toContain("Cloned");
    }
  });

  test("a code that has expired", async () => {
    const { code, worker, expiresAt } = await invite("1s");
    await until("its worker is gone", async () => {
      const { state } = await server.json(200, "GET", `/v1/workers/${worker}`);
      return (state === "gone" && Date.now() > Date.parse(expiresAt) + 1_000) || undefined;
    });
    const answer = await new HttpHost(server).enroll(code);
    expect(answer).toMatchObject({ status: 410, body: { code: "enrollment_over" } });
    expect((await eventsOf(worker)).map(({ code: kind }) => kind)).toContain("enrollment_over");
  });
});

test.each([
  ["join", { start: "a-start-of-the-agent", bootId: "boot-1", odd: 1 }, "/odd"],
  ["join", "boot-1", ""],
  ["reports", { usage: { agoMs: 0, host: {}, attempts: {} } }, "/usage/host/cpuMs"],
] as const)("a signed %s that is not as agreed names the field", async (what, content, pointer) => {
  const host = await readyHost();
  const full = what === "join" ? content : { ...host.next(), ...(content as object) }; // a report is one
  const { status, body } = await host.call(what, full as object); // one is none on purpose
  expect(status).toBe(400);
  expect(body.errors.map((error: Json) => error.pointer)).toContain(pointer);
});

test("a repeated report is answered with the current orders, and counts for nothing", async () => {
  const host = await readyHost();
  const body = host.next({ broken: null });
  const first = await host.call("reports", body, host.worker);
  const before = await server.json(200, "GET", `/v1/workers/${host.worker}`);
  const replay = { ...body, broken: "it was not" };
  const again = await host.call("reports", replay, host.worker);
  expect(again).toMatchObject({ status: 200, body: { revision: first.body.revision, answers: 2 } });
  const after = await server.json(200, "GET", `/v1/workers/${host.worker}`);
  expect(after).toMatchObject({ idleBehavior: "run", leaseUntil: before.leaseUntil, state: before.state });
  expect(after.events.at(-1)).toMatchObject({ type: "Repeated Report", code: "repeated_report" });
});

test("many refusals of one kind are one event a minute, which hides no other kind", async () => {
  const host = await readyHost();
  const late = { atMs: Date.now() - 3_600_000 };
  for (let n = 0; n < 20; n += 1) await host.call("reports", host.next(), host.worker, late);
  await host.call("reports", { ...host.next(), incarnation: 7 });
  const kinds = (await eventsOf(host.worker)).flatMap(({ code }) => code ?? []);
  expect(kinds).toEqual(["bad_signature", "stale_incarnation"]);
});
