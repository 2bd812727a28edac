import { rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { Receiver } from "../edge/support/receiver.ts";

// The whole group of `drover up` gets SIGKILL while a receiver of webhooks is down, at several moments. When
// both are back, every end of a run arrives.

const home = makeHome("webhooks-crash");
const receiver = new Receiver();
let up: RunningDrover;
afterAll(async () => {
  await receiver.down();
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const PATIENT = { timeout: 120_000, interval: 50 };
const start = () => startDrover(home, {}, [], ["--allow-local-webhooks"]);

async function kill(): Promise<void> {
  process.kill(-up.pid, "SIGKILL");
  await up.ended;
}

/** Submits runs that are over at once, and waits for the ends of those before `waited`. */
async function runs(prefix: string, count: number, waited = count): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  await up.json(201, "POST", "/v1/runs", { runs: ids.map((id) => ({ id, argv: ["true"] })) });
  for (const id of ids.slice(0, waited)) {
    const ended = async () => (await up.json(200, "GET", `/v1/runs/${id}?wait=10s`)).finishedAt;
    await expect.poll(ended, PATIENT).not.toBeNull();
  }
  return ids;
}

test("nothing is lost when Drover is killed while a receiver is down (webhooks.md#following)", async () => {
  up = await start();
  await receiver.up();
  await up.json(201, "POST", "/v1/webhooks", { name: "ci", url: receiver.url });
  const all = await runs("before", 3);
  await expect.poll(() => new Set(receiver.runs()).size, PATIENT).toBe(all.length);
  await receiver.down();
  // More than may wait at the endpoint: the others are in the rows of the pool.
  all.push(...(await runs("down", 55)));
  await kill();
  up = await start();
  all.push(...(await runs("again", 4, 1)));
  await kill();
  up = await start();
  await receiver.up();
  // The next attempts are five minutes away by now.
  await up.json(200, "POST", "/v1/webhooks/ci/enable", {});
  await expect.poll(() => new Set(receiver.runs()).size, PATIENT).toBe(all.length);
  expect(new Set(receiver.runs())).toEqual(new Set(all));
  const ids = new Map(receiver.got.map(({ id, body }) => [id, body]));
  for (const { id, body } of receiver.got) expect(ids.get(id)).toBe(body);
  expect(ids.size).toBe(all.length);
});
