import { describe, expect, it } from "vitest";
import type { Ec2Config } from "../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { type Ec2Fake, startEc2 } from "./ec2-fake.ts";
import {
  actionsOf,
  GIB,
  knownOf,
  listed,
  made,
  providerOf,
  START,
  SUBNETS,
  theOne,
  wanted,
} from "./support/ec2.ts";

// How machines are made (clouds/ec2.md#create): by one call, once for each token, with nothing left behind.

const HOUR_MS = 3_600_000;
const byToken = (worker: string) => ({ id: null, worker, zone: null });
const started = () => startEc2({ startAt: START });

describe("a machine is as asked for", () => {
  it("case 27: by one call, which sets all tags itself", async () => {
    const fake = await started();
    const instance = await made(providerOf(fake), "w-1", { spot: true });
    const tags = { Name: "w-1", "drover-pool": "p", "drover-worker": "w-1", team: "a & b" };
    expect(instance).toMatchObject({
      name: "w-1",
      instanceType: "m7i.large",
      state: "pending",
      tags,
      zone: "eu-west-1a",
      spot: true,
      createdAt: new Date(START).toISOString(),
    });
    expect(actionsOf(fake)).toEqual(["RunInstances"]);
    const { networkTags, spot, volumes, tags: own } = theOne(fake, "w-1");
    expect([own, networkTags, spot?.tags, ...volumes.map((volume) => volume.tags)]).toEqual([
      tags,
      tags,
      tags,
      tags,
    ]);
  });

  it("boots what it was given, ends itself for good, and gives its role to no container", async () => {
    const boots: string[] = [];
    const fake = await startEc2({ startAt: START, onBoot: ({ userData }) => void boots.push(userData) });
    const { id } = await made(providerOf(fake), "w-1");
    expect(theOne(fake, "w-1")).toMatchObject({ hopLimit: 1, httpTokens: "required", profile: undefined });
    fake.cloud.advance(60_000);
    expect(boots).toEqual([wanted("w-1").userData]);
    fake.cloud.powerOff(id);
    fake.cloud.advance(60_000);
    expect(theOne(fake, "w-1").state).toBe("terminated");
  });

  it.each([
    ["as the image says", 0, 8],
    ["whole gibibytes", 20 * GIB, 20],
    ["a byte more", 20 * GIB + 1, 21],
  ])("case 32: its disk goes with it, whatever the image says: %s", async (_what, diskBytes, sizeGib) => {
    const fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1", { resources: { ...wanted("w").resources, diskBytes } });
    expect(theOne(fake, "w-1").volumes).toMatchObject([
      { device: "/dev/sda1", sizeGib, deleteOnTermination: true },
    ]);
    fake.cloud.advance(60_000);
    await provider.destroy(knownOf(instance));
    fake.cloud.advance(60_000);
    expect(fake.cloud.leftVolumes).toEqual([]);
  });

  it("an image with another root device is refused, not given a second disk", async () => {
    const fake = await started();
    const answer = await providerOf(fake).create(wanted("w-1", { image: "ami-0ffffffffffffffff" }));
    expect(answer).toMatchObject({ kind: "failed", failure: { class: "invalid", refused: true } });
    const right = await made(providerOf(fake, { rootDevice: "/dev/xvda" }), "w-2", {
      image: "ami-0ffffffffffffffff",
    });
    expect(fake.cloud.living.map(({ id }) => id)).toEqual([right.id]);
  });
});

describe("a machine is where it is wanted", () => {
  it.each<[string, Partial<Ec2Config>, Partial<CreateInstance>, { zone: string; subnet: string }]>([
    ["anywhere that has room", {}, {}, { zone: "eu-west-1b", subnet: "subnet-0000000b" }],
    ["in a zone", {}, { zone: "eu-west-1c" }, { zone: "eu-west-1c", subnet: "subnet-0000000c" }],
    [
      "in the subnet of a zone",
      { subnets: SUBNETS },
      { zone: "eu-west-1b" },
      { zone: "eu-west-1b", subnet: "subnet-1111111b" },
    ],
    ["in the first subnet", { subnets: SUBNETS }, {}, { zone: "eu-west-1b", subnet: "subnet-1111111b" }],
  ])("%s", async (_what, config, own, where) => {
    const fake = await started();
    fake.cloud.faults.noCapacity.add("m7i.large@eu-west-1a");
    const instance = await made(providerOf(fake, config), "w-1", own);
    expect(theOne(fake, "w-1")).toMatchObject(where);
    expect(instance.zone).toBe(where.zone);
  });

  it("with a public address, or without one", async () => {
    const fake = await started();
    await made(providerOf(fake, { subnets: SUBNETS, publicIp: false }), "w-1");
    await made(providerOf(fake, { subnets: SUBNETS }), "w-2");
    fake.cloud.advance(60_000);
    const { items } = await listed(providerOf(fake));
    expect(items.map(({ address }) => address)).toEqual(["10.0.0.10", "198.51.100.11"]);
  });

  it.each<[string, Partial<Ec2Config>, Partial<CreateInstance>, RegExp, string]>([
    [
      "a zone without a subnet",
      { subnets: SUBNETS },
      { zone: "eu-west-1c" },
      /no subnet for the zone eu-west-1c; it has: eu-west-1b, eu-west-1a/,
      "zone",
    ],
    ["no public address and no subnet", { publicIp: false }, {}, /`publicIp: false` needs `subnets`/, "all"],
    ["a name that is no token", {}, { token: `w-${"x".repeat(63)}` }, /at most 64/, "all"],
    ["a name beyond ASCII", {}, { token: "w-é" }, /ASCII/, "all"],
    [
      "user data that are too long",
      {},
      { userData: "é".repeat(8_193) },
      /16386 bytes, and EC2 takes 16384/,
      "all",
    ],
  ])("what cannot be is refused without a call: %s", async (_what, config, own, text, scope) => {
    const fake = await started();
    const answer = await providerOf(fake, config).create(wanted("w-1", own));
    expect(answer).toEqual({
      kind: "failed",
      failure: { class: "invalid", refused: true, scope, text: expect.stringMatching(text) },
    });
    expect(fake.cloud.calls).toEqual([]);
  });

  it("tokens and user data may be as long as EC2 takes them", async () => {
    const fake = await started();
    const token = `w-${"x".repeat(62)}`;
    await made(providerOf(fake), token, { userData: "é".repeat(8_192) });
    expect(theOne(fake, token).userData).toHaveLength(8_192);
  });
});

