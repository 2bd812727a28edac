import { describe, expect, it } from "vitest";
import { machineIn } from "../../src/providers/ec2/machines.ts";
import { readXml } from "../../src/providers/ec2/xml.ts";
import type { KnownMachine } from "../../src/providers/provider.ts";
import { veilOf } from "../../src/providers/veil.ts";
import { ACCOUNT, type Ec2Fake, startEc2 } from "./ec2-fake.ts";
import {
  actionsOf,
  knownOf,
  listed,
  made,
  providerOf,
  START,
  SUBNETS,
  theOne,
  wanted,
} from "./support/ec2.ts";

// What a listing shows (clouds/ec2.md#listing), also when it is late, in pages, or a zone is out.

const started = () => startEc2({ startAt: START });
const namesOf = (items: { name: string }[]) => items.map(({ name }) => name).sort();
const byToken = (worker: string) => ({ id: null, worker, zone: null });

/** Machines of the fake that need no calls. */
async function makeMany(fake: Ec2Fake, count: number): Promise<string[]> {
  const first = await made(providerOf(fake), "w-0");
  const one = fake.cloud.named(first.id);
  for (let at = 1; at < count; at += 1)
    fake.cloud.add({ ...one, id: fake.cloud.newId("i"), token: `w-${at}` });
  return Array.from({ length: count }, (_, at) => `w-${at}`).sort();
}

describe("a listing", () => {
  it("shows the machines of its tag, and the account that they belong to", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    expect(await listed(provider)).toEqual({ kind: "listed", beganAt: START, items: [] });
    await made(provider, "w-1");
    await made(provider, "w-2", { tags: { "drover-pool": "q", "drover-worker": "w-2" } });
    await made(provider, "w-3", { tags: { "drover-pool": "pp", "drover-worker": "w-3" } });
    expect(await listed(provider)).toMatchObject({ account: ACCOUNT, items: [{ name: "w-1" }] });
    expect(await listed(provider, [], "drover-pool:*")).not.toHaveProperty("account");
  });

  it("shows each state, and when and why a machine has ended", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const { id } = await made(provider, "w-1");
    const shown = async () => (await listed(provider)).items.map(({ state, address }) => [state, address])[0];
    expect(await shown()).toEqual(["pending", "10.0.0.10"]);
    fake.cloud.advance(30_000);
    expect(await shown()).toEqual(["running", "198.51.100.10"]);
    fake.cloud.powerOff(id);
    expect(await shown()).toEqual(["stopping", "10.0.0.10"]);
    fake.cloud.advance(30_000);
    const [ended] = (await listed(provider)).items;
    expect(ended).toMatchObject({ state: "terminated", endedAt: "2026-11-22T10:11:42Z" });
    expect(ended).not.toHaveProperty("fault");
  });

  it.each([
    [0, 1],
    [1, 1],
    [100, 1],
    [101, 4],
    [250, 6],
  ])("of %i machines is whole, by %i calls", async (count, calls) => {
    const fake = await started();
    const names = count === 0 ? [] : await makeMany(fake, count);
    const before = fake.cloud.calls.length;
    const { items, partial } = await listed(providerOf(fake));
    expect(namesOf(items)).toEqual(names);
    expect(partial).toBeUndefined();
    expect(fake.cloud.calls.length - before).toBe(calls);
  });

  it("and looking for a machine go on behind a page that is empty", async () => {
    const fake = await started();
    const { id } = await made(providerOf(fake), "w-1");
    fake.cloud.faults.emptyPages = true;
    const { items, partial } = await listed(providerOf(fake));
    expect([namesOf(items), partial]).toEqual([["w-1"], undefined]);
    expect(await providerOf(fake).find(byToken("w-1"))).toMatchObject({ kind: "found", instance: { id } });
  });

  it("shows what it has, and says that it is incomplete, if a later page fails", async () => {
    const fake = await started();
    await makeMany(fake, 150);
    const provider = providerOf(fake);
    const errors: string[] = [];
    Object.defineProperty(errors, "shift", {
      value: () => (actionsOf(fake).length === 2 ? "InternalError" : undefined),
    });
    fake.cloud.faults.errors = errors;
    const { items, partial } = await listed(provider);
    expect(items).toHaveLength(100);
    expect(partial).toEqual({ why: expect.stringContaining("InternalError") });
  });

  it("keys that are replaced between two pages make it incomplete, until the next one", async () => {
    const fake = await started();
    const names = await makeMany(fake, 150);
    const [key] = fake.cloud.keys;
    const provider = providerOf(fake);
    const calls = fake.cloud.calls;
    const push = calls.push.bind(calls);
    calls.push = (...made) => {
      if (key !== undefined && calls.length === 1) key.secretAccessKey = "another";
      return push(...made);
    };
    const half = await provider.list("drover-pool:p", []);
    expect(half).toMatchObject({
      kind: "listed",
      partial: { why: expect.stringContaining("SignatureDoesNotMatch") },
    });
    const rotated = providerOf(fake, {}, { ...key });
    const whole = await listed(rotated);
    expect([namesOf(whole.items), whole.partial]).toEqual([names, undefined]);
  });

  it("case 27: a new machine may not be shown for 90 s: nothing says that it is gone", async () => {
    const fake = await started();
    fake.cloud.faults.listDelayMs = 90_000;
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    expect((await listed(provider)).items).toEqual([]);
    expect((await made(provider, "w-1")).id).toBe(instance.id);
    fake.cloud.advance(90_000);
    expect((await listed(provider)).items).toMatchObject([{ id: instance.id, state: "running" }]);
    expect(fake.cloud.living).toHaveLength(1);
    expect(actionsOf(fake)).not.toContain("CreateTags");
  });

  it("case 28: an older state is a state of a machine that lives, and has no reason of an end", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1", { spot: true });
    fake.cloud.advance(60_000);
    fake.cloud.faults.staleMs = 50_000;
    expect((await listed(provider)).items).toMatchObject([{ state: "pending" }]);
    await provider.destroy(knownOf(instance));
    const [late] = (await listed(provider)).items;
    expect(late).toMatchObject({ state: "pending" });
    expect(late).not.toHaveProperty("fault");
    expect(late).not.toHaveProperty("endedAt");
  });

  it("fields that nobody knows change nothing", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    await made(provider, "w-1");
    const usual = await listed(provider);
    fake.cloud.faults.unknownFields = true;
    expect(await listed(provider)).toEqual(usual);
  });
});

