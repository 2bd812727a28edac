import { describe, expect, it } from "vitest";
import { FLY_MAIN } from "../../src/providers/fly/scripts.ts";
import { type FlyFake, fault, startFly, TOKEN } from "./fly-fake.ts";
import { knownOf, listed, made, refused, unnamed } from "./support/answers.ts";
import { providerOf, START, wanted } from "./support/fly.ts";

// What Drover does at Fly (clouds/fly.md).

const fakeAt = () => startFly({ startAt: START });
const bodyOf = ({ cloud }: FlyFake) => JSON.parse(cloud.calls.at(-1)?.body ?? "{}");
const encoded = (text: string) => Buffer.from(text).toString("base64");

describe("a machine is created (clouds/fly.md#create)", () => {
  it("by one call, whose bytes are always the same", async () => {
    const fake = await fakeAt();
    const asked = wanted("p-1", { zone: "fra" });
    expect(await made(providerOf(fake), asked)).toEqual({
      id: "148e0000000001",
      name: "p-1",
      address: "fdaa:0:1:a7b::2",
      state: "pending",
      instanceType: "shared-cpu-2x",
      tags: { team: "ci", "drover-worker": "p-1", "drover-pool": "p" },
      createdAt: "2026-11-22T10:11:12.000Z",
      spot: false,
      zone: "fra",
    });
    const [call, ...others] = fake.cloud.calls;
    expect([call?.method, call?.path, others]).toEqual(["POST", "/v1/apps/drover-ci/machines", []]);
    const main = encoded(FLY_MAIN);
    const script = encoded(asked.userData);
    expect(call?.body).toBe(
      '{"name":"p-1","region":"fra","config":{"image":"docker.io/library/node:24-bookworm-slim",' +
        '"guest":{"cpu_kind":"shared","cpus":2,"memory_mb":1024},' +
        '"init":{"exec":["/bin/sh","/drover/main"]},' +
        `"files":[{"guest_path":"/drover/main","raw_value":"${main}"},` +
        `{"guest_path":"/drover/user-data","raw_value":"${script}"}],` +
        '"metadata":{"team":"ci","drover-worker":"p-1","drover-pool":"p"},"auto_destroy":true,' +
        '"restart":{"policy":"no"},"stop_config":{"signal":"SIGTERM","timeout":"300s"}}}',
    );
  });

  it("without a region where Fly shall choose", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    expect(Object.keys(bodyOf(fake))).toEqual(["name", "config"]);
  });

  it.each([
    ["shared-cpu-1x", "shared", 1],
    ["performance-1x", "performance", 1],
  ])("of the size %s", async (instanceType, kind, cpus) => {
    const fake = await fakeAt();
    expect((await made(providerOf(fake), wanted("p-1", { instanceType }))).instanceType).toBe(instanceType);
    expect(bodyOf(fake).config.guest).toMatchObject({ cpu_kind: kind, cpus });
  });

  it("not of a size that Fly does not have, which costs no call", async () => {
    const fake = await fakeAt();
    const failure = await refused(providerOf(fake), wanted("p-1", { instanceType: "cx22" }));
    expect(failure).toMatchObject({ class: "invalid", scope: "type", refused: true });
    expect(failure.text).toContain("Fly has no size cx22; set `providerType` to one of");
    expect(fake.cloud.calls).toEqual([]);
  });

  it("once for one name, also if the answer was lost: the conflict names it (case 29)", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.lostAnswers = 1;
    expect((await refused(providerOf(fake), wanted("p-1"))).refused).toBeUndefined();
    expect((await made(providerOf(fake), wanted("p-1"))).id).toBe("148e0000000001");
    expect(fake.cloud.living).toHaveLength(1);
    expect(fake.cloud.calls.at(-1)?.path).toBe("/v1/apps/drover-ci/machines/148e0000000001");
  });

  it("once, also if that text is unreadable: the list names it (case 29)", async () => {
    const fake = await fakeAt();
    fake.cloud.hidesIds = true;
    fake.cloud.faults.listDelayMs = 5_000;
    await made(providerOf(fake), wanted("p-1"));
    expect(await providerOf(fake).create(wanted("p-1"))).toMatchObject({
      kind: "pending",
      retryAfterMs: 2_000,
    });
    fake.cloud.advance(5_000);
    expect((await made(providerOf(fake), wanted("p-1"))).id).toBe("148e0000000001");
  });

  it("not under the name of somebody else's machine (case 29)", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { tags: { owner: "anna" } }));
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "invalid", scope: "all", refused: true });
    expect(failure.text).toContain("not of this Drover (id 148e0000000001)");
  });

  it.each([
    [
      "one host is full: soon again, perhaps on another one (case 54)",
      fault(409, "aborted: could not reserve resource for your machine"),
      5_000,
    ],
    [
      "the region is full: not there (case 54)",
      fault(422, "insufficient capacity", "insufficient_capacity"),
      undefined,
    ],
  ])("not while %s", async (_what, error, retryAfterMs) => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(error);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone: "fra" }));
    expect(failure).toMatchObject({ class: "capacity", scope: "offer", refused: true });
    expect(failure.retryAfterMs).toBe(retryAfterMs);
  });
});

