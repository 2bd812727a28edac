import { describe, expect, it } from "vitest";
import { fault, type GceFake, KEY, startGce } from "./gce-fake.ts";
import { conformance, faultsOf } from "./support/conformance.ts";
import { providerOf, START, wanted } from "./support/gce.ts";

async function tested(befalls: (fake: GceFake) => void): Promise<string[]> {
  const fake = await startGce({ startAt: START });
  befalls(fake);
  const { instanceType, image, userData, resources } = wanted("unused");
  const report = await conformance({
    cloud: fake.cloud,
    provider: providerOf(fake),
    stranger: providerOf(fake, {}, JSON.stringify({ ...KEY, client_email: "eve@example.com" })),
    machine: { instanceType, image, userData, resources },
    consistencyMs: 30_000,
  });
  return [...faultsOf(report), ...fake.cloud.living.map(({ name }) => `${name} lives`)];
}

describe("Google keeps the contract (host-protocol.md#provider-contract)", () => {
  it.each<[string, (fake: GceFake) => void]>([
    ["as it is", () => {}],
    ["with operations that take 20 s", ({ cloud }) => (cloud.insertMs = 20_000)],
    ["with listings that are 10 s late", ({ cloud }) => (cloud.faults.listDelayMs = 10_000)],
    ["with states that are 5 s old", ({ cloud }) => (cloud.faults.staleMs = 5_000)],
    ["with an answer that is lost", ({ cloud }) => (cloud.faults.lostAnswers = 1)],
    ["with fields that nobody knows", ({ cloud }) => (cloud.faults.unknownFields = true)],
    ["with the project's own rates", ({ cloud }) => (cloud.faults.enforcesRates = true)],
    [
      "with a short storm",
      ({ cloud }) =>
        void cloud.faults.errors.push(fault(403, "rateLimitExceeded"), fault(503, "backendError")),
    ],
  ])("%s", async (_what, befalls) => {
    expect(await tested(befalls)).toEqual([]);
  });
});