describe("why a machine has ended", () => {
  it.each<[string, string, object | undefined]>([
    ["Server.InsufficientInstanceCapacity", "no room", { class: "capacity", scope: "offer" }],
    ["Server.InternalError", "an internal error", { class: "temporary", scope: "all" }],
    ["Client.VolumeLimitExceeded", "Volume limit exceeded", { class: "quota", scope: "all" }],
    [
      "Client.InternalError",
      "Client error on launch",
      { class: "invalid", scope: "all", text: expect.stringContaining("key of an encrypted volume") },
    ],
    ["Client.InvalidSnapshot.NotFound", "no snapshot", { class: "invalid", scope: "all" }],
    ["Server.Meteorite", "it has fallen", { class: "temporary", scope: "offer" }],
    ["Client.InstanceInitiatedShutdown", "itself", undefined],
    ["Client.UserInitiatedShutdown", "somebody", undefined],
  ])("case 49: a create that is answered and fails later says so: %s", async (code, message, fault) => {
    const fake = await started();
    const provider = providerOf(fake);
    fake.cloud.faults.failLater.push({ code, message: `${code}: ${message}` });
    const instance = await made(provider, "w-1");
    expect(instance).not.toHaveProperty("fault");
    fake.cloud.advance(30_000);
    const [ended] = (await listed(provider)).items;
    expect(ended).toMatchObject({ id: instance.id, state: "terminated" });
    if (fault === undefined) expect(ended).not.toHaveProperty("fault");
    else expect(ended?.fault).toMatchObject({ text: expect.stringContaining(message), ...fault });
    expect(fake.cloud.bill(theOne(fake, "w-1"))).toBe(0);
  });

  it("case 62: a machine that is stuck stays pending, and can be ended", async () => {
    const fake = await started();
    fake.cloud.faults.stuck = 1;
    const provider = providerOf(fake);
    const instance = await made(provider, "w-1");
    fake.cloud.advance(3_600_000);
    expect((await listed(provider)).items).toMatchObject([{ state: "pending" }]);
    await provider.destroy(knownOf(instance));
    fake.cloud.advance(60_000);
    expect((await listed(provider)).items).toMatchObject([{ state: "terminated" }]);
  });
});

