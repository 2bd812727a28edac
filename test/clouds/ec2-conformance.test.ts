import { describe, expect, it } from "vitest";
import { CHECKS } from "../../cli/provider-test/checks.ts";
import { type Report, testProvider } from "../../cli/provider-test/suite.ts";
import { type Ec2Fake, KEYS, startEc2 } from "./ec2-fake.ts";
import { IMAGE, providerOf, START, wanted } from "./support/ec2.ts";

// EC2, as Drover uses it, keeps the contract that every provider keeps (host-protocol.md#provider-contract).
// Time is the fake's: pauses move it.

const PATIENCE = { lookMs: 1_000, listedMs: 600_000, bootMs: 600_000, heedMs: 60_000, endMs: 600_000 };

async function tested(befalls: (fake: Ec2Fake) => void = () => {}): Promise<Report & { fake: Ec2Fake }> {
  const fake = await startEc2({ startAt: START });
  befalls(fake);
  const { instanceType, userData, resources } = wanted("unused");
  const subject = {
    provider: providerOf(fake),
    stranger: providerOf(fake, {}, { ...KEYS, secretAccessKey: "of somebody else" }),
    tag: "drover-pool:p",
    machine: { instanceType, image: IMAGE, userData, resources },
    consistencyMs: 60_000,
    patience: PATIENCE,
  };
  let names = 0;
  const report = await testProvider(subject, {
    now: () => fake.cloud.now,
    pause: async (ms) => fake.cloud.advance(ms),
    unique: () => {
      names += 1;
      return String(names);
    },
    interrupted: () => false,
  });
  return { ...report, fake };
}

describe("EC2 keeps the contract", () => {
  it.each<[string, (fake: Ec2Fake) => void]>([
    ["as it is", () => {}],
    ["with listings that are a minute late", ({ cloud }) => (cloud.faults.listDelayMs = 60_000)],
    ["with states that are half a minute old", ({ cloud }) => (cloud.faults.staleMs = 30_000)],
    ["with an answer that is lost", ({ cloud }) => (cloud.faults.lostAnswers = 1)],
    ["with pages that are empty", ({ cloud }) => (cloud.faults.emptyPages = true)],
    ["with fields that nobody knows", ({ cloud }) => (cloud.faults.unknownFields = true)],
    ["with the account's own rates", ({ cloud }) => (cloud.faults.enforcesRates = true)],
    [
      "with a short storm",
      ({ cloud }) => void cloud.faults.errors.push("RequestLimitExceeded", "Unavailable"),
    ],
  ])("%s", async (_what, befalls) => {
    const report = await tested(befalls);
    const others = report.findings.filter(({ verdict }) => verdict !== "kept");
    expect(others).toEqual([]);
    expect(report.findings.map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name));
    expect(report.left).toEqual([]);
    expect(report.fake.cloud.living).toEqual([]);
    expect(report.fake.cloud.leftVolumes).toEqual([]);
  });

  it("and what breaks it is named", async () => {
    const slow = await tested(({ cloud }) => (cloud.faults.listDelayMs = 200_000));
    const broken = (report: Report) =>
      report.findings.flatMap(({ name, verdict }) => (verdict === "broken" ? [name] : []));
    expect(broken(slow)).toEqual(["list-in-time"]);
    expect(broken(await tested(({ cloud }) => (cloud.faults.stuck = 1)))).toEqual(["boots"]);
  });
});
