import { expect, test } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { refusal } from "./support/host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const EXITED = {
  state: "exited" as const,
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
};

const listed = async () => {
  const all = { states: ["complete" as const], labels: {} };
  return (await objects.pool("default").list(all, { limit: 10 })).items.map(({ id }) => id);
};

/** A run that has ended, with logs in its rows and in the bucket. Answers when its pool knows. */
async function endedRun(id: string): Promise<void> {
  await submit(id);
  const { host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  const data = "x".repeat(100_000);
  const log = { stdout: { from: 0, size: data.length, data: btoa(data) } };
  host.attempts = [{ id: `${id}/main/1.1`, ...EXITED, log }];
  await host.report();
  await eventually(async () => ((await listed()).includes(id) ? true : undefined));
  host.attempts = [];
  await host.report();
  await bindings.LOGS?.put(`logs/${id}/main/1.1/stdout/000000000000-1`, "x");
  await bindings.LOGS?.put(`logs/${id}-other/main/1.1/stdout/000000000000-1`, "x");
}

const inBucket = async () => (await bindings.LOGS?.list())?.objects.map(({ key }) => key.split("/")[1]);

/** Nothing but its tombstone is left: each call says so. */
async function isForgotten(id: string): Promise<void> {
  const run = objects.allocation(id);
  expect(await refusal(run.read())).toMatchObject({ code: "expired_run" });
  expect(await refusal(run.wait(["complete"], 0))).toMatchObject({ code: "expired_run" });
  expect(await refusal(run.events(0, 0))).toMatchObject({ code: "expired_run" });
  expect(await refusal(submit(id))).toMatchObject({ code: "expired_run" });
  expect(await listed()).toEqual([]);
  expect(await inBucket()).toEqual([`${id}-other`]);
}

test("an ended run is deleted with its logs, and its id answers that (api.md, DELETE)", async () => {
  await makePool();
  await endedRun("old");
  const { submittedAt } = await objects.allocation("old").read();
  await objects.pool("default").forget({ run: "old", submittedAt: Date.parse(submittedAt) });
  await isForgotten("old");
});

test("a pool lets ended runs go by itself when their retention is over (`retention`)", async () => {
  await makePool();
  await endedRun("old");
  const before = meter.rowsWritten;
  // What would come in a week: its logs are in two rows, each of which is one more.
  await makePool({ retention: { runs: "1ms" } });
  await eventually(async () => ((await listed()).length === 0 ? true : undefined));
  await isForgotten("old");
  const rows = meter.rowsWritten - before;
  console.info(`forgetting a run, with two configurations stored and its logs' rows: ${rows} rows written`);
  expect(rows).toBeLessThanOrEqual(8);
});

test("a run of which the pool has not heard that it ended is kept (rule R3)", async () => {
  await makePool();
  await submit("new");
  const { submittedAt } = await objects.allocation("new").read();
  const asked = objects.pool("default").forget({ run: "new", submittedAt: Date.parse(submittedAt) });
  expect(await refusal(asked)).toMatchObject({ code: "not_acknowledged", temporary: true });
  expect((await objects.allocation("new").read()).state).toBe("pending");
});
