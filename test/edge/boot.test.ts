import { beforeEach, describe, expect, test } from "vitest";
import { MAX_BOOT_RECORD_BYTES } from "../../src/shared/cloud/boot-steps.ts";
import { bootToken } from "../../src/signing/boot-token.ts";
import { enrollmentCode, readCode } from "../../src/signing/code.ts";
import { createEdge, type Edge, type Json, SIGNING_KEY } from "./support/edge.ts";

// The routes of machines that boot (clouds.md#boot-record, clouds.md#booting).

const HOUR = 3_600_000;
const RECORD = "boot a\n0.5 begin its script has begun\n1 now\n";

let edge: Edge;
let address = 0;
beforeEach(() => {
  edge = createEdge();
  address += 1;
});

const token = (ms = HOUR, key = SIGNING_KEY) => bootToken(enrollmentCode("w1", Date.now() + ms, key));

async function send(text: string, bearer: string | undefined): Promise<[status: number, code?: string]> {
  const headers = {
    "content-type": "text/plain",
    "cf-connecting-ip": `192.0.2.${address}`,
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  };
  const answer = await edge.send("POST", "/v1/hosts/boot", headers, text);
  if (answer.status === 204) return [204];
  const { code }: Json = await answer.json();
  return [answer.status, code];
}

describe("a machine that boots", () => {
  test("reports to its worker", async () => {
    expect(await send(RECORD, token())).toEqual([204]);
    expect(edge.boots).toEqual([RECORD]);
  });

  test("has a token that does not contain the code, nor the key in it", () => {
    const code = enrollmentCode("w1", Date.now() + HOUR, SIGNING_KEY);
    const [, , secret = ""] = code.split(".");
    expect(bootToken(code)).not.toContain(secret);
    expect(readCode(bootToken(code))).toBeUndefined();
  });

  test.each<[string, () => string | undefined]>([
    ["none", () => undefined],
    ["one that has expired", () => token(-1_000)],
    ["that of another Drover", () => token(HOUR, "another key")],
    ["that of another worker", () => token().replace("w1", "w2")],
    ["its code", () => enrollmentCode("w1", Date.now() + HOUR, SIGNING_KEY)],
    ["the token of an administrator", () => edge.adminToken],
  ])("is refused with a wrong token: %s", async (_what, wrong) => {
    expect(await send(RECORD, wrong())).toEqual([401, "unauthorized"]);
    expect(edge.boots).toEqual([]);
  });

  test("is told if its record is too large", async () => {
    const large = `boot a\n${"1 output x\n".repeat(MAX_BOOT_RECORD_BYTES / 10)}`;
    expect(await send(large, token())).toEqual([413, "body_too_large"]);
  });

  test("who guesses tokens is turned away after a few", async () => {
    const answers = [];
    for (let tries = 0; tries < 12; tries += 1)
      answers.push((await send(RECORD, token(HOUR, `k${tries}`)))[0]);
    expect(answers.at(-1)).toBe(429);
    expect(await send(RECORD, token())).toEqual([429, "too_many_requests"]);
  });
});

describe("Node for a machine without it", () => {
  test("comes from the bucket, if somebody has put it there", async () => {
    const there = await edge.send("GET", "/node/node.tar.xz", {});
    expect([there.status, await there.text()]).toEqual([200, "an archive"]);
    const missing = await edge.send("GET", "/node/other.tar.xz", {});
    const problem: Json = await missing.json();
    expect([missing.status, problem.code]).toEqual([404, "not_found"]);
  });
});
