import { describe, expect, it } from "vitest";
import type { ProviderFailure } from "../../src/core/provider-answers.ts";
import { classify } from "../../src/providers/ec2/errors.ts";
import { veilOf } from "../../src/providers/veil.ts";
import { MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import { startEc2 } from "./ec2-fake.ts";
import { quotaGroupOf } from "./ec2-families.ts";
import { actionsOf, CODE, listed, made, providerOf, START, SUBNETS, wanted } from "./support/ec2.ts";

// What EC2's errors mean (clouds/ec2.md#errors): by code, and never by status.

type Scope = ProviderFailure["scope"];
const MINUTE_MS = 60_000;
const TYPE = "m7i.large";
const veil = veilOf(["topsecret"]);
const facts = { veil, type: TYPE, zone: "eu-west-1a" };
const error = (code: string | undefined, message = "It is so.", status = 400) => ({ code, message, status });

const NOT_HERE =
  `Your requested instance type (${TYPE}) is not supported in your requested Availability Zone ` +
  "(eu-west-1a).";
const NO_ADDRESS =
  "There are not enough free addresses in subnet 'subnet-1' to satisfy the requested number of instances.";
const PROFILE =
  "Value (ci) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name";

describe("each error has a class and a scope", () => {
  it.each<[string, ProviderFailure["class"], Scope, (string | undefined)?, number?]>([
    ["RequestLimitExceeded", "rate_limit", "all"],
    ["Throttling", "rate_limit", "all"],
    ["ThrottlingException", "rate_limit", "all"],
    ["EC2ThrottledException", "rate_limit", "all"],
    ["RequestThrottledException", "rate_limit", "all"],
    ["SlowDown", "rate_limit", "all"],
    ["BandwidthLimitExceeded", "rate_limit", "all"],
    ["PriorRequestNotComplete", "rate_limit", "all"],
    ["InsufficientInstanceCapacity", "capacity", "offer"],
    ["InsufficientInstanceCapacity", "invalid", "zone", "We have no room in your spread placement group."],
    ["InsufficientHostCapacity", "capacity", "offer"],
    ["InsufficientCapacityOnHost", "capacity", "offer"],
    ["ReservationCapacityExceeded", "capacity", "offer"],
    ["UnfulfillableCapacity", "capacity", "offer"],
    ["Unsupported", "capacity", "offer", NOT_HERE, 60 * MINUTE_MS],
    ["InvalidParameterValue", "capacity", "offer", NOT_HERE, 60 * MINUTE_MS],
    ["Unsupported", "invalid", "type", "The requested configuration is currently not supported."],
    ["SpotMaxPriceTooLow", "capacity", "type"],
    ["InsufficientFreeAddressesInSubnet", "capacity", "zone"],
    ["InvalidParameterValue", "capacity", "zone", NO_ADDRESS],
    ["InvalidParameterValue", "capacity", "zone", "The subnet does not have sufficient free Ipv4 addresses."],
    ["InsufficientVolumeCapacity", "capacity", "zone"],
    ["VolumeTypeNotAvailableInZone", "capacity", "zone"],
    ["VcpuLimitExceeded", "quota", "group"],
    ["MaxSpotInstanceCountExceeded", "quota", "group"],
    ["InstanceLimitExceeded", "quota", "all"],
    ["VolumeLimitExceeded", "quota", "all"],
    ["MaxIOPSLimitExceeded", "quota", "all"],
    ["AddressLimitExceeded", "quota", "all"],
    ["InsufficientAddressCapacity", "quota", "all"],
    ["ResourceCountExceeded", "quota", "all"],
    ["PendingVerification", "quota", "all", undefined, 15 * MINUTE_MS],
    ["AuthFailure", "auth", "all"],
    ["AuthFailure", "invalid", "all", "Not authorized for images: [ami-1]"],
    ["AuthFailure.ServiceLinkedRoleCreationNotPermitted", "auth", "type"],
    ["InvalidClientTokenId", "auth", "all"],
    ["SignatureDoesNotMatch", "auth", "all"],
    ["UnrecognizedClientException", "auth", "all"],
    ["ExpiredToken", "auth", "all"],
    ["RequestExpired", "auth", "all"],
    ["OptInRequired", "auth", "all"],
    ["Blocked", "auth", "all"],
    ["UnauthorizedOperation", "auth", "all"],
    ["AccessDenied", "auth", "all"],
    ["InvalidAMIID.NotFound", "invalid", "all"],
    ["InvalidAMIID.Unavailable", "invalid", "all"],
    ["InvalidSubnetID.NotFound", "invalid", "zone"],
    ["InvalidGroup.NotFound", "invalid", "all"],
    ["InvalidKeyPair.NotFound", "invalid", "all"],
    ["InvalidUserData.Malformed", "invalid", "all"],
    ["InvalidParameterValue", "invalid", "all", PROFILE],
    ["InvalidParameterValue", "invalid", "type", `Invalid value '${TYPE}' for InstanceType.`],
    [
      "InvalidParameterCombination",
      "invalid",
      "type",
      "The specified instance type is not eligible for Free Tier.",
    ],
    ["InvalidParameterCombination", "invalid", "all"],
    ["InvalidBlockDeviceMapping", "invalid", "all"],
    ["MissingParameter", "invalid", "all"],
    ["UnknownParameter", "invalid", "all"],
    ["VPCIdNotSpecified", "invalid", "all"],
    ["OperationNotPermitted", "invalid", "all"],
  ])("%s: %s of %s", (code, cls, scope, message, retryAfterMs) => {
    const expected = {
      class: cls,
      scope,
      refused: true,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    const openCodes = ["PriorRequestNotComplete"];
    const { text, refused, ...rest } = classify(error(code, message), facts);
    expect({ ...rest, refused: refused ?? openCodes.includes(code) }).toEqual(expected);
    expect(text).toContain(code);
  });

  it.each([
    "InternalError",
    "InternalFailure",
    "ServiceUnavailable",
    "Unavailable",
    "RequestTimeout",
    "PriorRequestNotComplete",
  ])("%s may have had an effect", (code) => {
    expect(classify(error(code, "", 503), facts)).not.toHaveProperty("refused");
  });

  it.each([
    [500, "InsufficientInstanceCapacity", "capacity"],
    [400, "InsufficientInstanceCapacity", "capacity"],
    [503, "RequestLimitExceeded", "rate_limit"],
    [400, "RequestLimitExceeded", "rate_limit"],
    [401, "AuthFailure", "auth"],
    [200, "InternalError", "temporary"],
  ])("whatever the status is: %i %s", (status, code, cls) => {
    expect(classify(error(code, "", status), facts).class).toBe(cls);
  });

  it.each<[string, Scope]>([
    ["InsufficientInstanceCapacity", "type"],
    ["InsufficientFreeAddressesInSubnet", "type"],
    ["InvalidSubnetID.NotFound", "type"],
  ])("of no zone, if none was named: %s", (code, scope) => {
    expect(classify(error(code), { veil, type: TYPE })).toMatchObject({ scope });
  });
});

describe("what no table has is temporary, and counted", () => {
  it("with its code and its text", () => {
    expect(classify(error("QuantumFlux", "It has decohered."), facts)).toEqual({
      class: "temporary",
      scope: "all",
      refused: true,
      unknownCode: "QuantumFlux",
      text: "QuantumFlux: It has decohered",
    });
  });

  it.each<[number, boolean, ProviderFailure["class"]]>([
    [302, true, "temporary"],
    [403, true, "temporary"],
    [404, true, "temporary"],
    [407, true, "temporary"],
    [408, false, "temporary"],
    [409, false, "temporary"],
    [429, true, "rate_limit"],
    [500, false, "temporary"],
    [502, false, "temporary"],
    [504, false, "temporary"],
  ])("without a code the status says whether it had an effect: %i", (status, isRefused, cls) => {
    const failure = classify(error(undefined, "a proxy", status), facts);
    expect([failure.refused ?? false, failure.class]).toEqual([isRefused, cls]);
    expect(failure).not.toHaveProperty("unknownCode");
    expect(failure.text).toBe(`EC2 answered ${status} without a code: a proxy`);
  });

  it("texts are veiled before they are cut, and codes, too", () => {
    const long = `${"x".repeat(MAX_TEXT_CHARS - 20)} topsecret`;
    const { text, unknownCode } = classify(error("Odd.topsecret", long), facts);
    expect(text).toHaveLength(MAX_TEXT_CHARS);
    expect(text).not.toContain("tops");
    expect(unknownCode).toBe("Odd.[secret]");
  });
});

describe("a text says what to do, before what EC2 says at length", () => {
  it.each([
    [
      "case 45",
      "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
      /`aws iam create-service-linked-role --aws-service-name spot\.amazonaws\.com`/,
    ],
    ["a policy", "UnauthorizedOperation", /`aws sts decode-authorization-message/],
    ["case 64", "InvalidAMIID.Unavailable", /`image`/],
    ["no VPC", "VPCIdNotSpecified", /`subnets`.*`aws ec2 create-default-vpc`/],
    ["case 56", "PendingVerification", /each 15 minutes/],
    ["a region that is off", "OptInRequired", /Enable/],
    ["keys that are over", "RequestExpired", /If the credentials are temporary, they are over/],
  ])("%s: %s", (_what, code, hint) => {
    const { text } = classify(
      error(code, `Encoded authorization failure message: ${"A".repeat(9_000)}`),
      facts,
    );
    expect(text.split("EC2 says")[0]).toMatch(hint);
    expect(text).toHaveLength(MAX_TEXT_CHARS);
  });
});

describe("from the wire", () => {
  const started = () => startEc2({ startAt: START });

  it("case 43: no room in a zone concerns this type there, and other zones and types have room", async () => {
    const fake = await started();
    fake.cloud.faults.noCapacity.add("m7i.large@eu-west-1a");
    const provider = providerOf(fake);
    const failed = await provider.create(wanted("w-1", { zone: "eu-west-1a" }));
    expect(failed).toMatchObject({
      failure: {
        class: "capacity",
        scope: "offer",
        refused: true,
        text: expect.stringContaining("choosing eu-west-1b, eu-west-1c"),
      },
    });
    expect((await made(provider, "w-2", { zone: "eu-west-1b" })).zone).toBe("eu-west-1b");
    expect((await made(provider, "w-3", { zone: "eu-west-1a", instanceType: "c7g.large" })).zone).toBe(
      "eu-west-1a",
    );
    // Without a zone EC2 takes one that has room.
    expect((await made(provider, "w-4")).zone).toBe("eu-west-1b");
  });

  it("a type that a zone does not have concerns this type there, for an hour", async () => {
    const fake = await started();
    const answer = await providerOf(fake).create(
      wanted("w-1", { instanceType: "c7g.large", zone: "eu-west-1c" }),
    );
    expect(answer).toMatchObject({
      failure: { class: "capacity", scope: "offer", retryAfterMs: 60 * MINUTE_MS },
    });
  });

  it("case 45: without the role for spot machines others come, and the text has the command", async () => {
    const fake = await started();
    fake.cloud.faults.noSpotRole = true;
    const provider = providerOf(fake);
    const text = /Run once, .*: `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`/;
    expect(await provider.create(wanted("w-1", { spot: true }))).toMatchObject({
      failure: { class: "auth", scope: "type", refused: true, text: expect.stringMatching(text) },
    });
    await made(provider, "w-2");
  });

  it.each(["code", "text"] as const)(
    "case 48: a subnet out of addresses concerns its zone: by its %s",
    async (how) => {
      const fake = await started();
      fake.cloud.faults.fullSubnets.set("subnet-1111111b", how);
      const provider = providerOf(fake, { subnets: SUBNETS });
      const full = await provider.create(wanted("w-1", { zone: "eu-west-1b" }));
      expect(full).toMatchObject({ failure: { class: "capacity", scope: "zone", refused: true } });
      expect((await made(provider, "w-2", { zone: "eu-west-1a" })).zone).toBe("eu-west-1a");
    },
  );

  it("case 55: a quota of vCPUs concerns its group, and another group goes on", async () => {
    const fake = await started();
    fake.cloud.faults.vcpuLimits = { standard: 3, "standard:spot": 1 };
    const provider = providerOf(fake);
    await made(provider, "w-1");
    expect(await provider.create(wanted("w-2"))).toMatchObject({
      failure: { class: "quota", scope: "group", refused: true },
    });
    const spot = await provider.create(wanted("w-3", { spot: true }));
    expect(spot).toMatchObject({
      failure: { class: "quota", scope: "group", text: expect.stringContaining("Max spot") },
    });
    await made(provider, "w-4", { instanceType: "g5.xlarge" });
  });

  it("case 56: a new account is tried again each 15 minutes, and then works by itself", async () => {
    const fake = await started();
    fake.cloud.faults.isPendingVerification = true;
    const provider = providerOf(fake);
    expect(await provider.create(wanted("w-1"))).toMatchObject({
      failure: { class: "quota", scope: "all", refused: true, retryAfterMs: 15 * MINUTE_MS },
    });
    fake.cloud.faults.isPendingVerification = false;
    await made(provider, "w-1");
  });

  it("case 57: in a storm of 503s every call of ours is one call, and none is repeated", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    fake.cloud.faults.errorRate = { code: "RequestLimitExceeded", part: 1 };
    const answers = [
      await provider.create(wanted("w-1")),
      await provider.list("drover-pool:p", []),
      await provider.destroy({ id: "i-00000000000000001", worker: "w-1", zone: null }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        kind: "failed",
        failure: { class: "rate_limit", scope: "all", refused: true },
      });
      // EC2 names no pause, so the pool's own back-off counts.
      expect(answer).not.toHaveProperty("failure.retryAfterMs");
    }
    expect(await provider.find({ id: null, worker: "w-1", zone: null })).toMatchObject({ kind: "unsure" });
    expect(actionsOf(fake)).toEqual([
      "RunInstances",
      "DescribeInstances",
      "TerminateInstances",
      "DescribeInstances",
    ]);
  });

  it("case 58: the account takes five at once and two a second, and refusals make nothing", async () => {
    const fake = await started();
    fake.cloud.faults.enforcesRates = true;
    const provider = providerOf(fake);
    const create = (from: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, at) => provider.create(wanted(`w-${from + at}`))));
    const kinds = (await create(0, 7)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "created")).toHaveLength(5);
    fake.cloud.advance(1_000);
    expect((await create(10, 2)).map(({ kind }) => kind)).toEqual(["created", "created"]);
    expect((await listed(provider)).items).toHaveLength(7);
  });

  it.each(["ami-0eeeeeeeeeeeeeeee", "ami-00000000000000000", "ami-0dddddddddddddddd", "ubuntu-24.04"])(
    "case 64: an image that is gone, was never there or is somebody else's is invalid within one call: %s",
    async (image) => {
      const fake = await started();
      const answer = await providerOf(fake).create(wanted("w-1", { image }));
      expect(answer).toMatchObject({
        failure: { class: "invalid", scope: "all", refused: true, text: expect.stringContaining(image) },
      });
      expect(actionsOf(fake)).toEqual(["RunInstances"]);
    },
  );

  it.each<[string, object, object, string]>([
    ["a subnet", { subnets: { "eu-west-1a": "subnet-22222222" } }, {}, "InvalidSubnetID.NotFound"],
    ["a group", { securityGroups: ["sg-22222222"] }, {}, "InvalidGroup.NotFound"],
    ["a profile", { instanceProfile: "nobody" }, {}, "Invalid IAM Instance Profile"],
    ["a zone", {}, { zone: "us-east-1a" }, "Invalid availability zone"],
    ["a type", {}, { instanceType: "m99.large" }, "m99.large"],
    [
      "a disk that is too small for the image",
      {},
      { resources: { ...wanted("w").resources, diskBytes: 1 } },
      "smaller than snapshot",
    ],
  ])("what is not there is invalid, and named: %s", async (_what, config, own, text) => {
    const fake = await started();
    const answer = await providerOf(fake, config).create(wanted("w-1", own));
    expect(answer).toMatchObject({
      failure: { class: "invalid", refused: true, text: expect.stringContaining(text) },
    });
  });

  it("no code for a machine shows in a failure, whatever EC2 repeats", async () => {
    const fake = await started();
    const encoded = Buffer.from(wanted("w-1").userData).toString("base64");
    for (const repeated of [CODE, wanted("w-1").userData, encoded]) {
      fake.cloud.faults.errors.push(`Odd${repeated}`);
      const answer = JSON.stringify(await providerOf(fake).create(wanted("w-1")));
      expect(answer).toContain('"unknownCode"');
      expect(answer).not.toContain(CODE.slice(0, 16));
      expect(answer).not.toContain(encoded.slice(20, 50));
    }
  });
});

describe("quota groups", () => {
  it.each([
    [
      "standard",
      [
        "t3.micro",
        "m7i.large",
        "c7g.xlarge",
        "r6a.large",
        "a1.medium",
        "d3en.xlarge",
        "h1.2xlarge",
        "i4i.large",
        "im4gn.large",
        "is4gen.large",
        "z1d.large",
        "M5.LARGE",
      ],
    ],
    ["g-and-vt", ["g5.xlarge", "gr6.4xlarge", "vt1.3xlarge"]],
    ["p", ["p3.2xlarge", "p4d.24xlarge"]],
    ["p5", ["p5.48xlarge", "p5en.48xlarge"]],
    ["f", ["f1.2xlarge"]],
    ["x", ["x2idn.16xlarge"]],
    ["inf", ["inf2.xlarge"]],
    ["trn", ["trn1.2xlarge"]],
    ["dl", ["dl1.24xlarge"]],
    ["hpc", ["hpc7g.4xlarge"]],
    ["mac", ["mac2.metal"]],
    ["high-memory", ["u-6tb1.metal", "u7i-12tb.224xlarge"]],
    ["y", ["y1.large"]],
    ["unknown", ["", "123"]],
  ])("%s", (group, types) => {
    expect(types.map(quotaGroupOf)).toEqual(types.map(() => group));
  });
});
