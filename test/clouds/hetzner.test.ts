import { describe, expect, it } from "vitest";
import { fault, type HetznerFake, startHetzner, TOKEN } from "./hetzner-fake.ts";
import { knownOf, listed, made, refused, unnamed } from "./support/answers.ts";
import { HOUR_MS } from "./support/fake-cloud.ts";
import { providerOf, START, wanted } from "./support/hetzner.ts";

// What Drover does at Hetzner Cloud (clouds/hetzner.md).

const fakeAt = () => startHetzner({ startAt: START });
const bodyOf = ({ cloud }: HetznerFake) => JSON.parse(cloud.calls.at(-1)?.body ?? "{}");

describe("a server is created (clouds/hetzner.md#create)", () => {
  it("by one call, whose bytes are always the same", async () => {
    const fake = await fakeAt();
    const config = { sshKeys: ["ops"], networks: [4], firewalls: [5, 6], ipv4: false };
    const instance = await made(providerOf(fake, config), wanted("p-1", { zone: "nbg1" }));
    expect(instance).toEqual({
      id: "47000001",
      name: "p-1",
      address: "2001:db8::/64",
      state: "pending",
      instanceType: "cx22",
      tags: { team: "ci", "drover-worker": "p-1", "drover-pool": "p" },
      createdAt: "2026-11-22T10:11:12+00:00",
      spot: false,
      zone: "nbg1",
    });
    expect(fake.cloud.calls.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /v1/servers"]);
    expect(fake.cloud.calls[0]?.body).toBe(
      '{"name":"p-1","server_type":"cx22","image":"ubuntu-24.04","location":"nbg1","ssh_keys":["ops"],' +
        '"user_data":"#!/bin/sh\\necho drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 é\\n",' +
        '"start_after_create":true,' +
        '"labels":{"team":"ci","drover-worker":"p-1","drover-pool":"p"},"networks":[4],' +
        '"firewalls":[{"firewall":5},{"firewall":6}],"public_net":{"enable_ipv4":false,"enable_ipv6":true}}',
    );
  });

  it("without a location where Hetzner shall choose, and without a key if none is configured", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    expect(Object.keys(bodyOf(fake))).not.toContain("location");
    expect(Object.keys(bodyOf(fake))).not.toContain("ssh_keys");
  });

  it("once for one name, also if the answer was lost (case 26)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.lostAnswers = 1;
    const lost = await refused(providerOf(fake), wanted("p-1"));
    expect(lost).toMatchObject({ class: "temporary", unreached: true });
    expect(lost.refused).toBeUndefined();
    const { id } = await made(providerOf(fake), wanted("p-1"));
    expect([id, fake.cloud.living.length]).toEqual(["47000001", 1]);
  });

  it("later, while a taken name is in no list yet (case 30)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.listDelayMs = 5_000;
    await made(providerOf(fake), wanted("p-1"));
    const answer = await providerOf(fake).create(wanted("p-1"));
    expect(answer).toMatchObject({ kind: "pending", retryAfterMs: 2_000 });
    fake.cloud.advance(5_000);
    expect(await made(providerOf(fake), wanted("p-1"))).toMatchObject({ id: "47000001" });
  });

  it("not under the name of somebody else's server", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { tags: { owner: "anna" } }));
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "invalid", scope: "all", refused: true });
    expect(failure.text).toContain("not of this Drover (id 47000001)");
  });

  it("and a look at a taken name that is refused proves nothing about the create", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    const provider = providerOf(fake);
    fake.cloud.faults.errors.push(fault(409, "uniqueness_error"), fault(401, "unauthorized"));
    const failure = await refused(provider, wanted("p-1"));
    expect(failure.class).toBe("auth");
    expect(failure.refused).toBeUndefined();
  });

  it("not with more user data than Hetzner takes, which costs no call", async () => {
    const fake = await fakeAt();
    const failure = await refused(providerOf(fake), wanted("p-1", { userData: "é".repeat(16_385) }));
    expect(failure.text).toBe("the user data have 32770 bytes, and Hetzner takes 32768");
    expect(fake.cloud.calls).toEqual([]);
  });

  it.each([
    ["sold out in the location", "cx22@fsn1", "fsn1", "offer"],
    ["sold out everywhere", "cx22", undefined, "type"],
  ])("not where its type is %s (case 50)", async (_what, noRoom, zone, scope) => {
    const fake = await fakeAt();
    fake.cloud.faults.noCapacity.add(noRoom);
    const failure = await refused(providerOf(fake), wanted("p-1", zone === undefined ? {} : { zone }));
    expect(failure).toMatchObject({ class: "capacity", scope, refused: true });
  });

  it("beyond no limit, and the limit is named (case 38)", async () => {
    const fake = await fakeAt();
    fake.cloud.addressLimit = 0;
    const { text, ...failure } = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toEqual({ class: "quota", scope: "all", refused: true });
    expect(text).toContain("`hcloud primary-ip list`");
    expect(text).toContain("project limit exceeded (primary_ip_limit)");
  });
});

