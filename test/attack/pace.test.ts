import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpHost, OWN_POOL } from "../edge/support/http-host.ts";
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
