import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();

test("A3: a run that only its pool knows to be placed still says where, and until when", async () => {
  await makePool();
  await submit("first");
  const { worker, host } = await bootMachine(world.cloud);
  // Its host has fetched the order, and says nothing more.
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  await evictDurableObject(bindings.ALLOCATION.getByName("first"));
  const why = await objects.allocation("first").why();
  expect(why).toMatchObject({
    state: "pending",
    reason: { code: "starting", text: expect.stringContaining(worker) },
    next: { code: "lose_runs", at: expect.stringMatching(/Z$/), waitsFor: "host" },
  });
  expect(why.reason.text).toContain("it may have started there");
  expect(why.chain[1]?.what).toBe(`worker ${worker}`);
  await evictDurableObject(bindings.ALLOCATION.getByName("first"));
  expect(await objects.allocation("first").read()).toMatchObject({
    state: "pending",
    placements: [{ worker, epoch: 1, to: null, outcome: "open" }],
  });
});
