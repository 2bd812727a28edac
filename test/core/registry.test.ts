import { describe, expect, test } from "vitest";
import type { ConfigureAnswer } from "../../src/core/messages.ts";
import { registryEntry } from "../../src/core/registry/audit.ts";
import { type RegistryEvent, type RegistryState, registryMachine } from "../../src/core/registry/machine.ts";
import { configurationsOwed, poolsOf } from "../../src/core/registry/pools.ts";
import { refusalOfSecretName, withSecret } from "../../src/core/registry/secret.ts";
import { fieldErrors } from "../../src/schema/field-errors.ts";
import { PoolConfig, PutPoolConfig } from "../../src/schema/pool.ts";
import { httpOf, type PutHttp } from "../support/provider.ts";
import { applied } from "./support/applied.ts";
import { registryOf } from "./support/registry.ts";

const small = configOf(1);
const large = configOf(9);

function configOf(maxInstances: number): PoolConfig {
  const provider = { kind: "http", url: "http://cloud.test", secret: "s" } as const;
  return PoolConfig.parse({ provider, instanceTypes: { one: { vcpus: 1, memory: "1GiB" } }, maxInstances });
}

/** For tests in which `put` is something else. */
const putOf = (config: PoolConfig) => put(config);
const put = (config: PoolConfig, seed = "s1", pool = "default"): RegistryEvent => ({
  type: "put",
  by: "admin",
  pool,
  config,
  seed,
});
const CONFIGURE = { revision: 1, config: configOf(1), seed: "s1" };
const answered = (answer: ConfigureAnswer, pool = "default"): RegistryEvent => ({
  type: "configure_answered",
  sent: { ...CONFIGURE, pool },
  answer,
});
const configured = (revision: number) => answered({ kind: "configured", revision });
const refused = (revision: number) =>
  answered({ kind: "refused", revision, code: "pool_in_use", text: "drain it" });

function told(...events: RegistryEvent[]): RegistryState {
  const nothing = registryOf(null);
  return events.reduce((state, event) => applied(registryMachine, state, event, 0), nothing);
}

const owed = (state: RegistryState) =>
  configurationsOwed(state, 0).map(({ to, body }) => ({ to, revision: body.revision, config: body.config }));

describe("a configuration is repeated until its pool has it (messages.md#self-repair)", () => {
  test("a new one is owed to its pool, and to nobody once the pool has confirmed it", () => {
    expect(owed(told(put(small)))).toEqual([{ to: "default", revision: 1, config: small }]);
    expect(owed(told(put(small), configured(1)))).toEqual([]);
  });

  test("each put is a higher revision, and the seed of the first one stays", () => {
    const state = told(put(small, "s1"), configured(1), put(large, "s2"));
    expect(owed(state)).toEqual([{ to: "default", revision: 2, config: large }]);
    expect(configurationsOwed(state, 0)[0]?.body.seed).toBe("s1");
  });

  test("what is said of an older revision, or of another pool, settles nothing", () => {
    const waiting = told(put(small), put(large));
    for (const event of [configured(1), refused(1), answered({ kind: "configured", revision: 2 }, "other")]) {
      expect(owed(registryMachine.apply(waiting, event, 0))).toEqual(owed(waiting));
    }
  });

  test("pools do not wait for each other", () => {
    const state = told(put(small), put(large, "s1", "gpu"), configured(1));
    expect(owed(state)).toEqual([{ to: "gpu", revision: 1, config: large }]);
  });
});

describe("a refused configuration is taken back (409 pool_in_use, api.md#pool-in-use)", () => {
  test("the pool keeps what it has, and nothing is owed", () => {
    const state = told(put(small), configured(1), put(large), refused(2));
    expect(state.record?.pools.default).toMatchObject({ wanted: small, accepted: { revision: 2 } });
    expect(state.refusals.default).toMatchObject({ revision: 2, code: "pool_in_use" });
    expect(owed(state)).toEqual([]);
  });

  test("the next one is a higher revision than the refused one", () => {
    const state = told(put(small), configured(1), put(large), refused(2), put(large));
    expect(owed(state)).toEqual([{ to: "default", revision: 3, config: large }]);
  });

  test("a pool that never was one is forgotten", () => {
    expect(told(put(small), refused(1)).record?.pools).toEqual({});
  });
});

