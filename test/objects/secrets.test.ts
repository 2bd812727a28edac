import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { WebhookRecord } from "../../src/core/webhook/record.ts";
import type { Env } from "../../src/objects/env.ts";
import { registryOf } from "../../src/objects/messages/stubs.ts";
import type { RegistryCalls } from "../../src/objects/registry/api.ts";
import { Registry } from "../../src/objects/registry.ts";
import { ValueStore } from "../../src/objects/store.ts";
import { WebhookFields } from "../../src/schema/webhook/webhook.ts";
import { MAX_SECRET_BYTES, MAX_TASK_SECRET_BYTES } from "../../src/shared/limits.ts";
import { contextOfHanded, contextOfSealed } from "../../src/signing/contexts.ts";
import { open as openSealed, type WrappingKeys } from "../../src/signing/envelope.ts";
import { type HostKey, makeHostKey, type Sealed, unseal } from "../../src/signing/seal.ts";
import { refusal, TestHost } from "./support/host.ts";
import {
  askedMachine,
  bindings,
  eventually,
  freshWorld,
  makePool,
  named,
  objects,
  submit,
} from "./support/world.ts";

const world = freshWorld();
const encoder = new TextEncoder();
const VALUE = "correct-horse-battery-staple";
const [KEK_1, KEK_2] = [1, 2].map((byte) => btoa(String.fromCharCode(...new Uint8Array(32).fill(byte))));

const stub = () => bindings.REGISTRY.getByName("registry");
const set = (name: string, value = VALUE, by = "test") =>
  objects.registry().setSecret(secretOf(name, value), by);
const secretOf = (name: string, value = VALUE) => {
  return { ...named(name), value: encoder.encode(value), use: undefined };
};
/** The registry over the same storage, with these wrapping keys. */
async function withKeks<T>(
  keks: Record<string, string>,
  work: (one: RegistryCalls) => Promise<T>,
): Promise<T> {
  return runInDurableObject(stub(), async (_, state) => {
    const { DROVER_KEK_1: _none, ...others } = bindings;
    const env = { ...others, ...keks } as unknown as Env; // the same bindings, but for the keys
    const one = new Registry(state, env);
    return work(registryOf({ REGISTRY: { getByName: () => one } }));
  });
}
/** Everything that the registry has stored, as one text. */
const dump = () =>
  runInDurableObject(stub(), async (_, { storage }) => {
    const tables = ["secrets", "data_keys"].map((table) => {
      const there = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray();
      return there.length === 0 ? [] : storage.sql.exec(`SELECT * FROM ${table}`).toArray();
    });
    return JSON.stringify(tables);
  });

describe("secrets in real storage (secrets.md#stored)", () => {
  test("a value is stored in no form, and outlives the process", async () => {
    expect(await set("token", VALUE, "token:ci")).toMatchObject({ name: "token", version: 1, warnings: [] });
    await evictDurableObject(stub());
    const { items } = await objects.registry().secrets(null);
    expect(items).toMatchObject([{ name: "token", createdBy: "token:ci", lastHandedOn: null }]);
    const stored = await dump();
    expect(stored).toContain('\\"name\\":\\"token\\"');
    for (const form of [VALUE, btoa(VALUE).slice(0, 20)]) expect(stored).not.toContain(form);
  });

  test("another value is another version; a removed secret leaves no row", async () => {
    await set("token");
    expect(await set("token", "another value", "token:ops")).toMatchObject({
      version: 2,
      createdBy: "test",
      changedBy: "token:ops",
    });
    await objects.registry().removeSecret(named("token"), "test");
    expect(await dump()).not.toContain("token");
    expect((await refusal(objects.registry().removeSecret(named("token"), "test"))).code).toBe(
      "unknown_secret",
    );
    expect(await objects.registry().missingSecrets("default", ["token"])).toEqual(["token"]);
  });

  test("of two values that are set at the same time both are stored, one after the other", async () => {
    const stored = await Promise.all([set("token", "the first value"), set("token", "the second value")]);
    expect(stored.map(({ version }) => version).sort()).toEqual([1, 2]);
  });

  test.each([
    [5, 1],
    [6, 0],
    [MAX_SECRET_BYTES, 0],
  ])("a value of %i bytes is accepted, with %i warnings (redaction.md#needles)", async (bytes, count) => {
    const { warnings } = await set("token", "x".repeat(bytes));
    expect(warnings).toHaveLength(count);
    for (const warning of warnings) expect(warning).toContain("too short to be masked");
  });
});

