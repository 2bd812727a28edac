import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ProviderFailure } from "../../src/core/provider-answers.ts";
import { endpointOf } from "../../src/providers/ec2/calls.ts";
import { ec2Provider } from "../../src/providers/ec2/provider.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { KEYS, startEc2 } from "./ec2-fake.ts";
import {
  accountOf,
  configOf,
  listed,
  made,
  providerOf,
  START,
  TIMEOUT_MS,
  theOne,
  wanted,
} from "./support/ec2.ts";

// What can be wrong with the configuration, the keys, the clock and the network: every call ends with a
// classified reason that says what to do, and never with an exception.

const MINUTE_MS = 60_000;
const started = () => startEc2({ startAt: START });
const MACHINE = { id: "i-00000000000000001", worker: "w-1", zone: null };

/** How each call of the contract fails. */
async function failuresOf(provider: Provider): Promise<(ProviderFailure | string | undefined)[]> {
  const answers = [
    await provider.create(wanted("w-1")),
    await provider.list("drover-pool:p", []),
    await provider.destroy(MACHINE),
    await provider.prices?.([{ type: "m7i.large", spot: true }]),
  ];
  const failures = answers.map((answer) => (answer?.kind === "failed" ? answer.failure : undefined));
  const found = await provider.find(MACHINE);
  return [...failures, found.kind === "unsure" ? found.text : undefined];
}

describe("keys that are wrong", () => {
  it.each<[string, object | string, RegExp]>([
    ["an unknown key", { ...KEYS, accessKeyId: "AKIANOBODY" }, /^AuthFailure: AWS was not able to validate/],
    [
      "a wrong secret",
      { ...KEYS, secretAccessKey: "topsecret" },
      /^SignatureDoesNotMatch: .*Check your AWS Secret/,
    ],
    ["a session that is not this one", { ...KEYS, sessionToken: "topsecret" }, /^AuthFailure/],
    ["a text that is none", "topsecret", /must be \{"accessKeyId": "AKIA…", "secretAccessKey": "…"\}/],
  ])("%s: every call is refused for the keys", async (_what, keys, text) => {
    const fake = await started();
    const credentials = typeof keys === "string" ? keys : JSON.stringify(keys);
    const provider = ec2Provider({ config: configOf(fake), credentials }, () => fake.cloud.now);
    const failures = await failuresOf(provider);
    for (const failure of failures.slice(0, 4)) {
      expect(failure).toMatchObject({ class: "auth", refused: true, text: expect.stringMatching(text) });
    }
    expect(failures[4]).toMatch(text);
    expect(JSON.stringify(failures)).not.toContain("topsecret");
    expect(fake.cloud.living).toEqual([]);
  });

  it("a session that is the right one", async () => {
    const fake = await started();
    const keys = { ...KEYS, sessionToken: "FwoGZXIvYXdzEHMaDK+/=" };
    fake.cloud.keys.splice(0, 1, keys);
    await made(providerOf(fake, {}, keys), "w-1");
  });

  it("keys that were replaced: the next call with the new ones works", async () => {
    const fake = await started();
    const rotated = { accessKeyId: "AKIAROTATED", secretAccessKey: "another" };
    await made(providerOf(fake), "w-1");
    fake.cloud.keys.splice(0, 1, rotated);
    expect(await providerOf(fake).list("drover-pool:p", [])).toMatchObject({ failure: { class: "auth" } });
    const provider = providerOf(fake, {}, rotated);
    expect((await listed(provider)).items).toHaveLength(1);
    expect(await provider.destroy({ ...MACHINE, id: theOne(fake, "w-1").id })).toEqual({ kind: "asked" });
  });
});

