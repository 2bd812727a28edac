import {
  DescribeInstancesCommand,
  DescribeSpotPriceHistoryCommand,
  EC2Client,
  RunInstancesCommand,
  type RunInstancesCommandInput,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { describe, expect, it } from "vitest";
import type { Ec2Config } from "../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { type Ec2Fake, KEYS, REGION, startEc2 } from "./ec2-fake.ts";
import { GIB, IMAGE, knownOf, listed, made, providerOf, SUBNETS, wanted } from "./support/ec2.ts";

// Amazon's own client is the judge of both sides: it sends the same bytes as Drover, and it reads what the
// fake answers (clouds/ec2.md#calls).

function clientOf({ url }: Ec2Fake): EC2Client {
  return new EC2Client({ region: REGION, endpoint: url, credentials: KEYS, maxAttempts: 1 });
}

/** The body of the latest call. */
const bodyOf = ({ cloud }: Ec2Fake) => cloud.calls.at(-1)?.body;

/** What Drover asks for, in the words of Amazon's client. */
function inputOf(
  token: string,
  own: Partial<RunInstancesCommandInput>,
  spot = false,
): RunInstancesCommandInput {
  const { tags, userData } = wanted(token);
  const Tags = Object.entries({ Name: token, ...tags }).map(([Key, Value]) => ({ Key, Value }));
  const kinds = [
    "instance",
    "volume",
    "network-interface",
    ...(spot ? ["spot-instances-request"] : []),
  ] as const;
  return {
    MinCount: 1,
    MaxCount: 1,
    ImageId: IMAGE,
    InstanceType: "m7i.large",
    ClientToken: token,
    UserData: Buffer.from(userData).toString("base64"),
    InstanceInitiatedShutdownBehavior: "terminate",
    MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 1 },
    BlockDeviceMappings: [{ DeviceName: "/dev/sda1", Ebs: { DeleteOnTermination: true, VolumeType: "gp3" } }],
    TagSpecifications: kinds.map((kind) => ({ ResourceType: kind as "instance", Tags })),
    ...own,
  };
}

const network = (SubnetId: string, AssociatePublicIpAddress: boolean, Groups?: string[]) => ({
  NetworkInterfaces: [
    {
      AssociatePublicIpAddress,
      DeleteOnTermination: true,
      DeviceIndex: 0,
      ...(Groups === undefined ? {} : { Groups }),
      SubnetId,
    },
  ],
});

