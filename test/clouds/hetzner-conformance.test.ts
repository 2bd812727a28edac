import { describe, expect, it } from "vitest";
import { fault, type HetznerFake, startHetzner } from "./hetzner-fake.ts";
import { conformance, faultsOf } from "./support/conformance.ts";
import { providerOf, START, wanted } from "./support/hetzner.ts";

async function tested(befalls: (fake: HetznerFake) => void): Promise<string[]> {
  const fake = await startHetzner({ startAt: START });
  befalls(fake);
  const { instanceType, image, userData, resources } = wanted("unused");
  const report = await conformance({
    cloud: fake.cloud,
    provider: providerOf(fake),
    stranger: providerOf(fake, {}, "of-somebody-else"),
    machine: { instanceType, image, userData, resources },
    consistencyMs: 10_000,
  });
  return [...faultsOf(report), ...fake.cloud.living.map(({ name }) => `${name} lives`)];
}

describe("Hetzner keeps the contract (host-protocol.md#provider-contract)", () => {
  it.each<[string, (fake: HetznerFake) => void]>([
    ["as it is", () => {}],
    ["with listings that are 10 s late", ({ cloud }) => (cloud.faults.listDelayMs = 10_000)],
    ["with states that are 5 s old", ({ cloud }) => (cloud.faults.staleMs = 5_000)],
    ["with an answer that is lost", ({ cloud }) => (cloud.faults.lostAnswers = 1)],
    ["with fields that nobody knows", ({ cloud }) => (cloud.faults.unknownFields = true)],
    ["with the project's own rates", ({ cloud }) => (cloud.faults.enforcesRates = true)],
    [
      "with a short storm",
      ({ cloud }) =>
        void cloud.faults.errors.push(fault(429, "rate_limit_exceeded"), fault(503, "unavailable")),
    ],
  ])("%s", async (_what, befalls) => {
    expect(await tested(befalls)).toEqual([]);
  });

  it("and what breaks it is named", async () => {
    const slow = await tested(({ cloud }) => (cloud.faults.listDelayMs = 2_000_000));
    expect(slow.join()).toContain("list-in-time broken");
    expect((await tested(({ cloud }) => (cloud.faults.stuck = 1))).join()).toContain("boots broken");
  });
});