describe("wrapping keys (secrets.md#rotation)", () => {
  const DROVER_KEK_1 = KEK_1 ?? "";
  const DROVER_KEK_2 = KEK_2 ?? "";
  const keysOf = async (one: RegistryCalls) =>
    (await one.secrets(null)).wrappingKeys.map(({ number, state }) => `${number} ${state}`);
  const sealedFor = async (one: RegistryCalls, host: HostKey) => {
    const [run, attempt, worker] = ["a", "a/main/1.1", "w"];
    const request = { secrets: { KEY: "token" }, run, attempt, worker, publicKey: host.publicKey };
    const { items } = await one.handSecrets(request);
    return opened(items[0], host, attempt, worker);
  };

  test("without one the answer says how to make one, and nothing is stored", async () => {
    const { code, message } = await withKeks({}, (one) => refusal(one.setSecret(secretOf("token"), "test")));
    expect(code).toBe("no_wrapping_key");
    expect(message).toContain("openssl rand -base64 32 | npx wrangler secret put DROVER_KEK_1");
    expect(await dump()).toBe("[[],[]]");
  });

  test.each([
    ["no base64", "?"],
    ["too short", btoa("short")],
  ])("%s is said to be no key", async (_, text) => {
    const failed = await withKeks({ DROVER_KEK_1: text }, (one) =>
      refusal(one.setSecret(secretOf("t"), "test")),
    );
    expect(failed).toMatchObject({ code: "no_wrapping_key" });
    expect(failed.message).toContain("is not the base64 of 32 bytes");
  });

  test("a newer one wraps the data key again by itself; then the former one is not needed", async () => {
    const host = await makeHostKey();
    await withKeks({ DROVER_KEK_1 }, async (one) => {
      await one.setSecret(secretOf("token"), "test");
      expect(await keysOf(one)).toEqual(["1 in_use"]);
    });
    await withKeks({ DROVER_KEK_1, DROVER_KEK_2 }, async (one) => {
      await one.poke();
      await eventually(async () => (await keysOf(one)).includes("1 unused") || undefined);
      expect(await keysOf(one)).toEqual(["1 unused", "2 in_use"]);
    });
    await withKeks({ DROVER_KEK_2 }, async (one) => {
      expect(await keysOf(one)).toEqual(["2 in_use"]);
      expect(await sealedFor(one, host)).toBe(VALUE);
    });
  });

  test("a newer one seals secrets of endpoints and private keys again, and these still work", async () => {
    const fields = WebhookFields.parse({ url: "https://ci.example.com/" });
    const webhook = { id: "wh-1", ...named("ci"), fields };
    const opened = async (keks: WrappingKeys, of: "webhook" | "signing_key", id: string, text: string) =>
      new TextDecoder().decode(await openSealed(keks, contextOfSealed(of, id), JSON.parse(text)));
    await withKeks({ DROVER_KEK_1 }, async (one) => {
      await one.createWebhook(webhook, "whsec_of_the_tests", "test");
      await one.signingKeys();
    });
    await withKeks({ DROVER_KEK_1, DROVER_KEK_2 }, async (one) => {
      expect(await keysOf(one)).toEqual(["1 in_use", "2 in_use"]);
      await one.poke();
      await eventually(async () => (await keysOf(one)).includes("1 unused") || undefined);
    });
    await withKeks({ DROVER_KEK_2 }, async (one) => {
      expect(await keysOf(one)).toEqual(["2 in_use"]);
      const { signer } = await one.signingKeys();
      const pem = await opened({ DROVER_KEK_2 }, "signing_key", signer.kid, JSON.stringify(signer.sealed));
      expect(pem).toContain("PRIVATE KEY");
    });
    // The endpoint has what is sealed anew, bound to itself.
    const [secret = { sealed: "" }] = await runInDurableObject(
      bindings.WEBHOOK.getByName("wh-1"),
      async (_, { storage }) => new ValueStore<WebhookRecord>(storage).read()?.settings?.secrets ?? [],
    );
    expect(secret.sealed).not.toContain("whsec");
    expect(await opened({ DROVER_KEK_2 }, "webhook", "wh-1", secret.sealed)).toBe("whsec_of_the_tests");
    await expect(opened({ DROVER_KEK_2 }, "webhook", "wh-2", secret.sealed)).rejects.toThrow();
  });

  test("values that are set after a newer one came cannot be read with the former one", async () => {
    const dataKeys = () =>
      runInDurableObject(stub(), async (_, { storage }) =>
        [...storage.sql.exec("SELECT v FROM data_keys")].map(({ v }) => JSON.parse(String(v))),
      );
    await withKeks({ DROVER_KEK_1 }, (one) => one.setSecret(secretOf("token"), "test"));
    const [stolen] = await dataKeys();
    await withKeks({ DROVER_KEK_1, DROVER_KEK_2 }, async (one) => {
      await one.setSecret(secretOf("token", "another value"), "test");
      await eventually(async () => (await keysOf(one)).includes("1 unused") || undefined);
    });
    // The data key that the former one has wrapped is gone, and the present one is another key.
    expect(await dataKeys()).toMatchObject([{ id: "2", kek: 2 }]);
    expect(stolen).toMatchObject({ id: "1", kek: 1 });
    const host = await makeHostKey();
    await withKeks({ DROVER_KEK_2 }, async (one) => {
      expect(await sealedFor(one, host)).toBe("another value");
    });
  });

  test("one that is deleted too soon is said to be missing, and works again once it is back", async () => {
    const host = await makeHostKey();
    await withKeks({ DROVER_KEK_1 }, (one) => one.setSecret(secretOf("token"), "test"));
    await withKeks({ DROVER_KEK_2 }, async (one) => {
      expect(await keysOf(one)).toEqual(["1 missing", "2 in_use"]);
      const { code, message } = await refusal(sealedFor(one, host));
      expect([code, message]).toEqual(["no_wrapping_key", expect.stringContaining("DROVER_KEK_1")]);
    });
    await withKeks({ DROVER_KEK_1: DROVER_KEK_2 }, async (one) => {
      expect((await refusal(sealedFor(one, host))).message).toContain("put the former one back");
    });
    await withKeks({ DROVER_KEK_1 }, async (one) => expect(await sealedFor(one, host)).toBe(VALUE));
  });
});

