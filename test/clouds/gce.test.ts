import { describe, expect, it } from "vitest";
import { requestIdOf } from "../../src/providers/gce/requests.ts";
import { fault, type GceFake, KEY, startGce, ZONES } from "./gce-fake.ts";
import { knownOf, listed, made, refused, unnamed } from "./support/answers.ts";
import { providerOf, START, wanted } from "./support/gce.ts";

// What Drover does at Google Compute Engine (clouds/gce.md).

const [B = "", C = ""] = ZONES;
const fakeAt = () => startGce({ startAt: START });
const inserts = ({ cloud }: GceFake) =>
  cloud.calls.filter(({ method, path }) => method === "POST" && path.includes("/instances?"));

describe("a machine is created (clouds/gce.md#create)", () => {
  it("by one call, whose bytes are always the same", async () => {
    const fake = await fakeAt();
    const config = { subnetwork: "regions/europe-west1/subnetworks/ci", publicIp: false };
    const asked = wanted("p-1", { zone: C, spot: true });
    expect(await made(providerOf(fake, config), asked)).toEqual({
      id: `${C}/p-1`,
      name: "p-1",
      address: "10.132.0.2",
      state: "pending",
      instanceType: "e2-standard-2",
      tags: { team: "ci", "drover-worker": "p-1", "drover-pool": "p" },
      createdAt: "2026-11-22T10:11:12.000+00:00",
      zone: C,
      spot: true,
      endsAt: "2026-11-23T10:11:12.000Z",
    });
    const [call, ...others] = inserts(fake);
    expect(others).toEqual([]);
    expect(call?.path).toBe(
      `/compute/v1/projects/drover-ci/zones/${C}/instances?requestId=${await requestIdOf("p-1")}`,
    );
    const script =
      '#!/bin/sh\\nonce=\\"${DROVER_STATE_DIR:-/var/lib/drover}/.booted\\"\\n' +
      '[ ! -e \\"$once\\" ] || exit 0\\n' +
      'mkdir -p \\"${once%/*}\\" && : > \\"$once\\"\\necho drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 é\\n';
    expect(call?.body).toBe(
      `{"name":"p-1","machineType":"zones/${C}/machineTypes/e2-standard-2",` +
        '"labels":{"team":"ci","drover-worker":"p-1","drover-pool":"p"},' +
        '"disks":[{"boot":true,"autoDelete":true,' +
        '"initializeParams":{"sourceImage":"projects/debian-cloud/global/images/family/debian-12",' +
        `"diskType":"zones/${C}/diskTypes/pd-balanced","diskSizeGb":"20"}}],` +
        '"networkInterfaces":[{"subnetwork":"regions/europe-west1/subnetworks/ci"}],' +
        `"metadata":{"items":[{"key":"startup-script","value":"${script}"}]},"serviceAccounts":[],` +
        '"scheduling":{"provisioningModel":"SPOT","onHostMaintenance":"TERMINATE","automaticRestart":false,' +
        '"instanceTerminationAction":"DELETE","maxRunDuration":{"seconds":"86400"}}}',
    );
  });

  it("with a public address, in the first zone, if nothing else is said", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    expect(instance).toMatchObject({ id: `${B}/p-1`, address: "192.0.2.7", spot: false });
  });

  it("once for one token, also if the answer was lost (case 26)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.lostAnswers = 1;
    expect((await refused(providerOf(fake), wanted("p-1"))).refused).toBeUndefined();
    expect((await made(providerOf(fake), wanted("p-1"))).id).toBe(`${B}/p-1`);
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("once, also if Google has forgotten the request: its name is taken", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    fake.cloud.requests.clear();
    expect((await made(providerOf(fake), wanted("p-1"))).id).toBe(`${B}/p-1`);
    await made(providerOf(fake), wanted("p-2", { tags: { owner: "anna" } }));
    fake.cloud.requests.clear();
    const failure = await refused(providerOf(fake), wanted("p-2"));
    expect(failure).toMatchObject({ class: "invalid", refused: true });
    expect(failure.text).toContain("not of this Drover");
  });

  it("later, while its operation goes on: that is no failure", async () => {
    const fake = await fakeAt();
    fake.cloud.insertMs = 20_000;
    const answer = await providerOf(fake).create(wanted("p-1"));
    expect(answer).toMatchObject({ kind: "pending", retryAfterMs: 5_000 });
    fake.cloud.advance(20_000);
    expect((await made(providerOf(fake), wanted("p-1"))).id).toBe(`${B}/p-1`);
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("not where there is no room, which an operation says 25 s after a 200 (case 52)", async () => {
    const fake = await fakeAt();
    fake.cloud.insertMs = 25_000;
    fake.cloud.faults.noCapacity.add(`e2-standard-2@${B}`);
    expect((await providerOf(fake).create(wanted("p-1", { zone: B }))).kind).toBe("pending");
    fake.cloud.advance(25_000);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone: B }));
    expect(failure).toMatchObject({ class: "capacity", scope: "offer", refused: true });
  });

  it("not of a type that the zone does not have: that offer alone (case 53)", async () => {
    const fake = await fakeAt();
    const asked = wanted("p-1", { instanceType: "c3-standard-4", zone: C });
    expect(await refused(providerOf(fake), asked)).toMatchObject({ class: "invalid", scope: "offer" });
  });

  it("not if it is preempted while it starts, and nothing is left of it (case 35)", async () => {
    const fake = await fakeAt();
    fake.cloud.failInserts.push([
      { code: "PREEMPTED", message: "Instance failed to start due to preemption." },
    ]);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone: B, spot: true }));
    expect(failure).toMatchObject({ class: "capacity", scope: "offer", refused: true });
    fake.cloud.advance(10_000);
    expect(fake.cloud.living).toEqual([]);
  });

  it.each<[string, string[], string, string]>([
    ["a quota before a lack of room", ["ZONE_RESOURCE_POOL_EXHAUSTED", "QUOTA_EXCEEDED"], "quota", "group"],
    [
      "a lack of room before the rest",
      ["RESOURCE_NOT_READY", "ZONE_RESOURCE_POOL_EXHAUSTED"],
      "capacity",
      "offer",
    ],
    [
      "the reason, and not its consequence",
      ["VM_MIN_COUNT_NOT_REACHED", "UNSUPPORTED_OPERATION"],
      "capacity",
      "offer",
    ],
    ["one zone's trouble", ["INTERNAL_ERROR"], "capacity", "zone"],
  ])("of the errors of an operation it is told %s", async (_what, codes, cls, scope) => {
    const fake = await fakeAt();
    fake.cloud.failInserts.push(codes.map((code) => ({ code, message: "" })));
    const failure = await refused(providerOf(fake), wanted("p-1", { zone: B }));
    expect([failure.class, failure.scope, failure.refused]).toEqual([cls, scope, true]);
  });
});

