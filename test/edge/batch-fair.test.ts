import { afterAll, beforeAll, expect, test } from "vitest";
import { OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";

// A large batch takes seconds, in which hosts report and others ask (budgets.md#a-batch-lets-others-through).

const POOL = "no-machines";
const RUNS = 400;
const LEAST_ANSWERS = 5;

let server: Server;
beforeAll(async () => {
  server = await startServer();
  await server.json(201, "PUT", `/v1/pools/${POOL}`, { ...OWN_POOL, maxQueue: RUNS });
});
afterAll(() => server?.stop());

test("while a batch is stored, the control plane answers others", async () => {
  let isStored = false;
  const runs = Array.from({ length: RUNS }, () => ({ argv: ["true"], pool: POOL }));
  const batch = server.json(201, "POST", "/v1/runs", { runs }).finally(() => {
    isStored = true;
  });
  let answers = 0;
  while (!isStored) {
    await server.json(200, "GET", `/v1/pools/${POOL}`);
    answers += 1;
  }
  const { items } = await batch;
  expect(items).toHaveLength(RUNS);
  console.log(`${answers} answers`);
  expect(answers).toBeGreaterThan(LEAST_ANSWERS);
});