test("a tick changes nothing, and time alone never does", () => {
  const state = told(put(small));
  expect(registryMachine.apply(state, { type: "tick" }, 1)).toBe(state);
  expect(registryMachine.wakeAt(state)).toBeUndefined();
  expect(registryMachine.due(registryOf(null), 0)).toEqual([]);
});

describe("a pool is deleted by a configuration that says so (api.md#pool-deletion)", () => {
  const remove = (how: "empty" | "drained"): RegistryEvent => ({
    type: "remove",
    pool: "default",
    how,
    by: "admin",
  });
  const removed = (revision: number) => answered({ kind: "configured", revision, removed: true });
  const names = (state: RegistryState) => poolsOf(state).map(([name]) => name);
  const there = () => told(put({ ...small, minInstances: 1 }), configured(1));

  test("nothing is kept warm any more, and it is there until its pool says that it is empty", () => {
    const state = registryMachine.apply(there(), remove("drained"), 0);
    const [message] = configurationsOwed(state, 0);
    expect(message?.body).toMatchObject({ revision: 2, remove: "drained", config: { minInstances: 0 } });
    expect(names(state)).toEqual(["default"]);
    const gone = registryMachine.apply(state, removed(2), 0);
    expect(names(gone)).toEqual([]);
    expect(owed(gone)).toEqual([]);
    expect(registryMachine.wakeAt(gone)).toBeUndefined();
  });

  test("one that drains is asked again and again, also by a registry that has forgotten when", () => {
    const state = registryMachine.apply(
      registryMachine.apply(there(), remove("drained"), 0),
      configured(2),
      5,
    );
    expect(owed(state)).toEqual([]);
    const wakeAt = registryMachine.wakeAt(state) ?? 0;
    expect(wakeAt).toBeGreaterThan(5);
    expect(registryMachine.due(state, wakeAt)).toHaveLength(1);
    expect(registryMachine.due(registryOf(state.record), 6)).toHaveLength(1);
  });

  test("a refusal leaves it as it was", () => {
    const state = registryMachine.apply(registryMachine.apply(there(), remove("empty"), 0), refused(2), 0);
    expect(state.record?.pools.default).toMatchObject({ wanted: { minInstances: 1 }, revision: 2 });
    expect(state.record?.pools.default?.remove).toBeUndefined();
    expect(owed(state)).toEqual([]);
  });

  test("the next pool of the name goes on with revision and seed", () => {
    const gone = registryMachine.apply(registryMachine.apply(there(), remove("empty"), 0), removed(2), 0);
    const again = registryMachine.apply(gone, put(large, "s2"), 0);
    expect(owed(again)).toEqual([{ to: "default", revision: 3, config: large }]);
    expect(configurationsOwed(again, 0)[0]?.body.seed).toBe("s1");
    expect(names(again)).toEqual(["default"]);
  });

  test("what is not there, or drains already, is no news", () => {
    const nothing = told();
    expect(registryMachine.apply(nothing, remove("empty"), 0)).toBe(nothing);
    const drains = registryMachine.apply(there(), remove("drained"), 0);
    expect(registryMachine.apply(drains, remove("empty"), 0)).toBe(drains);
  });
});