describe("a clock that is wrong", () => {
  const answers = ["RequestExpired", "AuthFailure", "SignatureDoesNotMatch"] as const;
  it.each(
    answers.flatMap((answer) => [
      [answer, 61 * MINUTE_MS, "1h1m ahead of"] as const,
      [answer, -61 * MINUTE_MS, "1h1m behind"] as const,
    ]),
  )("is named whatever EC2 calls it: %s", async (answer, offMs, way) => {
    const fake = await started();
    fake.cloud.faults.skewAnswer = answer;
    const provider = ec2Provider(accountOf(fake), () => fake.cloud.now + offMs);
    for (const failure of (await failuresOf(provider)).slice(0, 4)) {
      const text = expect.stringContaining(`The clock of this Drover is ${way} Amazon's: set it right`);
      expect(failure).toMatchObject({ class: "auth", refused: true, text });
      expect(failure).toHaveProperty("text", expect.stringContaining(answer));
    }
  });

  it("but four minutes are none, and other errors do not speak of clocks", async () => {
    const fake = await started();
    const late = ec2Provider(accountOf(fake), () => fake.cloud.now - 4 * MINUTE_MS);
    await made(late, "w-1");
    fake.cloud.faults.errors.push("AuthFailure", "InvalidGroup.NotFound");
    const [first, second] = [await late.create(wanted("w-2")), await late.create(wanted("w-2"))];
    expect(JSON.stringify([first, second])).not.toContain("clock");
  });
});

describe("a region", () => {
  it.each([
    ["eu-west-1", "https://ec2.eu-west-1.amazonaws.com"],
    ["us-gov-west-1", "https://ec2.us-gov-west-1.amazonaws.com"],
    ["cn-north-1", "https://ec2.cn-north-1.amazonaws.com.cn"],
    ["eusc-de-east-1", "https://ec2.eusc-de-east-1.amazonaws.eu"],
  ])("%s is called at %s", (region, url) => {
    const { endpoint: _, ...config } = configOf({ url }, { region });
    expect(endpointOf(config)).toBe(url);
  });

  it("that is another one than the address has is refused for the keys, and named", async () => {
    const fake = await started();
    const [failure] = await failuresOf(providerOf(fake, { region: "us-east-1" }));
    expect(failure).toMatchObject({ class: "auth", text: expect.stringContaining("not 'us-east-1'") });
  });

  it.each(["eu-west", "evil.test/", "eu-west-1.evil", "EU-WEST-1", ""])(
    "is refused when put: %j",
    (region) => {
      expect(() => configOf({ url: "http://127.0.0.1" }, { region })).toThrow(/name of a region/);
    },
  );

  it("that is not there is a name that cannot be resolved", async () => {
    const config = configOf({ url: "https://ec2.eu-nowhere-1.invalid" });
    const provider = ec2Provider({ config, credentials: JSON.stringify(KEYS) }, () => START, TIMEOUT_MS);
    const [failure] = await failuresOf(provider);
    expect(failure).toMatchObject({
      class: "temporary",
      unreached: true,
      text: expect.stringContaining("eu-nowhere-1"),
    });
  });
});

