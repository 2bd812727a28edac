import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CLOCK_WAS_SET } from "../../src/shared/time/clock.ts";
import droverWorker from "../../src/worker.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const DAY_MS = 24 * 3_600_000;

test("N10: what lives arms its alarm again once the clock was set back, and nobody else comes", async () => {
  await makePool();
  const main = { name: "main", argv: ["sleep", "600"] };
  await submit("run", { shutdownDelay: "1h", tasks: [main] });
  const { worker, host } = await bootMachine(world.cloud);
  const [order] = await eventually(async () => {
    const { attempts } = await host.report();
    return attempts.length > 0 ? attempts : undefined;
  });
  host.attempts = [{ id: order?.id ?? "", state: "running", startedAgoMs: 0 }];
  await host.report();
  await eventually(async () => (await objects.allocation("run").read()).state === "running" || undefined);
  await objects.allocation("run").abort({ reason: "", by: "test", waitMs: 0 });

  const stubs = [bindings.ALLOCATION.getByName("run"), bindings.CLOUD_WORKER.getByName(worker)];
  for (const stub of stubs) {
    const armed = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    // An alarm is an instant of the clock: if that is set back by a day, it comes a day later.
    await runInDurableObject(stub, (_, { storage }) => storage.setAlarm((armed ?? 0) + DAY_MS));
    await evictDurableObject(stub);
  }
  const event = { cron: CLOCK_WAS_SET, scheduledTime: Date.now(), noRetry() {} };
  await droverWorker.scheduled(event, bindings);
  for (const stub of stubs) {
    const armed = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    expect(armed).toBeGreaterThan(0);
    expect(armed).toBeLessThan(Date.now() + DAY_MS / 2);
  }
});
