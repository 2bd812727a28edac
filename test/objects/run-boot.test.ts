import { describe, expect, test } from "vitest";
import { RunStatus } from "../../src/schema/run/run.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const read = () => objects.allocation("build").read({ boot: true });

describe("the boot of a run's machine (api.md#boot-of-a-run)", () => {
  test("is null before the run has a place", async () => {
    await makePool({ maxInstances: 0 });
    await submit("build");
    expect((await read()).boot).toBeNull();
    expect(await objects.allocation("build").read()).not.toHaveProperty("boot");
  });

  test("has the machine of its placement, and when that was asked for, made and ready", async () => {
    await makePool();
    await submit("build");
    const { worker } = await bootMachine(world.cloud);
    const boot = await eventually(async () => (await read()).boot ?? undefined);
    expect(boot).toMatchObject({ worker, state: "running", instanceType: "small", price: null, steps: [] });
    const times = [boot.askedAt, boot.createdAt, boot.joinedAt, boot.readyAt];
    expect(times).not.toContain(null);
    expect([...times].sort()).toEqual(times);
    expect(RunStatus.safeParse(await read()).error).toBeUndefined();
  });
});
