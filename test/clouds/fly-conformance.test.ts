import { describe, expect, it } from "vitest";
import { type FlyFake, fault, startFly } from "./fly-fake.ts";
import { conformance, faultsOf } from "./support/conformance.ts";
import { providerOf, START, wanted } from "./support/fly.ts";

async function tested(befalls: (fake: FlyFake) => void): Promise<string[]> {
  const fake = await startFly({ startAt: START });
  befalls(fake);
  const { instanceType, image, userData, resources } = wanted("unused");
  const report = await conformance({
    cloud: fake.cloud,
    provider: providerOf(fake),
    stranger: providerOf(fake, {}, "FlyV1 fm2_of-somebody-else"),
    machine: { instanceType, image, userData, resources },
    consistencyMs: 10_000,
  });
  return [...faultsOf(report), ...fake.cloud.living.map(({ name }) => `${name} lives`)];
}

describe("Fly keeps the contract (host-protocol.md#provider-contract)", () => {
  it.each<[string, (fake: FlyFake) => void]>([
    ["as it is", () => {}],
    ["with listings that are 10 s late", ({ cloud }) => (cloud.faults.listDelayMs = 10_000)],
    ["with states that are 5 s old", ({ cloud }) => (cloud.faults.staleMs = 5_000)],
    ["with an answer that is lost", ({ cloud }) => (cloud.faults.lostAnswers = 1)],
    ["with conflicts that name nobody", ({ cloud }) => (cloud.hidesIds = true)],
    ["with the app's own rates", ({ cloud }) => (cloud.faults.enforcesRates = true)],
    [
      "with a short storm",
      ({ cloud }) => void cloud.faults.errors.push(fault(429, "rate limit exceeded"), fault(503, "gone")),
    ],
  ])("%s", async (_what, befalls) => {
    expect(await tested(befalls)).toEqual([]);
  });
});
