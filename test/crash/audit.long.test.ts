import { rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { sized } from "../chance/length.ts";
import { SEED } from "../chance/seed.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { Chance } from "../sim/rng.ts";

// The whole group of `drover up` gets SIGKILL while somebody aborts runs, holds a machine and disables an
// endpoint, so that their entries wait in outboxes. In the end each is in the log once.

const STRIKES = sized(2, 10);
const RUNS_A_STRIKE = 20;

const home = makeHome("audit-crash");
const chance = new Chance(SEED);
let up: RunningDrover;
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

async function strike(): Promise<void> {
  process.kill(-up.pid, "SIGKILL");
  await up.ended;
  up = await startDrover(home);
}

/** Asks until the answer says that it was done. What was done before changes nothing, and has no entry. */
async function insist(path: string): Promise<void> {
  await until(`${path} is acknowledged`, async () => {
    const answer = await up.call("POST", path, {}).catch(() => undefined);
    return answer?.ok || undefined;
  });
}

/** What the log says was done, each as often as it says so. */
async function logged(): Promise<string[]> {
  const done: string[] = [];
  for (let cursor = ""; ; ) {
    const { items, next } = await up.json(200, "GET", `/v1/audit?limit=500${cursor}`);
    for (const { action, target } of items) done.push(`${action} ${target.name ?? target.id}`);
    if (next === null) return done.sort();
    cursor = `&cursor=${encodeURIComponent(next)}`;
  }
}

/** The first machine, once it has a run, which keeps it. */
async function machine(): Promise<string> {
  await up.json(201, "POST", "/v1/runs", { id: "keeps", argv: ["sleep", "600"] });
  return until("a machine has the run", async () => {
    const { items } = await up.json(200, "GET", "/v1/workers?state=running");
    return items[0]?.id;
  });
}

test(`each entry is in the log once after ${STRIKES} crashes (audit.md#outbox, seed ${SEED})`, {
  timeout: 60_000 + STRIKES * 60_000,
}, async () => {
  up = await startDrover(home);
  const worker = await machine();
  // No run has this label, so nothing is sent. To enable an endpoint whose deliveries fail is an act each
  // time, since it tries them again.
  const labels = { receiver: "none" };
  await up.json(201, "POST", "/v1/webhooks", {
    name: "ci",
    url: "https://receiver.example.com/hook",
    labels,
  });
  const expected = ["run.submit keeps", "webhook.create ci"];
  for (let n = 1; n <= STRIKES; n += 1) {
    const ids = Array.from({ length: RUNS_A_STRIKE }, (_, i) => `run-${n}-${i}`);
    await up.json(201, "POST", "/v1/runs", { runs: ids.map((id) => ({ id, argv: ["sleep", "600"] })) });
    const [behavior, switched] = n % 2 === 1 ? ["hold", "disable"] : ["resume", "enable"];
    const paths = [
      ...ids.map((id) => `/v1/runs/${id}/abort`),
      `/v1/workers/${worker}/${behavior}`,
      `/v1/webhooks/ci/${switched}`,
    ];
    // One of the answers is the moment: its entry, and those of its neighbors, are on their way.
    const moment = Promise.withResolvers<void>();
    let left = chance.between(1, paths.length);
    const asked = paths.map(async (path) => {
      await up.call("POST", path, {}).catch(() => undefined);
      left -= 1;
      if (left === 0) moment.resolve();
    });
    await moment.promise;
    await strike();
    await Promise.all(asked);
    await Promise.all(paths.map(insist));
    // What was acknowledged just now may not have left the outboxes yet.
    await strike();
    expected.push(...ids.flatMap((id) => [`run.submit ${id}`, `run.abort ${id}`]));
    expected.push(`worker.${behavior} ${worker}`, `webhook.${switched} ci`);
  }
  const ours = async () => (await logged()).filter((one) => !one.startsWith("pool."));
  await until("the log has all entries", async () => {
    return (await ours()).length >= expected.length || undefined;
  });
  expect(await ours()).toEqual(expected.sort());
  await strike();
  expect(await ours()).toEqual(expected.sort());
});
