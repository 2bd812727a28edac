import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isProven, readRequestToken, requestToken } from "../../src/signing/attempt-token.ts";
import { NoWrappingKey, open, seal, wrappingKeysIn } from "../../src/signing/envelope.ts";

const key = () => randomBytes(32).toString("base64");
const secret = new TextEncoder().encode("a secret");
const KEYS = { DROVER_KEK_1: key(), DROVER_KEK_2: key() };

describe("a sealed secret (oidc.md#sealed-keys)", () => {
  test("opens with its key, and shows nothing of the secret", async () => {
    const sealed = await seal(KEYS, "x", secret);
    expect(await open(KEYS, "x", sealed)).toEqual(secret);
    expect(JSON.stringify(sealed)).not.toContain(Buffer.from(secret).toString("base64").slice(0, 8));
    expect((await seal(KEYS, "x", secret)).text).not.toBe(sealed.text);
  });

  test("is sealed with the newest key, by number, and opens with older ones", async () => {
    const [DROVER_KEK_9, DROVER_KEK_10] = [key(), key()];
    const old = await seal({ DROVER_KEK_9 }, "x", secret);
    const both = { DROVER_KEK_9, DROVER_KEK_10 };
    expect([old.by, (await seal(both, "x", secret)).by]).toEqual(["DROVER_KEK_9", "DROVER_KEK_10"]);
    expect(await open(both, "x", old)).toEqual(secret);
  });

  test("opens neither as something else, nor with another key, nor changed", async () => {
    const sealed = await seal(KEYS, "x", secret);
    await expect(open(KEYS, "y", sealed)).rejects.toThrow();
    await expect(open({ DROVER_KEK_2: key() }, "x", sealed)).rejects.toThrow();
    const text = `${sealed.text.startsWith("A") ? "B" : "A"}${sealed.text.slice(1)}`;
    await expect(open(KEYS, "x", { ...sealed, text })).rejects.toThrow();
  });

  test.each<[string, object, string]>([
    ["no key", {}, "no DROVER_KEK_1 to seal secrets"],
    ["a short key", { DROVER_KEK_1: "c2hvcnQ=" }, "DROVER_KEK_1 must be the base64 of 32 random bytes"],
    ["a key that is no base64", { DROVER_KEK_1: "!".repeat(44) }, "DROVER_KEK_1 must be the base64"],
  ])("%s is said, with what to do", async (_, keys, text) => {
    const failed = seal({ ...keys }, "x", secret);
    await expect(failed).rejects.toThrow(NoWrappingKey);
    await expect(failed).rejects.toThrow(text);
    await expect(failed).rejects.toThrow("wrangler secret put DROVER_KEK_1");
  });

  test("whose key is gone says which", async () => {
    const sealed = await seal(KEYS, "x", secret);
    await expect(open({}, "x", sealed)).rejects.toThrow("DROVER_KEK_2, which this deployment lacks");
  });

  test("keys are those of the bindings with the right names", () => {
    const bindings = {
      DROVER_KEK_1: " a\n",
      DROVER_KEK_0: "b",
      DROVER_KEK_: "c",
      DROVER_KEK_2: {},
      OTHER: "d",
    };
    expect(wrappingKeysIn(bindings)).toEqual({ DROVER_KEK_1: "a" });
  });
});

describe("a request token (oidc.md#request-tokens)", () => {
  const host = randomBytes(32);
  const token = requestToken(host, "default-9b6c-1", "build-17/main/1.2");

  test("says and proves which attempt it is", () => {
    const claim = readRequestToken(token);
    expect(claim).toMatchObject({ worker: "default-9b6c-1", attempt: "build-17/main/1.2" });
    expect(claim && isProven(host, claim)).toBe(true);
    expect(claim && isProven(randomBytes(32), claim)).toBe(false);
    expect(token).toMatch(/^[\w.~+/=-]+$/);
  });

  test.each([
    ["another attempt", token.replace("1.2", "1.3")],
    ["another worker", token.replace("9b6c-1", "9b6c-2")],
  ])("%s is not proven", (_, changed) => {
    const claim = readRequestToken(changed);
    expect(claim && isProven(host, claim)).toBe(false);
  });

  test.each([
    ["nothing", ""],
    ["a token of the API", `drv_${"0".repeat(48)}`],
    ["a part", token.slice(0, -1)],
    ["more", `${token}0`],
    ["another form of an attempt", token.replace("/main/", "/../")],
  ])("%s is none", (_, text) => {
    expect(readRequestToken(text)).toBeUndefined();
  });
});
