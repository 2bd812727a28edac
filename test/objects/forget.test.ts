import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { TOMBSTONE_MS } from "../../src/shared/limits.ts";
import { refusal } from "./support/host.ts";
import {
  bindings,
  bootMachine,
  eventually,
  freshWorld,
  letAlarmsFire,
  makePool,
  objects,
  submit,
} from "./support/world.ts";

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
  const { worker, host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  const data = "x".repeat(100_000);
  const log = { stdout: { from: 0, size: data.length, data: btoa(data) } };
  host.attempts = [{ id: `${id}/main/1.1`, ...EXITED, log }];
  await host.report();
  await eventually(async () => ((await listed()).includes(id) ? true : undefined));
  host.attempts = [];
  await host.report();
  await letAlarmsFire(worker);
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

test("an ended run is deleted with its logs, and its id answers that (api.md#delete)", async () => {
  await makePool();
  await endedRun("old");
  const { submittedAt } = await objects.allocation("old").read();
  await objects.pool("default").forget({ run: "old", submittedAt: Date.parse(submittedAt) }, "admin");
  await isForgotten("old");
});

test("logs go before their run, from rows and bucket; reading them is a 410 then (`retention`)", async () => {
  await makePool({ retention: { runs: "1h", logs: "3s" } });
  await endedRun("old");
  const run = objects.allocation("old");
  const stdout = { task: "main", stream: "stdout" as const, from: 0, maxBytes: 10, waitMs: 0 };
  const before = meter.rowsWritten;
  const { finishedAt, stdoutRef } = await run.read();
  expect(stdoutRef).toBe("/v1/runs/old/logs/main/stdout");
  expect(new TextDecoder().decode((await run.log(stdout)).data)).toBe("xxxxxxxxxx");
  const gone = await eventually(async () => {
    const { code, message } = await refusal(run.log(stdout));
    return code === "accepted" ? undefined : { code, message };
  });
  expect(gone).toEqual({
    code: "expired_logs",
    message: expect.stringMatching(/deleted at .*retention\.logs/),
  });
  expect(Date.now() - Date.parse(finishedAt ?? "")).toBeGreaterThanOrEqual(3_000);
  await eventually(async () => (await inBucket())?.join() === "old-other" || undefined);
  await eventually(async () => (await run.read()).stdoutRef === null || undefined);
  const kept = await runInDurableObject(bindings.ALLOCATION.getByName("old"), (_, { storage }) => {
    return [...storage.kv.list()].map(([name]) => name);
  });
  expect(kept).toEqual(["state"]);
  expect(await run.read()).toMatchObject({ state: "complete", exitCode: 0, stdoutRef: null });
  expect((await run.events(0, 0)).items.map(({ type }) => type)).toContain("Terminated");
  const rows = meter.rowsWritten - before;
  console.info(`letting the logs of a run go, one row of them: ${rows} rows written`);
  expect(rows).toBeLessThanOrEqual(4);
});

test("an object that was evicted still lets the logs go when their time is over", async () => {
  await makePool({ retention: { runs: "1h", logs: "2s" } });
  await endedRun("old");
  await evictDurableObject(bindings.ALLOCATION.getByName("old"));
  await eventually(async () => (await inBucket())?.join() === "old-other" || undefined);
});

test("a pool lets ended runs go by itself when their retention is over (`retention`)", async () => {
  await makePool();
  await endedRun("old");
  const before = meter.rowsWritten;
  // What would come in a week.
  await makePool({ retention: { runs: "1ms" } });
  await eventually(async () => ((await listed()).length === 0 ? true : undefined));
  await isForgotten("old");
  // The configuration in the registry and in the pool, and its entry of the audit log; one row of output.
  const [configurations, logs] = [3, 1];
  const tally = 1; // of all runs that have ended since the latest one, before the first of their rows goes
  const rows = meter.rowsWritten - before - configurations - logs - tally;
  console.info(`forgetting a run: ${rows} rows written, and one for each row of its logs`);
  expect(rows).toBeLessThanOrEqual(3);
});

test("a deletion costs one row more than what a retention does, and the last of it another", async () => {
  await makePool();
  await endedRun("old");
  // Its entry makes the table of the log.
  await objects.pool("default").invite({ ttlMs: 60_000, by: "admin" });
  const { submittedAt } = await objects.allocation("old").read();
  const before = meter.rowsWritten;
  await objects.pool("default").forget({ run: "old", submittedAt: Date.parse(submittedAt) }, "admin");
  await isForgotten("old");
  const rows = meter.rowsWritten - before - 1 - 1; // a row of output, and a tally, as above
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + TOMBSTONE_MS);
  await runDurableObjectAlarm(bindings.ALLOCATION.getByName("old"));
  const last = meter.rowsWritten - before - 1 - 1 - rows;
  console.info(`deleting a run: ${rows} rows written, and ${last} when its tombstone goes`);
  // The entry of the enrollment has stored the tally, so one of these rows is the entry of the deletion.
  expect([rows, last]).toEqual([4, 1]);
  expect(await refusal(objects.allocation("old").read())).toMatchObject({ code: "unknown_run" });
});

test("a run of which the pool has not heard that it ended is kept (rule R3)", async () => {
  await makePool();
  await submit("new");
  const { submittedAt } = await objects.allocation("new").read();
  const asked = objects.pool("default").forget({ run: "new", submittedAt: Date.parse(submittedAt) }, "admin");
  expect(await refusal(asked)).toMatchObject({ code: "not_acknowledged", temporary: true });
  expect((await objects.allocation("new").read()).state).toBe("pending");
});