describe("servers are listed (clouds/hetzner.md#listing)", () => {
  it("of this pool alone, whatever else is in the project (case 31)", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    await made(providerOf(fake), wanted("q-1", { tags: { "drover-pool": "q", "drover-worker": "q-1" } }));
    const { items, partial, budget } = await listed(providerOf(fake));
    expect(items.map(({ name }) => name)).toEqual(["p-1"]);
    expect(partial).toBeUndefined();
    expect(budget).toEqual({ limit: 3_600, remaining: 3_597 });
  });

  it("on several pages, each read twice", async () => {
    const fake = await fakeAt();
    for (let n = 1; n <= 101; n += 1) await made(providerOf(fake), wanted(`p-${n}`)).catch(() => {});
    const { items } = await listed(providerOf(fake));
    expect(items).toHaveLength(100);
    expect(fake.cloud.calls.filter(({ method }) => method === "GET")).toHaveLength(4);
  });

  it.each([
    ["initializing", 0, "pending"],
    ["running", 20_000, "running"],
  ])("as %s", async (_what, ms, state) => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    fake.cloud.advance(ms);
    expect((await listed(providerOf(fake))).items).toMatchObject([{ state }]);
  });

  it("as pending while a new one is off, and as stopped once it is not new (case 36)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.failLater.push("start_server");
    await made(providerOf(fake), wanted("p-1"));
    fake.cloud.advance(60_000);
    expect((await listed(providerOf(fake))).items).toMatchObject([{ state: "pending" }]);
    fake.cloud.advance(180_000);
    expect((await listed(providerOf(fake))).items).toMatchObject([{ state: "stopped" }]);
  });

  it("with a gap where a server is invalid, and an unknown state is an error", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    const one = await made(providerOf(fake), wanted("p-2"));
    Object.assign(fake.cloud.machines.get(one.id) ?? {}, { name: 7 });
    const { items, partial } = await listed(providerOf(fake));
    expect(items.map(({ name }) => name)).toEqual(["p-1"]);
    expect(partial?.why).toContain("a server in it is invalid: `name`");
  });

  it.each(["html", "cut", "huge"] as const)("not from an answer that is %s", async (body) => {
    const fake = await fakeAt();
    fake.cloud.faults.bodies.push(body);
    const answer = await providerOf(fake).list("drover-pool:p", []);
    expect(answer).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
  });
});

describe("a server is found, and destroyed (clouds/hetzner.md#finding)", () => {
  it("by its id, or by its name while no answer has named the id", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    for (const machine of [knownOf(instance), unnamed("p-1")]) {
      expect(await provider.find(machine)).toMatchObject({ kind: "found", instance: { id: instance.id } });
    }
    expect(await provider.find({ ...unnamed("p-1"), id: "1" })).toEqual({ kind: "none" });
    expect(await provider.find(unnamed("p-2"))).toEqual({ kind: "none" });
    fake.cloud.faults.errors.push(fault(503, "unavailable"));
    expect(await provider.find(knownOf(instance))).toMatchObject({ kind: "unsure" });
  });

  it("of another owner under the same name: none, and it is left alone", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { tags: {} }));
    expect(await providerOf(fake).find(unnamed("p-1"))).toEqual({ kind: "none" });
    expect(await providerOf(fake).destroy(unnamed("p-1"))).toEqual({ kind: "asked", unknown: true });
    expect(fake.cloud.living).toHaveLength(1);
  });

  it("and what Hetzner does not know is unknown", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    expect(await provider.destroy(knownOf(instance))).toEqual({ kind: "asked" });
    fake.cloud.advance(60_000);
    expect(await provider.destroy(knownOf(instance))).toEqual({ kind: "asked", unknown: true });
    expect(fake.cloud.living).toEqual([]);
    expect(fake.cloud.bill(fake.cloud.theOne("p-1"))).toBe(0.006);
  });

  it("and one that is protected goes on costing money, which the text says with the command", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    fake.cloud.theOne("p-1").isProtected = true;
    const answer = await providerOf(fake).destroy(knownOf(instance));
    expect(answer).toMatchObject({ kind: "failed", failure: { class: "invalid", scope: "all" } });
    expect(JSON.stringify(answer)).toContain("hcloud server disable-protection");
    fake.cloud.advance(2 * HOUR_MS);
    expect(fake.cloud.bill(fake.cloud.theOne("p-1"))).toBeCloseTo(0.012);
  });
});

describe("what fails says why, and never the token (clouds/hetzner.md#errors)", () => {
  it.each([
    ["a wrong token", "wrong", "Store a token of the right Hetzner project"],
    ["no token at all", "", "are no token"],
    ["a whole sentence", "my token is here", "are no token"],
  ])("for %s: class auth", async (_what, credentials, text) => {
    const fake = await fakeAt();
    const failure = await refused(providerOf(fake, {}, credentials), wanted("p-1"));
    expect(failure).toMatchObject({ class: "auth", refused: true });
    expect(failure.text).toContain(text);
  });

  it("for a token that may only read: class auth, while listings go on", async () => {
    const fake = await fakeAt();
    fake.cloud.isReadOnly = true;
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure.text).toContain("The token may only read");
    expect((await listed(providerOf(fake))).items).toEqual([]);
  });

  it("for too many calls: a pause, of a minute at most (case 59)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.enforcesRates = true;
    fake.cloud.buckets.leave("project", 0);
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "rate_limit", retryAfterMs: 60_000, refused: true });
  });

  it("even if Hetzner repeats what it was sent", async () => {
    const fake = await fakeAt();
    const { userData } = wanted("p-1");
    fake.cloud.faults.errors.push(fault(422, "invalid_input", `not ${TOKEN}, nor ${userData}`));
    const { text } = await refused(providerOf(fake), wanted("p-1"));
    expect(text).toContain("not [secret], nor");
    expect(text).not.toContain("drvc_");
  });
});