async function opened(
  item: Sealed | undefined,
  host: HostKey,
  attempt: string,
  worker: string,
  name = "KEY",
) {
  if (item === undefined) throw new Error("nothing was handed out");
  const { key, iv, ct } = item;
  return new TextDecoder().decode(
    await unseal({ key, iv, ct }, host, contextOfHanded(worker, attempt, name)),
  );
}

describe("a host asks for the secrets of an attempt (secrets.md#handed)", () => {
  const ATTEMPT = "a/main/1.1";
  let host: TestHost;
  let key: HostKey;
  let worker: string;
  /** Boots the machine that a run waits for, whose host has a key. */
  async function boot(): Promise<void> {
    const asked = await askedMachine(world.cloud);
    worker = asked.worker;
    host = new TestHost(() => objects.worker(worker));
    key = await makeHostKey();
    host.publicKey = key.publicKey;
    await host.enroll(asked.code);
    await host.report({ boot: { ok: true, output: "" } });
  }
  /** Waits until the orders have the attempt. */
  const ordered = (attempt: string) =>
    eventually(async () => {
      const orders = await host.report();
      return orders.attempts.some(({ id }) => id === attempt) ? orders : undefined;
    });
  beforeEach(async () => {
    await makePool();
    await set("token");
    await set("other", "x".repeat(MAX_SECRET_BYTES));
    await submit("a", {
      secrets: { KEY: { secret: "token", as: "file" }, AGAIN: { secret: "token", as: "env" } },
    });
    await boot();
  });

  test("it gets each, sealed for its key and that attempt; orders have only the names", async () => {
    const orders = await ordered(ATTEMPT);
    expect(JSON.stringify(orders)).toContain('"secret":"token"');
    expect(JSON.stringify(orders)).not.toContain(VALUE);
    const { items } = await host.secrets(ATTEMPT);
    expect(items.map(({ name }) => name)).toEqual(["KEY", "AGAIN"]);
    expect(await opened(items[0], key, ATTEMPT, worker)).toBe(VALUE);
    expect(await opened(items[1], key, ATTEMPT, worker, "AGAIN")).toBe(VALUE);
    for (const [other, attempt, by, name] of [
      [await makeHostKey(), ATTEMPT, worker, "KEY"],
      [key, "a/main/1.2", worker, "KEY"],
      [key, ATTEMPT, "another", "KEY"],
      [key, ATTEMPT, worker, "AGAIN"],
    ] as const) {
      await expect(opened(items[0], other, attempt, by, name)).rejects.toThrow();
    }
    const { items: listed } = await objects.registry().secrets(null);
    const today = new Date().toISOString().slice(0, 10);
    expect(listed.map(({ name, lastHandedOn }) => [name, lastHandedOn])).toEqual([
      ["other", null],
      ["token", today],
    ]);
  });

  test("its pool has an entry of it, and the registry has none (audit.md#outbox)", async () => {
    await ordered(ATTEMPT);
    await host.secrets(ATTEMPT);
    const filter = { actions: ["secret.hand"] };
    const [entry] = await eventually(async () => {
      const { items } = await objects.pool("default").audit(filter, { limit: 10 });
      return items.length === 1 ? items : undefined;
    });
    expect(entry).toMatchObject({
      actor: { kind: "host", name: worker },
      target: { kind: "run", id: "a" },
      run: "a",
      pool: "default",
      reason: `token to ${worker}, for ${ATTEMPT}`,
    });
    expect((await objects.registry().audit(filter, { limit: 10 })).items).toEqual([]);
  });

  test("it gets none with another key, for an attempt of others, or twice by one call", async () => {
    await ordered(ATTEMPT);
    const { publicKey } = await makeHostKey();
    expect((await refusal(host.secrets(ATTEMPT, publicKey))).code).toBe("forbidden");
    for (const attempt of ["a/main/1.2", "a/other/1.1", "nobody/main/1.1"]) {
      expect((await refusal(host.secrets(attempt))).code).toBe("unknown_attempt");
    }
    const nonce = crypto.randomUUID();
    await host.secrets(ATTEMPT, undefined, { nonce });
    expect((await refusal(host.secrets(ATTEMPT, undefined, { nonce }))).code).toBe("bad_signature");
  });

  test("it gets none once it has reported that the attempt has begun", async () => {
    await ordered(ATTEMPT);
    host.attempts = [{ id: ATTEMPT, state: "preparing" }];
    await host.report();
    expect((await host.secrets(ATTEMPT)).items).toHaveLength(2);
    host.attempts = [{ id: ATTEMPT, state: "running", startedAgoMs: 0 }];
    await host.report();
    expect((await refusal(host.secrets(ATTEMPT))).code).toBe("unknown_attempt");
  });

  test("it gets none if the attempt has begun while they were sealed, and no entry says so", async () => {
    await ordered(ATTEMPT);
    const { call } = Registry.prototype;
    const sealing = vi.spyOn(Registry.prototype, "call").mockImplementation(async function (
      this: Registry,
      method,
      ...more
    ) {
      const sealed = await call.call(this, method, ...more);
      host.attempts = [{ id: ATTEMPT, state: "running", startedAgoMs: 0 }];
      if (method === "handSecrets") await host.report();
      return sealed;
    });
    expect((await refusal(host.secrets(ATTEMPT))).code).toBe("unknown_attempt");
    expect(sealing).toHaveBeenCalledWith("handSecrets", expect.anything(), undefined);
    sealing.mockRestore();
  });

  test("the key of the enrollment stays: the same enrollment with another key is refused", async () => {
    const { code } = await askedCode();
    const copy = new TestHost(() => objects.worker(worker));
    expect(await copyEnrolls(copy, code, key.publicKey)).toBe("accepted");
    expect(await copyEnrolls(copy, code, (await makeHostKey()).publicKey)).toBe("code_used");
    expect(await copyEnrolls(copy, code, undefined)).toBe("code_used");
  });
  const askedCode = async () => ({ code: world.cloud.codeOf(worker) ?? "" });
  async function copyEnrolls(copy: TestHost, code: string, publicKey: string | undefined): Promise<string> {
    copy.publicKey = publicKey;
    return (await refusal(copy.enroll(code))).code;
  }

  test("a secret that was removed since is refused by name", async () => {
    await ordered(ATTEMPT);
    await objects.registry().removeSecret(named("token"), "test");
    const { code, message } = await refusal(host.secrets(ATTEMPT));
    expect([code, message]).toEqual(["unknown_secret", expect.stringContaining('"token"')]);
  });

  test("secrets that are too large together are refused", async () => {
    const fit = 4;
    await set("part", "x".repeat(MAX_TASK_SECRET_BYTES / fit));
    const uses = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`K${n}`, { secret: "part", as: "file" as const }]),
      );
    for (const [run, count] of [
      ["fits", fit],
      ["larger", fit + 1],
    ] as const) {
      await submit(run, { secrets: uses(count) });
      await ordered(`${run}/main/1.1`);
      host.attempts.push({ id: `${run}/main/1.1`, state: "preparing" });
    }
    expect((await host.secrets("fits/main/1.1")).items).toHaveLength(fit);
    expect((await refusal(host.secrets("larger/main/1.1"))).code).toBe("secrets_too_large");
  });
});