describe("case 60: while a zone is out", () => {
  interface Scene {
    fake: Ec2Fake;
    known: KnownMachine[];
  }
  /** Two machines in zone a, one in b, one in c. */
  async function scene(): Promise<Scene> {
    const fake = await started();
    const provider = providerOf(fake);
    const known: KnownMachine[] = [];
    for (const [token, zone] of [
      ["w-1", "a"],
      ["w-2", "a"],
      ["w-3", "b"],
      ["w-4", "c"],
    ] as const) {
      known.push(knownOf(await made(provider, token, { zone: `eu-west-1${zone}` })));
    }
    fake.cloud.advance(30_000);
    fake.cloud.faults.zoneOutage.add("eu-west-1a");
    return { fake, known };
  }

  it.each(["Unavailable", "InternalError", "ServiceUnavailable", "SomethingNew"])(
    "the machines in other zones are confirmed by their ids (%s)",
    async (code) => {
      const { fake, known } = await scene();
      fake.cloud.faults.outageCode = code;
      const isKnown = code !== "SomethingNew";
      const answer = await providerOf(fake).list("drover-pool:p", known);
      // A code that EC2 gives with a status of 400 is no outage.
      if (!isKnown) return expect(answer).toMatchObject({ kind: "failed", failure: { unknownCode: code } });
      expect(answer).toMatchObject({
        kind: "listed",
        account: ACCOUNT,
        partial: { why: expect.stringContaining(code), zones: ["eu-west-1a"] },
      });
      expect(namesOf(answer.kind === "listed" ? answer.items : [])).toEqual(["w-3", "w-4"]);
    },
  );

  it("a machine that is gone from another zone is missed there, and hides no other", async () => {
    const { fake, known } = await scene();
    const gone = { id: "i-00000000000000000", worker: "w-9", zone: "eu-west-1b" };
    const odd = { id: "nobody", worker: "w-8", zone: "eu-west-1c" };
    const { items, partial } = await listed(providerOf(fake), [...known, gone, odd]);
    expect([namesOf(items), partial?.zones]).toEqual([["w-3", "w-4"], ["eu-west-1a"]]);
  });

  it("zones without a known machine, and those with one without an id, count as not read", async () => {
    const { fake, known } = await scene();
    const [, , b] = known;
    const without = { id: null, worker: "w-9", zone: "eu-west-1b" };
    const config = { subnets: SUBNETS };
    const one = b === undefined ? [] : [b];
    expect((await listed(providerOf(fake, config), one)).partial?.zones).toEqual(["eu-west-1a"]);
    const { items, partial } = await listed(providerOf(fake, config), [...one, without]);
    expect([namesOf(items), partial?.zones?.toSorted()]).toEqual([["w-3"], ["eu-west-1a", "eu-west-1b"]]);
  });

  it("a machine of an unknown zone is asked for by itself; without an answer no zone is read", async () => {
    const { fake, known } = await scene();
    const anywhere = known.map((one) => ({ ...one, zone: null }));
    const { items, partial } = await listed(providerOf(fake), anywhere);
    expect([namesOf(items), partial]).toEqual([
      ["w-3", "w-4"],
      { why: expect.stringContaining("Unavailable") },
    ]);
    const shown = await listed(providerOf(fake), anywhere.slice(2));
    expect([namesOf(shown.items), shown.partial?.zones]).toEqual([["w-3", "w-4"], []]);
    expect((await listed(providerOf(fake), [...known.slice(2), byToken("w-9")])).partial).not.toHaveProperty(
      "zones",
    );
  });

  it("nothing is listed if no zone answers, or if no machine is known", async () => {
    const { fake, known } = await scene();
    const failed = {
      kind: "failed",
      failure: { class: "temporary", text: expect.stringContaining("Unavailable") },
    };
    expect(await providerOf(fake).list("drover-pool:p", known.slice(0, 2))).toMatchObject(failed);
    expect(await providerOf(fake).list("drover-pool:p", [])).toMatchObject(failed);
  });

  it("new machines are made in other zones, and nothing is said of those in this one", async () => {
    const { fake, known } = await scene();
    const provider = providerOf(fake);
    expect((await made(provider, "w-5")).zone).toBe("eu-west-1b");
    const there = await provider.create(wanted("w-6", { zone: "eu-west-1a" }));
    expect(there).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
    expect(there).not.toHaveProperty("failure.refused");
    const [first] = known;
    if (first === undefined) throw new Error("no machine");
    expect(await provider.find(first)).toMatchObject({ kind: "unsure" });
    expect(await provider.find(byToken("w-3"))).toMatchObject({ kind: "unsure" });
    expect(await provider.destroy(first)).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
    fake.cloud.faults.zoneOutage.clear();
    expect(namesOf((await listed(provider)).items)).toEqual(["w-1", "w-2", "w-3", "w-4", "w-5"]);
  });

  it("other failures are failures: no other call follows", async () => {
    const { fake, known } = await scene();
    for (const code of ["RequestLimitExceeded", "UnauthorizedOperation", "InvalidParameterValue"]) {
      fake.cloud.faults.errors.push(code);
      const before = fake.cloud.calls.length;
      expect(await providerOf(fake).list("drover-pool:p", known)).toMatchObject({ kind: "failed" });
      expect(fake.cloud.calls.length - before).toBe(1);
    }
  });

  it("hundreds of machines of a zone are asked for a hundred at a time", async () => {
    const fake = await started();
    await makeMany(fake, 150);
    const known = [...fake.cloud.instances.values()].map(({ id, token = "", zone }) => ({
      id,
      worker: token,
      zone,
    }));
    fake.cloud.faults.zoneOutage.add("eu-west-1c");
    const before = fake.cloud.calls.length;
    expect((await listed(providerOf(fake), known)).items).toHaveLength(150);
    const asked = fake.cloud.calls
      .slice(before)
      .map(({ body }) => [...body.matchAll(/InstanceId\.\d+/g)].length);
    expect(asked).toEqual([0, 100, 50]);
  });
});