describe("one token makes one machine", () => {
  it("however often and however close together the call is made", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const all = await Promise.all(["w-1", "w-1", "w-1"].map((token) => made(provider, token)));
    fake.cloud.advance(60_000);
    expect(new Set([...all, await made(provider, "w-1")].map(({ id }) => id)).size).toBe(1);
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("case 26: an answer is lost, and another process finds the machine by its token", async () => {
    const fake = await started();
    fake.cloud.faults.lostAnswers = 1;
    const lost = await providerOf(fake).create(wanted("w-1"));
    expect(lost).toMatchObject({ kind: "failed", failure: { class: "temporary", unreached: true } });
    expect(lost).not.toHaveProperty("failure.refused");
    const { id } = theOne(fake, "w-1");
    const next = providerOf(fake);
    expect(await next.find(byToken("w-1"))).toMatchObject({ kind: "found", instance: { id } });
    expect((await made(next, "w-1")).id).toBe(id);
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("case 23: an answer is lost, and a deploy changes the bytes: a look, and not a failure", async () => {
    const fake = await started();
    fake.cloud.faults.lostAnswers = 1;
    await providerOf(fake).create(wanted("w-1"));
    const instance = await made(providerOf(fake), "w-1", { userData: "another agent" });
    expect(instance).toMatchObject({ id: theOne(fake, "w-1").id, name: "w-1", state: "pending" });
    expect(actionsOf(fake)).toEqual(["RunInstances", "RunInstances", "DescribeInstances"]);
  });

  it("case 23: while the machine is not shown yet, the call is tried again, and makes no other", async () => {
    const fake = await started();
    fake.cloud.faults.listDelayMs = 90_000;
    const { id } = await made(providerOf(fake), "w-1");
    const other = wanted("w-1", { userData: "another agent" });
    const answer = await providerOf(fake).create(other);
    expect(answer).toMatchObject({
      kind: "failed",
      failure: {
        class: "temporary",
        text: expect.stringMatching(/IdempotentParameterMismatch.*no machine for this token yet/),
      },
    });
    expect(answer).not.toHaveProperty("failure.refused");
    fake.cloud.advance(90_000);
    expect(await providerOf(fake).create(other)).toMatchObject({ kind: "created", instance: { id } });
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("case 23: a look that fails proves nothing", async () => {
    const fake = await started();
    await made(providerOf(fake), "w-1");
    fake.cloud.faults.zoneOutage.add("eu-west-1b");
    const answer = await providerOf(fake).create(wanted("w-1", { userData: "another agent" }));
    expect(answer).toMatchObject({
      kind: "failed",
      failure: { class: "temporary", text: expect.stringContaining("Unavailable") },
    });
    expect(answer).not.toHaveProperty("failure.refused");
  });

  it("case 24: a refused token holds for its bytes, so another type comes with another token", async () => {
    const fake = await started();
    fake.cloud.faults.noCapacity.add("m7i.large");
    const provider = providerOf(fake);
    expect(await provider.create(wanted("w-1"))).toMatchObject({
      failure: { class: "capacity", refused: true },
    });
    const same = await provider.create(wanted("w-1", { instanceType: "m7i.xlarge" }));
    expect(same).toMatchObject({
      failure: { class: "temporary", text: expect.stringContaining("IdempotentParameterMismatch") },
    });
    expect(fake.cloud.living).toEqual([]);
    await made(provider, "w-2", { instanceType: "m7i.xlarge" });
    // The same bytes are another try, which may succeed.
    fake.cloud.faults.noCapacity.clear();
    await made(provider, "w-1");
    expect(fake.cloud.living).toHaveLength(2);
  });

  it("case 25: the token of a machine that was ended tells of that machine, and of its end", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    fake.cloud.advance(60_000);
    await provider.destroy(knownOf(instance));
    fake.cloud.advance(60_000);
    const again = await provider.create(wanted("w-1"));
    const endedAt = new Date(START + 60_000).toISOString().replace(".000", "");
    expect(again).toMatchObject({
      kind: "created",
      instance: { id: instance.id, state: "terminated", endedAt },
    });
    expect(again).not.toHaveProperty("instance.fault");
    expect(actionsOf(fake).slice(-2)).toEqual(["RunInstances", "DescribeInstances"]);
  });

  it("case 25: … and of EC2's own reason", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const { id } = await made(provider, "w-1", { spot: true });
    fake.cloud.advance(60_000);
    fake.cloud.interrupt(id);
    fake.cloud.advance(300_000);
    expect(await provider.create(wanted("w-1", { spot: true }))).toMatchObject({
      kind: "created",
      instance: { id, state: "terminated", fault: { class: "capacity", scope: "offer" } },
    });
  });

  it("case 25: once EC2 shows the machine no more, nothing is known of it, and none is made", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    await provider.destroy(knownOf(instance));
    fake.cloud.advance(2 * HOUR_MS);
    expect(await provider.create(wanted("w-1"))).toMatchObject({
      kind: "failed",
      failure: { class: "temporary", text: expect.stringContaining("IdempotentInstanceTerminated") },
    });
    expect(fake.cloud.living).toEqual([]);
  });

  it("a token is another one in each zone that is named: both machines are listed", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const first = await made(provider, "w-1", { zone: "eu-west-1a" });
    const second = await made(provider, "w-1", { zone: "eu-west-1b" });
    await provider.destroy(knownOf(first));
    fake.cloud.advance(60_000);
    const { items } = await listed(provider);
    expect(items.map(({ id, name, state }) => [id, name, state])).toEqual([
      [first.id, "w-1", "terminated"],
      [second.id, "w-1", "running"],
    ]);
    expect(await provider.find(byToken("w-1"))).toMatchObject({ kind: "found", instance: { id: second.id } });
  });
});

describe("a machine ends", () => {
  it("case 42: alone, so that an unknown one saves no other", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const machines = await Promise.all(["w-1", "w-2"].map((token) => made(provider, token)));
    const gone = { id: "i-00000000000000000", worker: "w-0", zone: null };
    const answers = await Promise.all([gone, ...machines.map(knownOf)].map((one) => provider.destroy(one)));
    expect(answers).toEqual([{ kind: "asked", unknown: true }, { kind: "asked" }, { kind: "asked" }]);
    expect(fake.cloud.living.map(({ state }) => state)).toEqual(["shutting-down", "shutting-down"]);
    // All in one call would have ended none of them.
    const bodies = fake.cloud.calls
      .filter(({ action }) => action === "TerminateInstances")
      .map(({ body }) => body);
    expect(bodies.filter((body) => body.includes("InstanceId.2"))).toEqual([]);
  });

  it.each([
    ["an id that is none of EC2's", "nobody-1"],
    ["an id that EC2 does not know", "i-00000000000000000"],
  ])("%s is unknown, which is no failure", async (_what, id) => {
    const fake = await started();
    const provider = providerOf(fake);
    expect(await provider.destroy({ id, worker: "w-1", zone: null })).toEqual({
      kind: "asked",
      unknown: true,
    });
    expect(await provider.find({ id, worker: "w-1", zone: null })).toEqual({ kind: "none" });
  });

  it("one whose id no answer has named is found by its token", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    expect(await provider.destroy(byToken("w-1"))).toEqual({ kind: "asked", unknown: true });
    fake.cloud.faults.lostAnswers = 1;
    await provider.create(wanted("w-1"));
    fake.cloud.faults.zoneOutage.add("eu-west-1c");
    expect(await provider.destroy(byToken("w-1"))).toMatchObject({
      kind: "failed",
      failure: { refused: true },
    });
    fake.cloud.faults.zoneOutage.clear();
    expect(await provider.destroy(byToken("w-1"))).toEqual({ kind: "asked" });
    fake.cloud.advance(60_000);
    expect(theOne(fake, "w-1").state).toBe("terminated");
    expect(await provider.destroy(byToken("w-1"))).toEqual({ kind: "asked" });
  });

  it("one that is protected says so, and how to help", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    theOne(fake, "w-1").isProtected = true;
    const answer = await provider.destroy(knownOf(instance));
    const text = /goes on costing money.*aws ec2 modify-instance-attribute --no-disable-api-termination.*i-0/;
    expect(answer).toMatchObject({
      kind: "failed",
      failure: { class: "invalid", text: expect.stringMatching(text) },
    });
  });

  it("what it costs is the time it ran, and a minute at least", async () => {
    const fake: Ec2Fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    fake.cloud.advance(30_000);
    await provider.destroy(knownOf(instance));
    fake.cloud.advance(HOUR_MS / 2);
    const disk = (8 * 0.08) / 730;
    expect(fake.cloud.bill(theOne(fake, "w-1"))).toBeCloseTo((0.1 + disk) / 60, 6);
  });
});