describe("machines are listed (clouds/fly.md#listing)", () => {
  it("of this pool alone, by one call", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    await made(providerOf(fake), wanted("q-1", { tags: { "drover-pool": "q", "drover-worker": "q-1" } }));
    const { items, partial } = await listed(providerOf(fake));
    expect([items.map(({ name }) => name), partial]).toEqual([["p-1"], undefined]);
    expect(fake.cloud.calls).toHaveLength(3);
  });

  it("also while a host cannot be reached, by the names that are known, and as incomplete", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    fake.cloud.unreached.add(instance.id);
    const { items, partial } = await listed(providerOf(fake), [knownOf(instance)]);
    expect(items).toMatchObject([{ id: instance.id, tags: { "drover-worker": "p-1" } }]);
    expect(partial?.why).toBe("Fly cannot reach the hosts of 1 machines");
    expect((await listed(providerOf(fake))).items).toEqual([]);
  });

  it.each([
    ["a new one", 0, "pending"],
    ["one that has started", 20_000, "running"],
  ])("%s as %s", async (_what, ms, state) => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    fake.cloud.advance(ms);
    expect((await listed(providerOf(fake))).items).toMatchObject([{ state }]);
  });

  it("and what is being destroyed is stopping, which is no proof of an end (case 63)", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    await provider.destroy(knownOf(instance));
    expect((await listed(provider)).items).toMatchObject([{ state: "stopping" }]);
  });

  it.each(["html", "cut", "huge"] as const)("not from an answer that is %s", async (body) => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1"));
    fake.cloud.faults.bodies.push(body);
    const answer = await providerOf(fake).list("drover-pool:p", []);
    expect(answer).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
  });

  it("with a gap where a machine is invalid", async () => {
    const fake = await fakeAt();
    const { id } = await made(providerOf(fake), wanted("p-1"));
    Object.assign(fake.cloud.machines.get(id) ?? {}, { name: 7 });
    expect((await listed(providerOf(fake))).partial?.why).toContain("a machine in it is invalid: `name`");
  });
});

