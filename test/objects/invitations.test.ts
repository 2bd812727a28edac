import { expect, test } from "vitest";
import { refusal, TestHost } from "./support/host.ts";
import { eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const HOUR = 3_600_000;
const pool = () => objects.pool("default");

test("a self-hosted machine takes runs, and no provider is ever asked for it", async () => {
  await makePool({ maxInstances: 0 });
  const { worker, code } = await pool().invite({ by: "admin", ttlMs: HOUR });
  const host = new TestHost(() => objects.worker(worker));
  expect(await host.enroll(code)).toMatchObject({ worker, incarnation: 1, probe: { boot: "true" } });
  await host.report();
  await submit("first");
  const { attempts } = await eventually(async () => {
    const orders = await host.report();
    return orders.attempts.length > 0 ? orders : undefined;
  });
  expect(attempts).toMatchObject([{ id: "first/main/1.1", want: "run" }]);
  expect(world.cloud.calls.filter((call) => !call.startsWith("GET"))).toEqual([]);
});

test("the same key finds the same worker and code, and no other ttl", async () => {
  await makePool();
  const first = await pool().invite({ by: "admin", ttlMs: HOUR, keyHash: "0123456789ab" });
  expect(first.replayed).toBe(false);
  expect(await pool().invite({ by: "admin", ttlMs: HOUR, keyHash: "0123456789ab" })).toEqual({
    ...first,
    replayed: true,
  });
  const other = await pool().invite({ by: "admin", ttlMs: HOUR, keyHash: "ba9876543210" });
  expect(other.worker).not.toBe(first.worker);
  const changed = pool().invite({ by: "admin", ttlMs: 2 * HOUR, keyHash: "0123456789ab" });
  expect((await refusal(changed)).code).toBe("idempotency_mismatch");
});

test("a pool that does not exist invites nobody", async () => {
  expect((await refusal(objects.pool("nobody").invite({ by: "admin", ttlMs: HOUR }))).code).toBe(
    "unknown_pool",
  );
});

test("the longest pool's name leaves room for a worker's that is one", async () => {
  const name = "p".repeat(63);
  await makePool({}, name);
  const { worker } = await objects.pool(name).invite({ by: "admin", ttlMs: HOUR, keyHash: "0123456789ab" });
  expect(worker).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/);
});
