import { describe, expect, it } from "vitest";
import { startEc2 } from "./ec2-fake.ts";
import { knownOf, listed, made, providerOf, START, theOne } from "./support/ec2.ts";

describe("smoke", () => {
  it("makes, lists, finds and ends a machine", async () => {
    const fake = await startEc2({ startAt: START });
    const provider = providerOf(fake);
    const instance = await made(provider, "p-1");
    console.error(instance);
    fake.cloud.advance(30_000);
    console.error(await listed(provider));
    console.error(
      await provider.find(knownOf(instance)),
      await provider.find({ id: null, worker: "p-1", zone: null }),
    );
    console.error(await provider.destroy(knownOf(instance)));
    fake.cloud.advance(60_000);
    console.error(JSON.stringify(await listed(provider)), fake.cloud.leftVolumes);
    console.error(await provider.prices?.([{ type: "m7i.large", spot: true }]));
    expect(theOne(fake, "p-1").state).toBe("terminated");
  });
});
