import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keysIn } from "../../src/providers/ec2/keys.ts";
import { signed, type Unsigned } from "../../src/providers/ec2/sign.ts";
import { checkSignature } from "./ec2-fake-signature.ts";

// Signatures of AWS, version 4 (clouds/ec2.md#signature): as Amazon has published them, and as the fake wants
// them, which was written apart from ours.

const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const AT = Date.UTC(2015, 7, 30, 12, 36, 0);
const SCOPE = { region: "us-east-1", service: "service" };
const TOKEN =
  "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfp" +
  "SPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQ" +
  "DYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+s" +
  "cqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

describe("Amazon's published requests get Amazon's published signatures", () => {
  it.each<[string, Partial<Unsigned>, { sessionToken?: string }, string, string]>([
    [
      "get-vanilla",
      { method: "GET" },
      {},
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "post-vanilla",
      {},
      {},
      "host;x-amz-date",
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ],
    [
      "post-x-www-form-urlencoded",
      { headers: FORM, body: "Param1=value1" },
      {},
      "content-type;host;x-amz-date",
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ],
    [
      "post-sts-header-before",
      {},
      { sessionToken: TOKEN },
      "host;x-amz-date;x-amz-security-token",
      "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    ],
  ])("%s", async (_name, request, own, names, signature) => {
    const whole: Unsigned = {
      method: "POST",
      url: "https://example.amazonaws.com/",
      headers: {},
      body: "",
      ...request,
    };
    const { authorization } = await signed(whole, { ...KEYS, ...own }, SCOPE, AT);
    expect(authorization).toBe(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        `SignedHeaders=${names}, Signature=${signature}`,
    );
  });
});

/** The headers as they arrive, with that which `fetch` adds. */
async function arrived(request: Unsigned, keys: typeof KEYS & { sessionToken?: string }, at: number) {
  const headers = await signed(request, keys, { region: "eu-west-1", service: "ec2" }, at);
  return { ...headers, host: new URL(request.url).host };
}

describe("a signature of ours is one that the fake wants, and no other is", () => {
  const key = fc.stringMatching(/^[!-~]{1,80}$/);
  const request = fc.record({
    method: fc.constant("POST"),
    url: fc.constantFrom(
      "https://ec2.eu-west-1.amazonaws.com/",
      "http://127.0.0.1:4566/",
      "https://x.test/a/b/",
    ),
    headers: fc.constant(FORM),
    body: fc.string({ unit: "binary", maxLength: 200 }),
  });
  const keys = fc.record({
    accessKeyId: fc.stringMatching(/^\w{1,40}$/),
    secretAccessKey: key,
    sessionToken: fc.option(key, { nil: undefined }),
  });
  const check = (sent: Unsigned, headers: Record<string, string>, known: typeof KEYS, now: number) => {
    const { method, url, body } = sent;
    const asked = { method, path: new URL(url).pathname, headers, body };
    checkSignature(asked, { keys: [known], region: "eu-west-1", now, skewAnswer: "RequestExpired" });
  };

  it("for any keys, address, time and body", async () => {
    const times = fc.date({ min: new Date(0), max: new Date("2090-01-01"), noInvalidDate: true });
    await fc.assert(
      fc.asyncProperty(request, keys, times, async (sent, { sessionToken, ...rest }, time) => {
        const own = sessionToken === undefined ? rest : { ...rest, sessionToken };
        const headers = await arrived(sent, own, time.getTime());
        check(sent, headers, own, time.getTime());
      }),
    );
  });

  it.each<[string, (headers: Record<string, string>) => [Unsigned, Record<string, string>]]>([
    ["of another body", (headers) => [{ ...SENT, body: "Action=TerminateInstances" }, headers]],
    ["of another host", (headers) => [SENT, { ...headers, host: "evil.test" }]],
    ["of another type", (headers) => [SENT, { ...headers, "content-type": "text/plain" }]],
    ["with another token", (headers) => [SENT, { ...headers, "x-amz-security-token": "x" }]],
    ["at another time", (headers) => [SENT, { ...headers, "x-amz-date": "20260101T000001Z" }]],
  ])("not %s", async (_what, change) => {
    const at = Date.UTC(2026, 0, 1);
    const [sent, headers] = change(await arrived(SENT, KEYS, at));
    expect(() => check(sent, headers, KEYS, at)).toThrow();
  });

  const SENT: Unsigned = {
    method: "POST",
    url: "https://ec2.eu-west-1.amazonaws.com/",
    headers: FORM,
    body: "a=b",
  };
});

describe("credentials are JSON of one form, and a text of another form is not quoted", () => {
  it.each([
    [
      "a key alone",
      '{"accessKeyId":"AKIA1","secretAccessKey":"s/+="}',
      { accessKeyId: "AKIA1", secretAccessKey: "s/+=" },
    ],
    [
      "a temporary key, with more than is needed, and a line feed",
      '{"accessKeyId":"ASIA1","secretAccessKey":"s","sessionToken":"t","expiration":"2026"}\n',
      { accessKeyId: "ASIA1", secretAccessKey: "s", sessionToken: "t" },
    ],
  ])("%s", (_what, text, keys) => {
    expect(keysIn(text)).toEqual({ keys });
  });

  it.each([
    ["nothing", "", /are not JSON of this form/],
    ["a bare key", "AKIATOPSECRET", /are not JSON of this form/],
    [
      "Amazon's own spelling",
      '{"AccessKeyId":"AKIATOPSECRET","SecretAccessKey":"TOPSECRET"}',
      /`accessKeyId`/,
    ],
    ["a key with a blank", '{"accessKeyId":"AKIA1","secretAccessKey":"TOP SECRET"}', /`secretAccessKey`/],
    [
      "a token with a line feed",
      '{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"TOPSECRET\\n"}',
      /`sessionToken`/,
    ],
    ["a list", '["TOPSECRET"]', /are not JSON/],
  ])("%s", (_what, text, says) => {
    const read = keysIn(text);
    const failure = "failure" in read ? read.failure : undefined;
    expect(failure).toMatchObject({ class: "auth", refused: true, text: expect.stringMatching(says) });
    expect(failure?.text).toContain('"secretAccessKey": "…"');
    expect(failure?.text).not.toMatch(/TOP ?SECRET/);
  });
});