describe("an instance is read as it is written", () => {
  const read = (inside: string) => {
    const document = readXml(`<item>${inside}</item>`);
    if ("fault" in document) throw new Error(document.fault);
    return machineIn(document.root, veilOf(["topsecret"]));
  };
  const USUAL =
    "<instanceId>i-1</instanceId><instanceType>m5.large</instanceType>" +
    "<launchTime>2026-11-22T10:00:00.000Z</launchTime>";
  const TAGGED = "<tagSet><item><key>drover-worker</key><value>w-2</value></item></tagSet>";
  const inState = (name: string, more = "") =>
    read(`${USUAL}<instanceState><name>${name}</name></instanceState>${more}`);

  it.each([
    ["pending", "pending"],
    ["running", "running"],
    ["shutting-down", "stopping"],
    ["stopping", "stopping"],
    ["stopped", "stopped"],
    ["terminated", "terminated"],
  ])("state %s is %s", (name, state) => {
    expect(inState(name)).toMatchObject({ data: { id: "i-1", state, spot: false, address: null } });
  });

  it.each([
    ["a state that is none", () => inState("topsecret-vibing"), /its state is "\[secret\]-vibing"/],
    ["no state", () => read(USUAL), /its state is ""/],
    ["no id", () => read("<instanceState><name>running</name></instanceState>"), /`id`/],
  ])("%s is a fault", (_what, look, text) => {
    expect(look()).toEqual({ fault: expect.stringMatching(text) });
  });

  it.each([
    ["by its token", `<clientToken>w-1</clientToken>${TAGGED}`, "w-1"],
    ["by its tag, if it was made otherwise", `<clientToken/>${TAGGED}`, "w-2"],
    ["not at all", "", ""],
  ])("it is named %s", (_what, more, name) => {
    expect(inState("running", more)).toMatchObject({ data: { name } });
  });

  it.each([
    ["User initiated (2026-11-22 10:11:12 GMT)", "2026-11-22T10:11:12Z"],
    ["User initiated shutdown (2026-11-22 10:11:12 UTC)", "2026-11-22T10:11:12Z"],
    ["Server.SpotInstanceTermination: Instance was terminated", undefined],
    ["(2026-99-99 10:11:12 GMT)", undefined],
    ["", undefined],
  ])("it ended when its reason says: %s", (reason, endedAt) => {
    const found = inState("terminated", `<reason>${reason}</reason>`);
    expect("data" in found ? found.data.endedAt : found.fault).toBe(endedAt);
    expect(inState("running", `<reason>${reason}</reason>`)).not.toHaveProperty("data.endedAt");
  });

  it.each(["pending", "running"])(
    "a machine that is %s has no reason of an end, whatever else it has",
    (state) => {
      const reason = "<stateReason><code>Server.InternalError</code><message>it was</message></stateReason>";
      expect(inState(state, reason)).not.toHaveProperty("data.fault");
      expect(inState("stopping", reason)).toHaveProperty("data.fault.class", "temporary");
    },
  );

  it("tags keep their characters, and a text of a reason is veiled and cut", () => {
    const found = inState(
      "terminated",
      "<tagSet><item><key>a</key><value> b &amp;</value></item><item><key>c</key><value/></item></tagSet>" +
        "<stateReason><code>Server.InternalError</code>" +
        `<message>topsecret ${"x".repeat(500)}</message></stateReason>`,
    );
    expect(found).toMatchObject({ data: { tags: { a: " b &", c: "" } } });
    const text = "data" in found ? found.data.fault?.text : undefined;
    expect(text).toMatch(/^Server\.InternalError: \[secret\] x+$/);
    expect(text).toHaveLength(256);
  });
});