describe("machines are listed (clouds/gce.md#listing)", () => {
  it("of this pool alone, in all zones, by one call", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { zone: B }));
    await made(providerOf(fake), wanted("p-2", { zone: C }));
    await made(providerOf(fake), wanted("q-1", { tags: { "drover-pool": "q", "drover-worker": "q-1" } }));
    const { items, partial } = await listed(providerOf(fake));
    expect([items.map(({ id }) => id).sort(), partial]).toEqual([[`${B}/p-1`, `${C}/p-2`], undefined]);
  });

  it("while a zone cannot be reached: absence proves nothing there alone (case 61)", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { zone: B }));
    await made(providerOf(fake), wanted("p-2", { zone: C }));
    fake.cloud.faults.zoneOutage.add(B);
    const { items, partial } = await listed(providerOf(fake));
    expect(items.map(({ id }) => id)).toEqual([`${C}/p-2`]);
    expect(partial).toEqual({ why: `Google cannot reach ${B}`, zones: [B] });
  });

  it("also those that were preempted and stay, stopped: their disks cost money (case 33)", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    fake.cloud.halt(fake.cloud.theOne("p-1"), fake.cloud.now);
    expect((await listed(providerOf(fake))).items).toMatchObject([{ state: "stopped" }]);
    expect(await providerOf(fake).destroy(knownOf(instance))).toEqual({ kind: "asked" });
    fake.cloud.advance(10_000);
    expect(fake.cloud.living).toEqual([]);
  });

  it("and the request says that Google deletes what it takes and what is too old (case 41)", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { spot: true }));
    fake.cloud.advance(20_000);
    fake.cloud.preempt("p-1");
    await made(providerOf(fake, { maxLife: "1h" }), wanted("p-2"));
    fake.cloud.advance(3_700_000);
    expect(fake.cloud.living).toEqual([]);
  });

  it.each(["html", "cut", "huge"] as const)("not from an answer that is %s", async (body) => {
    const fake = await fakeAt();
    fake.cloud.faults.bodies.push(body);
    const answer = await providerOf(fake).list("drover-pool:p", []);
    expect(answer).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
  });
});