describe("a machine is found, and destroyed (clouds/fly.md#finding)", () => {
  it("by its id, or by its name while no answer has named the id", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    for (const machine of [knownOf(instance), unnamed("p-1")]) {
      expect(await provider.find(machine)).toMatchObject({ kind: "found", instance: { id: instance.id } });
    }
    expect(await provider.find({ ...unnamed("p-1"), id: "148e00000000ff" })).toEqual({ kind: "none" });
    expect(await provider.find(unnamed("p-2"))).toEqual({ kind: "none" });
  });

  it("never in an app that does not exist: that proves nothing about a machine", async () => {
    const fake = await fakeAt();
    const instance = await made(providerOf(fake), wanted("p-1"));
    // Its name stands in Fly's answer.
    const elsewhere = providerOf(fake, { app: "my-machine" });
    expect(await elsewhere.find(knownOf(instance))).toMatchObject({ kind: "unsure" });
    expect(await elsewhere.destroy(knownOf(instance))).toMatchObject({ failure: { class: "auth" } });
  });

  it("although it runs, and what Fly does not know is unknown", async () => {
    const fake = await fakeAt();
    const provider = providerOf(fake);
    const instance = await made(provider, wanted("p-1"));
    fake.cloud.advance(20_000);
    expect(await provider.destroy(knownOf(instance))).toEqual({ kind: "asked" });
    fake.cloud.advance(10_000);
    expect(await provider.destroy(knownOf(instance))).toEqual({ kind: "asked", unknown: true });
    expect(fake.cloud.living).toEqual([]);
  });

  it("of another owner under the same name: none, and it is left alone", async () => {
    const fake = await fakeAt();
    await made(providerOf(fake), wanted("p-1", { tags: {} }));
    expect(await providerOf(fake).destroy(unnamed("p-1"))).toEqual({ kind: "asked", unknown: true });
    expect(fake.cloud.living).toHaveLength(1);
  });
});

describe("what fails says why, and never the token (clouds/fly.md#errors)", () => {
  const bare = (status: number, text: string) => fault(status, text);
  it.each([
    ["a storm", fault(429, "rate limit exceeded", "resource_exhausted"), "rate_limit", "all", true],
    ["a proxy's storm", bare(429, "slow down"), "rate_limit", "all", true],
    ["a full region", bare(409, "aborted: no capacity in fra"), "capacity", "offer", true],
    ["no payment method", bare(402, "Please add a payment method"), "quota", "all", true],
    ["a limit of machines", bare(422, "organization has reached its machine limit"), "quota", "all", true],
    ["a wrong token", bare(403, "token validation error"), "auth", "all", true],
    ["no such app", bare(404, "app not found"), "auth", "all", true],
    ["an unknown image", fault(400, "manifest unknown", "invalid_argument"), "invalid", "type", true],
    ["a wrong region", bare(422, "region xyz not found"), "invalid", "all", true],
    ["a call that took too long", fault(408, "deadline", "deadline_exceeded"), "temporary", "all", false],
    ["a server's text about capacity", bare(500, "no capacity"), "temporary", "all", false],
    [
      "a status word that outranks a text",
      fault(503, "no capacity", "unavailable"),
      "temporary",
      "all",
      false,
    ],
  ])("for %s", async (_what, error, cls, scope, isRefused) => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(error);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone: "fra" }));
    expect([failure.class, failure.scope, failure.refused === true]).toEqual([cls, scope, isRefused]);
    expect(failure.unknownCode).toBeUndefined();
  });

  it("for a status word that no table has: temporary, and told", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(fault(418, "it has decohered", "quantum_flux"));
    const failure = await refused(providerOf(fake), wanted("p-1"));
    expect(failure).toMatchObject({ class: "temporary", unknownCode: "quantum_flux" });
  });

  it("for a text that is no token", async () => {
    const fake = await fakeAt();
    const failure = await refused(providerOf(fake, {}, "two\nlines"), wanted("p-1"));
    expect(failure).toMatchObject({ class: "auth", refused: true });
    expect(fake.cloud.calls).toEqual([]);
  });

  it("even if Fly repeats what it was sent", async () => {
    const fake = await fakeAt();
    fake.cloud.faults.errors.push(fault(400, `not ${TOKEN}, nor ${wanted("p-1").userData}`));
    const { text } = await refused(providerOf(fake), wanted("p-1"));
    expect(text).not.toMatch(/fm2_|drvc_/);
  });
});
