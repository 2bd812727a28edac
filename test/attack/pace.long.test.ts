import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, HttpHost, OWN_POOL } from "../edge/support/http-host.ts";
import { type Server, startServer } from "../edge/support/server.ts";
import { until } from "../local/support/scratch.ts";

// A host that never pauses is told to wait, and takes nothing of others.

let server: Server;
beforeAll(async () => {
  server = await startServer();
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
});
afterAll(() => server.stop());

async function joined(): Promise<HttpHost> {
  const { code } = await server.json(201, "POST", "/v1/enrollments", { pool: "own" });
  const host = new HttpHost(server);
  await host.enroll(code);
  return host;
}

/** Claims so many runs of nobody, each time others. */
const claims = (count: number, of: string) =>
  Array.from({ length: count }, (_, n) => ({ id: `lie-${of}-${n}/main/1.1`, state: "running" }));

/** Lies until it is refused; the answer that says so. */
async function floodOf(host: HttpHost) {
  for (let n = 0; ; n += 1) {
    const answer = await host.report({ attempts: claims(1_000, `${n}`) });
    if (answer.status !== 200) return answer;
  }
}

test("X5: a host that lies without a pause is refused for a while, and other hosts are not", async () => {
  const [liar, honest] = [await joined(), await joined()];
  const refused = await floodOf(liar);
  expect(refused).toMatchObject({ status: 429, body: { code: "busy" } });
  expect((await honest.report()).status).toBe(200);
  await until("the liar is heard", async () => (await liar.report()).status === 200 || undefined);
});

test("X5: calls that are not signed by the host use nothing up", async () => {
  const host = await joined();
  const thief = new HttpHost(server);
  const { worker, incarnation } = host;
  Object.assign(thief, { worker, incarnation });
  for (let n = 0; n < 250; n += 1) expect((await thief.report()).status).toBe(401);
  expect((await host.report()).status).toBe(200);
});

describe("a host that brings logs", () => {
  /** Everything that objects of the local runtime have stored: a file for each of them. */
  const objects = () =>
    readdirSync(server.stateDir, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".sqlite"),
    );

  async function bring(host: HttpHost, attempt: string): Promise<Answer> {
    const path = `/v1/hosts/${host.worker}/logs/${encodeURIComponent(attempt)}/stdout?offset=0`;
    const headers = { ...host.headers("PUT", path, "x"), "content-type": "application/octet-stream" };
    const answer = await server.send("PUT", path, headers, "x");
    return { status: answer.status, body: await answer.json() };
  }

  test("of runs that it was never given, asks no run, and leaves nothing of their names", async () => {
    const host = await joined();
    await host.report();
    const before = objects().length;
    expect(before).toBeGreaterThan(0);
    for (let n = 0; n < 20; n += 1) {
      const refused: Answer = await bring(host, `nobody-${n}/main/1.1`);
      expect(refused).toMatchObject({ status: 404, body: { code: "unknown_attempt" } });
      expect(refused.body.detail).toContain("was never placed on worker");
    }
    expect(objects().length).toBe(before);
  });

  test("without a pause is refused for a while, as one that reports is", async () => {
    const host = await joined();
    // More at once than it may save up: a busy machine may answer more slowly than its pace.
    const refused = await until("it is refused", async () => {
      const answers = await Promise.all(Array.from({ length: 400 }, () => bring(host, "nobody/main/1.1")));
      return answers.find(({ status }) => status === 429);
    });
    expect(refused.body.code).toBe("busy");
    await until("the host is heard", async () => (await host.report()).status === 200 || undefined);
  });
});