describe("a machine is found, and destroyed (clouds/gce.md#finding)", () => {
  it("by its id, or by its name in each zone where it may be", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1", { zone: C }));
    for (const machine of [knownOf(instance), unnamed("p-1")]) {
      expect(await provider.find(machine)).toMatchObject({ kind: "found", instance: { id: `${C}/p-1` } });
    }
    expect(await provider.find(unnamed("p-2"))).toEqual({ kind: "none" });
    fake.cloud.faults.zoneOutage.add(B);
    expect(await provider.find(unnamed("p-2"))).toMatchObject({ kind: "unsure" });
  });

  it("and one that Google has deleted is unknown, which is an end (case 34)", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    fake.cloud.preempt("p-1");
    fake.cloud.advance(10_000);
    expect(await provider.destroy(knownOf(instance))).toEqual({ kind: "asked", unknown: true });
    expect(await provider.find(knownOf(instance))).toEqual({ kind: "none" });
  });

  it("never in another project: that proves nothing about a machine", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    const elsewhere = providerOf(fake, { project: "other" });
    expect(await elsewhere.find(knownOf(instance))).toMatchObject({ kind: "unsure" });
  });
});

describe("what fails says why, and never the key (clouds/gce.md#errors)", () => {
  it("for too many calls: a pause until the next minute begins", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(fault(403, "rateLimitExceeded"));
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "rate_limit", retryAfterMs: 49_000 });
  });

  it.each([
    ["a bare token", "ya29.token"],
    ["a key file of another kind", JSON.stringify({ ...KEY, type: "authorized_user" })],
    ["a key that is none", JSON.stringify({ ...KEY, private_key: "-----BEGIN PRIVATE KEY-----\nAAAA\n" })],
  ])("for %s: class auth, without a call", async (_what, credentials) => {
    const fake = await fakeAt();
    const failure = await refused(providerOf(fake, {}, credentials), wanted("p-1"));
    expect(failure).toMatchObject({ class: "auth", refused: true });
    expect(failure.text).not.toContain("ya29");
    expect(fake.cloud.calls).toEqual([]);
  });

  it("for a clock that is hours off: class auth", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    fake.cloud.advance(0);
    const ahead = await startGce({ startAt: START + 7_200_000 });
    const { cloud } = ahead;
    const late = providerOf({ cloud: fake.cloud, url: ahead.url });
    expect(await refused(late, wanted("p-1"))).toMatchObject({ class: "auth" });
    expect(cloud.living).toEqual([]);
    expect((await listed(provider)).items).toEqual([]);
  });

  it("for a reason that no table has: temporary, and told", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(fault(418, "quantumFlux", "it has decohered"));
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "temporary", unknownCode: "quantumFlux" });
  });
});