describe("an answer that is none of EC2's", () => {
  it.each([
    ["html", /it is a web page, not XML/, false],
    ["html-503", /EC2 answered 503 without a code: <!DOCTYPE html>/, false],
    ["cut", /it ends in the middle/, false],
    ["huge", /more than 16777216 bytes/, true],
  ] as const)("%s: nothing is believed, and a create may have worked", async (body, text, unreached) => {
    const fake = await started();
    fake.cloud.faults.bodies = [body, body, body, body, body];
    for (const failure of (await failuresOf(providerOf(fake))).slice(0, 4)) {
      expect(failure).toMatchObject({ class: "temporary", text: expect.stringMatching(text) });
      expect(failure).not.toHaveProperty("refused");
      expect((failure as ProviderFailure).unreached ?? false).toBe(unreached);
    }
    expect(fake.cloud.faults.bodies).toEqual([]);
    // What was made by a call without an answer is found.
    expect((await listed(providerOf(fake))).items).toMatchObject([{ name: "w-1" }]);
  });

  /** A service that gives one answer to everything. */
  async function serving(answer: (response: ServerResponse) => void): Promise<Provider> {
    const server = createServer((_, response) => answer(response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    return ec2Provider(accountOf({ url: `http://127.0.0.1:${port}` }), () => START, 300);
  }
  const says =
    (status: number, body: string, headers = {}) =>
    (response: ServerResponse): void =>
      void response.writeHead(status, headers).end(body);
  const answerOf = (name: string, inside = "") => `<${name}Response>${inside}</${name}Response>`;

  it.each<[string, (response: ServerResponse) => void, RegExp, boolean]>([
    ["nothing, ever", () => {}, /took too long to answer/, false],
    ["nothing: it hangs up", (response) => void response.destroy(), /nobody answered/, false],
    [
      "half",
      (response) => {
        response.writeHead(200, { "content-length": "99" }).write("<", () => response.destroy());
      },
      /nobody answered/,
      false,
    ],
    [
      "another place",
      says(307, "", { location: "http://127.0.0.1:1/" }),
      /EC2 answered 307 without a code: its answer is empty/,
      true,
    ],
    ["a proxy's refusal", says(403, "<html>Forbidden</html>"), /EC2 answered 403 without a code/, true],
    ["JSON", says(500, '{"message":"boom"}'), /EC2 answered 500 without a code: \{"message":"boom"\}/, false],
    [
      "the answer to another call",
      says(200, answerOf("DescribeVpcs")),
      /it is a `DescribeVpcsResponse`/,
      false,
    ],
    [
      "an answer without a code",
      says(500, "<Response><Errors><Error/></Errors></Response>"),
      /EC2 answered 500 without a code/,
      false,
    ],
    [
      "another form of error",
      says(400, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>"),
      /^Throttling: $/,
      true,
    ],
  ])("%s", async (_what, answer, text, refused) => {
    const provider = await serving(answer);
    const [failure] = await failuresOf(provider);
    expect((failure as ProviderFailure).text).toMatch(text);
    expect((failure as ProviderFailure).refused ?? false).toBe(refused);
  });

  it.each([
    ["RunInstances", (provider: Provider) => provider.create(wanted("w-1")), /it names no machine/],
    ["DescribeInstances", (provider: Provider) => provider.list("a:b", []), /it has no `reservationSet`/],
    [
      "DescribeSpotPriceHistory",
      (provider: Provider) => provider.prices?.([{ type: "a", spot: true }]),
      /no `spotPriceHistorySet`/,
    ],
  ])("an empty answer to %s", async (name, call, text) => {
    const answer = await call(await serving(says(200, answerOf(name))));
    expect(answer).toMatchObject({
      kind: "failed",
      failure: { class: "temporary", text: expect.stringMatching(text) },
    });
  });

  it("a page that repeats a secret shows no part of it, wherever the page is cut", async () => {
    const secret = KEYS.secretAccessKey;
    for (const before of [150, 170, 180, 190, 196]) {
      const [failure] = await failuresOf(await serving(says(502, "x".repeat(before) + secret)));
      expect((failure as ProviderFailure).text).toContain("x".repeat(before));
      expect((failure as ProviderFailure).text).not.toContain(secret.slice(0, 4));
    }
  });

  it("a pause that is asked for is kept, within bounds", async () => {
    const throttled =
      "<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>";
    for (const [after, ms] of [
      ["7", 7_000],
      ["86400", 3_600_000],
    ] as const) {
      const [failure] = await failuresOf(await serving(says(503, throttled, { "retry-after": after })));
      expect(failure).toMatchObject({ class: "rate_limit", retryAfterMs: ms });
    }
  });

  it("a machine that cannot be read hides no other, and is named", async () => {
    const instance = (id: string, state: string) =>
      `<item><instanceId>${id}</instanceId><instanceState><name>${state}</name></instanceState>` +
      "<instanceType>a</instanceType><launchTime>2026-11-22T10:00:00Z</launchTime></item>";
    const both = instance("i-1", "odd") + instance("i-2", "running");
    const set = `<item><instancesSet>${both}</instancesSet></item>`;
    const inside = `<reservationSet>${set}</reservationSet>`;
    const provider = await serving(says(200, answerOf("DescribeInstances", inside)));
    expect(await provider.list("a:b", [])).toMatchObject({
      kind: "listed",
      items: [{ id: "i-2" }],
      partial: { why: 'machine i-1 is invalid: its state is "odd"' },
    });
    expect(await provider.find({ id: null, worker: "w-1", zone: null })).toMatchObject({ kind: "unsure" });
    expect(await provider.find(MACHINE)).toMatchObject({ kind: "unsure" });
  });

  it("errors by chance, from one seed, end in one machine for each token", async () => {
    const fake = await started();
    fake.cloud.faults.errorRate = { code: "InternalError", part: 0.4 };
    const provider = providerOf(fake);
    const tokens = Array.from({ length: 20 }, (_, at) => `w-${at}`);
    for (const token of tokens) {
      let answer = await provider.create(wanted(token));
      while (answer.kind !== "created") answer = await provider.create(wanted(token));
    }
    expect(fake.cloud.living).toHaveLength(tokens.length);
    expect(fake.cloud.calls.some(({ code }) => code === "InternalError")).toBe(true);
  });
});
