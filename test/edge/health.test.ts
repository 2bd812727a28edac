import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "./support/server.ts";
import { CLEAN_EXIT, SteadyHost } from "./support/steady-host.ts";

// How a client waits for a healthy run, over HTTP (health.md#wait).

let server: Server;
let host: SteadyHost;
beforeAll(async () => {
  server = await startServer();
  host = await SteadyHost.join(server, "own");
});
afterAll(() => server.stop());

const CHECKS = [{ name: "port", tcp: { port: 80 } }];
let made = 0;

async function running(more: object = { checks: CHECKS }): Promise<{ id: string; attempt: string }> {
  made += 1;
  const id = `web-${made}`;
  const resources = { vcpus: 0, memory: 0 };
  await server.json(201, "POST", "/v1/runs", { id, argv: ["true"], pool: "own", resources, ...more });
  return { id, attempt: await host.start(id) };
}

const says = (attempt: string, status: string) =>
  host.tell(attempt, { state: "running", checks: [{ name: "port", status, sinceAgoMs: 1 }] });
const wait = (id: string, query = "wait=30s&health=healthy") =>
  server.json(200, "GET", `/v1/runs/${id}?${query}`);

test("the answer is held until all checks pass", async () => {
  const { id, attempt } = await running();
  const waiting = wait(id);
  await says(attempt, "critical");
  expect(await wait(id, "wait=10ms&health=healthy")).toMatchObject({ state: "running", health: "unhealthy" });
  await says(attempt, "passing");
  const status = await waiting;
  expect(status).toMatchObject({ state: "running", health: "healthy" });
  expect(status.tasks[0].checks).toMatchObject([{ name: "port", status: "passing" }]);
  await host.end(id, { state: "exited", exit: CLEAN_EXIT });
});

test("it is not held for a run that has ended, or has no checks: it has no `health`", async () => {
  const { id } = await running();
  const waiting = wait(id);
  await host.end(id, { state: "exited", exit: { ...CLEAN_EXIT, code: 2 } });
  const ended = await waiting;
  expect(ended).toMatchObject({ state: "complete", exitCode: 2 });
  expect(ended).not.toHaveProperty("health");
  const { id: other } = await running({});
  expect(await wait(other)).not.toHaveProperty("health");
  await host.end(other, { state: "exited", exit: CLEAN_EXIT });
});

test.each([
  ["health=healthy&state=running", "cannot be combined with `state`"],
  ["health=unhealthy", "must be `healthy`"],
])("`%s` is refused", async (query, detail) => {
  const { id } = await running();
  const { errors } = await server.json(400, "GET", `/v1/runs/${id}?wait=1s&${query}`);
  expect(errors).toMatchObject([{ pointer: "?health", detail: expect.stringContaining(detail) }]);
  await host.end(id, { state: "exited", exit: CLEAN_EXIT });
});
