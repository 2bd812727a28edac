import { expect, test } from "vitest";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();

const exited = (run: string) => ({
  id: `${run}/main/1.1`,
  state: "exited" as const,
  startedAgoMs: 5,
  endedAgoMs: 1,
  exit: { code: 0, signal: null, oomKilled: false, message: "" },
});

test("A6 M04-last: a worker's status and its line in a list name its last run", async () => {
  await makePool();
  await submit("first");
  const { worker, host } = await bootMachine(world.cloud);
  for (const run of ["first", "second"]) {
    if (run !== "first") await submit(run);
    await host.report({}, 5_000);
    host.attempts = [exited(run)];
    await host.report();
    host.attempts = [];
    const isLast = (one: { lastRun: { run: string } | null } | undefined) => one?.lastRun?.run === run;
    const listed = await eventually(async () => {
      const found = (await objects.pool("default").workers(["idle"])).find((one) => one.id === worker);
      return isLast(found) ? found : undefined;
    });
    const { endedAt = "" } = listed.lastRun ?? {};
    expect(listed.idleSince).toBe(endedAt > (listed.readyAt ?? "") ? endedAt : listed.readyAt);
    const status = await objects.worker(worker).read();
    expect(isLast(status)).toBe(true);
    expect(status.idleSince).toBe(status.lastRun?.endedAt);
  }
});