describe("P10: a configuration that was read can be put again", () => {
  const provider = { kind: "http", url: "http://cloud.test/", secret: "s1" } as const;
  const known = PoolConfig.parse({ provider, instanceTypes: { small: { vcpus: 1, memory: "1GiB" } } });
  const put = (more: Partial<PutHttp>): PutPoolConfig => {
    const { secret: _, ...shown } = httpOf(known);
    return { ...known, provider: { ...shown, ...more } };
  };
  const secretOf = (config: PoolConfig | undefined) => config && httpOf(config).secret;
  test.each<[string, PutPoolConfig, PoolConfig | undefined, string | undefined]>([
    ["without its secret: that stays", put({}), known, "s1"],
    ["with another secret", put({ secret: "s2" }), known, "s2"],
    [
      "without one for another address: the secret goes nowhere else",
      put({ url: "http://x/" }),
      known,
      undefined,
    ],
    ["without one of a pool that does not exist", put({}), undefined, undefined],
    ["with one of a pool that does not exist", put({ secret: "s2" }), undefined, "s2"],
  ])("%s", (_what, wanted, before, secret) => {
    expect(secretOf(withSecret(wanted, before, "default"))).toBe(secret);
  });

  const stored = { secret: "cloud", project: "team-a" };
  const named: PoolConfig = { ...known, provider: { ...provider, secret: stored } };
  test.each<[string, Partial<PutHttp>, PoolConfig | undefined, unknown]>([
    ["a name is stored with the caller's project", { secret: { secret: "cloud" } }, known, "default/cloud"],
    ["without a name the present one stays", {}, named, "team-a/cloud"],
    [
      "the present name is of the project that it was of",
      { secret: { secret: "cloud" } },
      named,
      "team-a/cloud",
    ],
    ["another name is of the caller's project", { secret: { secret: "b" } }, named, "default/b"],
    ["a text replaces a name", { secret: "s2" }, named, "s2"],
    ["for another address the name must be given again", { url: "http://x/" }, named, undefined],
    [
      "for another address it is of the caller's project",
      { url: "http://x/", secret: { secret: "cloud" } },
      named,
      "default/cloud",
    ],
  ])("%s (secrets.md#providers)", (_what, more, before, expected) => {
    const secret = secretOf(withSecret(put(more), before, "default"));
    expect(typeof secret === "object" ? `${secret.project}/${secret.secret}` : secret).toBe(expected);
  });

  test("a name is refused if there is no such secret, and not if the PUT leaves it out", () => {
    const state = registryOf(null);
    const sent = put({ secret: { secret: "cloud" } });
    expect(refusalOfSecretName(state, named, sent)).toMatchObject({
      code: "unknown_secret",
      fields: [{ pointer: "/provider/secret" }],
    });
    expect(refusalOfSecretName(state, named, put({}))).toBeNull();
    expect(refusalOfSecretName(state, known, put({ secret: "s1" }))).toBeNull();
  });

  test.each<[string, unknown, string]>([
    ["a number", 5, 'must be a string, or the name of a secret, such as {"secret": "cloud"}'],
    ["a text with blanks", "a b", "must be printable ASCII without blanks"],
    ["a project beside the name", { secret: "cloud", project: "team-a" }, "project"],
    ["what is no name", { secret: "a/b" }, "must be 1 to 64 letters"],
  ])("%s is no secret on the wire", (_what, secret, text) => {
    const { error } = PutPoolConfig.safeParse({ ...known, provider: { ...provider, secret } });
    expect(error).toBeDefined();
    expect(JSON.stringify(fieldErrors(error?.issues ?? [], "json"))).toContain(
      JSON.stringify(text).slice(1, -1),
    );
  });

  test("the audit log shows the name of a secret, and never its text (audit.md#entries)", () => {
    const text = "a-text-that-nobody-sees";
    const plain = { ...known, provider: { ...provider, secret: text } };
    const entryOf = (before: RegistryState, config: PoolConfig) =>
      JSON.stringify(registryEntry(before, putOf(config), 0)?.diff);
    const entries = [
      entryOf(told(), plain),
      entryOf(told(putOf(plain)), named),
      entryOf(told(putOf(named)), plain),
      entryOf(told(putOf(plain)), { ...plain, provider }),
    ];
    for (const entry of entries) expect(entry).toContain("[secret]");
    expect(entries.join()).not.toContain(text);
    expect(entries[1]).toContain("cloud");
    expect(entryOf(told(), named)).toContain("cloud");
  });

  const ec2 = { kind: "ec2", region: "eu-west-1", credentials: { secret: "cloud" } } as const;
  const ofTeamA = withSecret(
    PutPoolConfig.parse({ ...known, provider: ec2, image: "ami-1" }),
    named,
    "team-a",
  );
  test.each<[string, object, PoolConfig | undefined, string]>([
    ["repeated for the same place, a name is of the project that it was of", {}, ofTeamA, "team-a"],
    ["for another address it is of the caller's project", { endpoint: "http://x" }, ofTeamA, "default"],
    ["for another region, too", { region: "us-east-1" }, ofTeamA, "default"],
    ["for another kind, too", {}, named, "default"],
  ])("credentials of a cloud: %s (secrets.md#providers)", (_what, more, before, project) => {
    const sent = PutPoolConfig.parse({ ...known, provider: { ...ec2, ...more }, image: "ami-1" });
    const { provider: stored } = withSecret(sent, before, "default") ?? known;
    expect(stored).toMatchObject({ credentials: { secret: "cloud", project } });
  });
});
