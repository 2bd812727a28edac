import { expect, test } from "vitest";
import type { TestCloud } from "./support/cloud.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const pool = () => objects.pool("default");

/** A machine of the pool that nobody knows of: its name is the one before, with another number. */
async function forgottenMachine(cloud: TestCloud): Promise<string> {
  const { worker } = await bootMachine(cloud);
  const forgotten = worker.replace(/\d+$/, "77");
  const [instance] = [...cloud.instances.values()];
  if (instance === undefined) throw new Error("there is no machine");
  const tags = { ...instance.tags, "drover-worker": forgotten };
  cloud.instances.set("i-77", { ...instance, id: "i-77", name: forgotten, tags });
  return forgotten;
}

// decisions/pool.md#d18
test("a refusal of the cloud is shown with its scope, its reason and its time", async () => {
  world.cloud.refusal = {
    status: 400,
    body: { class: "quota", text: "8 of 8 in use", retryAfterMs: 60_000 },
  };
  await makePool({ instanceTypes: { small: { vcpus: 4, memory: "8GiB", quotaGroup: "standard" } } });
  await submit("a");
  const { holdOffs } = await eventually(async () => {
    const view = await pool().view();
    return view.holdOffs.length > 0 ? view : undefined;
  });
  expect(holdOffs).toMatchObject([
    { scope: "group:standard", cause: "quota", tries: 1, trying: false, reason: "8 of 8 in use" },
  ]);
  const why = await objects.allocation("a").why();
  expect(why).toMatchObject({ reason: { code: "hold_off" }, next: { at: holdOffs[0]?.until } });
  expect(world.cloud.calls.filter((call) => call === "POST /instances")).toHaveLength(1);
});

test("a machine that nobody knows of is taken in, and not destroyed yet (cases.md#case-2)", async () => {
  await makePool({ sync: { interval: "1s" } });
  await submit("a");
  const forgotten = await forgottenMachine(world.cloud);
  const seen = await eventually(async () => {
    const found = (await pool().workers(["unknown"])).find((one) => one.id === forgotten);
    const known = await objects
      .worker(forgotten)
      .read()
      .catch(() => undefined);
    return found && known;
  });
  expect(seen).toMatchObject({ state: "unknown", instance: "i-77", leaseUntil: expect.any(String) });
  expect(world.cloud.calls).not.toContain("DELETE /instances/i-77");
});

test("a machine whose type is configured no more drains, and is destroyed (22971)", async () => {
  await makePool({ minInstances: 1, sync: { interval: "1s" } });
  const { worker } = await bootMachine(world.cloud);
  await makePool({ instanceTypes: { other: { vcpus: 2, memory: "1GiB" } }, sync: { interval: "1s" } });
  await eventually(() => world.cloud.calls.find((call) => call === `DELETE /instances/i-${worker}`));
  expect((await objects.worker(worker).read()).idleBehavior).toBe("drain");
});
