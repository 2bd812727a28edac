import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { answerKey, signAnswer, verifiedAnswer } from "../../src/signing/answer.ts";
import { enrollmentCode, hostSecret, readClaim, readCode } from "../../src/signing/code.ts";
import { challengeIn, type Speaker, sealed, sessionKey, unsealed } from "../../src/signing/frame.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { claimedRequest, isSignedWith, type SignedHeaders, signRequest } from "../../src/signing/request.ts";

// The test vectors of docs/design/protocol.md, by our code and by nothing but Node's HMAC.

const PAGE = readFileSync(new URL("../../docs/design/protocol.md", import.meta.url), "utf8");
const VECTORS = JSON.parse(/```json\n([\s\S]*?)\n```/.exec(PAGE)?.[1] ?? "");
const { code, codeKey, signingKey, salt, secret, report, answer, session } = VECTORS;

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest("base64");
const bytes = (base64: string) => Buffer.from(base64, "base64");
const digest = (body: string) => `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;

describe("the vectors, by HMAC alone", () => {
  test("a code, its key and the secret that it makes", () => {
    const [, claim = "", mac = ""] = /^drvc_(.*)\.([\w-]+)$/.exec(code) ?? [];
    expect(hmac(signingKey, `drvc_${claim}`)).toBe(codeKey);
    expect(Buffer.from(mac, "base64url").toString("base64")).toBe(codeKey);
    expect(hmac(bytes(codeKey), `drover-host-secret\n${salt}`)).toBe(secret);
  });

  test.each(["enroll", "report", "socket"])("the call %s", (name) => {
    const call = VECTORS[name];
    const [, params] = /^drover=(.*)$/.exec(call["signature-input"]) ?? [];
    const lines = [
      `"@method": ${call.method}`,
      `"@path": ${call.path}`,
      `"@query": ${call.query || "?"}`,
      `"content-digest": ${digest(call.body)}`,
      `"@signature-params": ${params}`,
    ];
    expect(call.base).toBe(lines.join("\n"));
    const key = bytes(name === "enroll" ? codeKey : secret);
    expect(call.signature).toBe(`drover=:${hmac(key, call.base)}:`);
  });

  test("the answer to the report", () => {
    const key = hmac(bytes(secret), `drover-answer\n${report.signature.slice(8, -1)}`);
    expect(key).toBe(answer.key);
    expect(answer["content-digest"]).toBe(digest(answer.body));
    expect(answer.signature).toBe(`drover=:${hmac(bytes(key), answer.base)}:`);
  });

  test("a session and its frames", () => {
    const { challenge, key, frames } = session;
    const signature = VECTORS.socket.signature.slice(8, -1);
    expect(hmac(bytes(secret), `drover-socket\n${signature}\n${challenge}`)).toBe(key);
    for (const { by, number, body, frame } of frames) {
      expect(frame).toBe(`${number} ${hmac(bytes(key), `${by}\n${number}\n${body}`)}\n${body}`);
    }
  });
});

describe("the vectors, by our code", () => {
  test("a code and the secret that it makes", () => {
    expect(enrollmentCode("lab-1", 1_800_000_000_000, signingKey)).toBe(code);
    const read = readCode(code);
    expect(read?.claim).toBe("lab-1.1800000000");
    expect(readClaim(read?.claim ?? "")).toEqual({ worker: "lab-1", expiresAt: 1_800_000_000_000 });
    expect(hostSecret(read?.key ?? new Uint8Array(), salt)).toBe(secret);
  });

  test.each(["enroll", "report", "socket"])("the call %s", (name) => {
    const { method, path, query, ...call } = VECTORS[name];
    const claim = claimedRequest({ method, path, query }, (header) => call[header]);
    if (claim === undefined) throw new Error("it is not in the form that there is");
    expect(claim.base).toBe(call.base);
    const key = keyOf(name === "enroll" ? codeKey : secret);
    expect(isSignedWith(key, claim)).toBe(true);
    const again = signRequest(key, { method, path, query }, call["content-digest"], claim);
    for (const header of Object.keys(again)) expect(Reflect.get(again, header)).toBe(call[header]);
  });

  test("the answer to the report, and to no other call", () => {
    const key = answerKey(keyOf(secret), report.signature.slice(8, -1));
    expect(signAnswer(key, answer, { created: 1_799_999_002, keyid: "lab-1" })).toMatchObject({
      signature: answer.signature,
    });
    const header = (name: keyof SignedHeaders) => answer[name];
    const { status, body } = answer;
    expect(verifiedAnswer(key, "lab-1", { status, body, header })).toBe(1_799_999_002);
    const others = [
      verifiedAnswer(answerKey(keyOf(secret), codeKey), "lab-1", { status, body, header }),
      verifiedAnswer(key, "lab-2", { status, body, header }),
      verifiedAnswer(key, "lab-1", { status: 409, body, header }),
      verifiedAnswer(key, "lab-1", { status, body: `${body} `, header }),
      verifiedAnswer(key, "lab-1", { status, body, header: () => undefined }),
    ];
    expect(others).toEqual(others.map(() => undefined));
  });

  test("a session and its frames, each at its place and by its speaker only", () => {
    const { challenge, key, frames } = session;
    expect(challengeIn(frames[0].frame)).toBe(challenge);
    expect(sessionKey(keyOf(secret), VECTORS.socket.signature.slice(8, -1), challenge)).toBe(key);
    for (const { by, number, body, frame } of frames as {
      by: Speaker;
      number: number;
      body: string;
      frame: string;
    }[]) {
      expect(sealed(key, by, number, body)).toBe(frame);
      expect(unsealed(key, by, number, frame)).toBe(body);
      const wrong = [
        unsealed(key, by === "host" ? "plane" : "host", number, frame),
        unsealed(key, by, number + 1, frame),
        unsealed(codeKey, by, number, frame),
        unsealed(key, by, number, `${frame} `),
        unsealed(key, by, number, `0${frame}`),
      ];
      expect(wrong).toEqual(wrong.map(() => undefined));
    }
  });
});