describe("Drover sends byte for byte what Amazon's client sends", () => {
  it.each<[string, Partial<Ec2Config>, Partial<CreateInstance>, Partial<RunInstancesCommandInput>]>([
    ["a machine anywhere, with the default group", {}, {}, {}],
    [
      "a machine anywhere, with groups",
      { securityGroups: ["sg-00000001", "sg-00000002"] },
      {},
      { SecurityGroupIds: ["sg-00000001", "sg-00000002"] },
    ],
    ["a machine in a zone", {}, { zone: "eu-west-1c" }, { Placement: { AvailabilityZone: "eu-west-1c" } }],
    [
      "a machine in a subnet, without a public address",
      { subnets: SUBNETS, securityGroups: ["sg-00000002"], publicIp: false },
      { zone: "eu-west-1a" },
      network("subnet-1111111a", false, ["sg-00000002"]),
    ],
    ["a machine in the first of the subnets", { subnets: SUBNETS }, {}, network("subnet-1111111b", true)],
    [
      "a machine with a disk of its own size, a profile and another root device",
      { instanceProfile: "drover-machines", rootDevice: "/dev/xvda" },
      {
        image: "ami-0ffffffffffffffff",
        resources: { ...wanted("t").resources, diskBytes: 20 * GIB + 1 },
      },
      {
        ImageId: "ami-0ffffffffffffffff",
        IamInstanceProfile: { Name: "drover-machines" },
        BlockDeviceMappings: [
          { DeviceName: "/dev/xvda", Ebs: { DeleteOnTermination: true, VolumeSize: 21, VolumeType: "gp3" } },
        ],
      },
    ],
    [
      "case 39: a spot machine, whose request is used once and has the tags",
      {},
      { spot: true, zone: "eu-west-1a" },
      {
        Placement: { AvailabilityZone: "eu-west-1a" },
        InstanceMarketOptions: {
          MarketType: "spot",
          SpotOptions: { SpotInstanceType: "one-time", InstanceInterruptionBehavior: "terminate" },
        },
      },
    ],
  ])("to create %s", async (_what, config, own, input) => {
    const fake = await startEc2();
    const instance = await made(providerOf(fake, config), "w!'()*~1", own);
    const sent = bodyOf(fake);
    const { Instances } = await clientOf(fake).send(
      new RunInstancesCommand(inputOf("w!'()*~1", input, own.spot)),
    );
    expect(sent).toBe(bodyOf(fake));
    // The same bytes are the same machine, and both read the same of it.
    expect(Instances?.[0]).toMatchObject({
      InstanceId: instance.id,
      InstanceType: instance.instanceType,
      LaunchTime: new Date(instance.createdAt),
      Placement: { AvailabilityZone: instance.zone },
      MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 1 },
      Tags: Object.entries(instance.tags).map(([Key, Value]) => ({ Key, Value })),
    });
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("to list, find, end and price machines", async () => {
    const fake = await startEc2();
    const provider = providerOf(fake);
    const client = clientOf(fake);
    const instance = await made(provider, "w-1");
    const both = async (ours: () => Promise<unknown>, theirs: () => Promise<unknown>) => {
      await ours();
      const sent = bodyOf(fake);
      await theirs();
      expect(sent).toBe(bodyOf(fake));
    };
    const byFilter = (Name: string, value: string) =>
      client.send(new DescribeInstancesCommand({ Filters: [{ Name, Values: [value] }], MaxResults: 100 }));
    await both(
      () => listed(provider),
      () => byFilter("tag:drover-pool", "p"),
    );
    await both(
      () => listed(provider, [], "team:a*b?\\"),
      () => byFilter("tag:team", "a\\*b\\?\\\\"),
    );
    await both(
      () => provider.find({ id: null, worker: "w-1", zone: null }),
      () => byFilter("client-token", "w-1"),
    );
    await both(
      () => provider.find(knownOf(instance)),
      () => client.send(new DescribeInstancesCommand({ InstanceIds: [instance.id] })),
    );
    await both(
      () => provider.destroy(knownOf(instance)),
      () => client.send(new TerminateInstancesCommand({ InstanceIds: [instance.id] })),
    );
    const at = fake.cloud.now;
    const fixed = providerOf({ ...fake, cloud: Object.create(fake.cloud, { now: { value: at } }) });
    await both(
      async () => fixed.prices?.([{ type: "m7i.large", spot: true }]),
      () =>
        client.send(
          new DescribeSpotPriceHistoryCommand({
            StartTime: new Date(Math.floor(at / 1_000) * 1_000),
            EndTime: new Date(Math.floor(at / 1_000) * 1_000),
            InstanceTypes: ["m7i.large"],
            ProductDescriptions: ["Linux/UNIX"],
          }),
        ),
    );
  });
});

describe("Amazon's client reads what the fake answers", () => {
  it("states, reasons, disks and requests, page by page", async () => {
    const fake = await startEc2();
    const client = clientOf(fake);
    const input = inputOf("w-1", {
      InstanceMarketOptions: { MarketType: "spot", SpotOptions: { SpotInstanceType: "one-time" } },
    });
    await client.send(new RunInstancesCommand(input));
    for (const token of ["w-2", "w-3", "w-4", "w-5", "w-6", "w-7"]) await made(providerOf(fake), token);
    const first = await client.send(new DescribeInstancesCommand({ MaxResults: 5 }));
    const { NextToken } = first;
    const second = await client.send(new DescribeInstancesCommand({ MaxResults: 5, NextToken }));
    const all = [first, second].flatMap(({ Reservations = [] }) =>
      Reservations.flatMap((one) => one.Instances),
    );
    expect(all).toHaveLength(7);
    expect(second.NextToken).toBeUndefined();
    expect(all[0]).toMatchObject({
      State: { Code: 0, Name: "pending" },
      InstanceLifecycle: "spot",
      ClientToken: "w-1",
      BlockDeviceMappings: [{ DeviceName: "/dev/sda1", Ebs: { DeleteOnTermination: true } }],
      SecurityGroups: [{ GroupName: "drover & <co>" }],
    });
    const { TerminatingInstances } = await client.send(
      new TerminateInstancesCommand({ InstanceIds: [all[0]?.InstanceId ?? ""] }),
    );
    expect(TerminatingInstances?.[0]).toMatchObject({
      PreviousState: { Name: "pending" },
      CurrentState: { Code: 32, Name: "shutting-down" },
    });
  });

  it.each([
    [
      "a name that EC2 does not know",
      { KeyName: "ops", EnclaveOptions: { Enabled: true } },
      "UnknownParameter",
    ],
    ["an image that is none", { ImageId: "ami-00000000000000000" }, "InvalidAMIID.NotFound"],
    ["a type that is none", { InstanceType: "m99.tiny" as "m7i.large" }, "InvalidParameterValue"],
    [
      "a second network",
      { ...network("subnet-1111111a", true), SubnetId: "subnet-1111111a" },
      "InvalidParameterCombination",
    ],
    ["a rehearsal", { DryRun: true }, "DryRunOperation"],
  ])("errors, by code: %s", async (_what, own, name) => {
    const fake = await startEc2();
    const sent = clientOf(fake).send(new RunInstancesCommand(inputOf("w-1", own)));
    await expect(sent).rejects.toMatchObject({
      name,
      $metadata: { httpStatusCode: name.startsWith("Dry") ? 412 : 400 },
    });
    expect(fake.cloud.living).toEqual([]);
  });

  it("of several machines none is ended if one is not known", async () => {
    const fake = await startEc2();
    const { id } = await made(providerOf(fake), "w-1");
    const InstanceIds = [id, "i-00000000000000000"];
    const sent = clientOf(fake).send(new TerminateInstancesCommand({ InstanceIds }));
    await expect(sent).rejects.toMatchObject({ name: "InvalidInstanceID.NotFound" });
    expect(fake.cloud.named(id).state).toBe("pending");
  });

  it("a wrong key is refused", async () => {
    const fake = await startEc2();
    const credentials = { ...KEYS, secretAccessKey: "wrong" };
    const client = new EC2Client({ region: REGION, endpoint: fake.url, credentials, maxAttempts: 1 });
    await expect(client.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: "SignatureDoesNotMatch",
    });
  });
});
