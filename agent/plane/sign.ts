// How does a host sign a call, and check who has answered (protocol.md)?
import { randomBytes, randomUUID } from "node:crypto";
import { answerKey, verifiedAnswer } from "../../src/signing/answer.ts";
import type { Key } from "../../src/signing/mac.ts";
import { type Purpose, type SignedHeaders, signatureIn, signRequest } from "../../src/signing/request.ts";
import type { Answer } from "./http.ts";

/** The signer: a host with its secret, or an enrolling machine with its code. */
export interface Signer {
  key: Key;
  keyid: string;
}

/** A signed call, which can check its answer. */
export interface SignedCall {
  headers: SignedHeaders;
  /** In base64, as in the header. */
  signature: string;
  /** The time in the signature, in seconds since 1970. */
  created: number;
  /** When the answer was signed, in seconds since 1970; undefined if it is not from the control plane. */
  proofOf(answer: Pick<Answer, "status" | "headers" | "body">): number | undefined;
}

/**
 * Signs a call with a new nonce. `digest`: the value of `Content-Digest` for the call's body. `atMs`: the
 * sender's time, in milliseconds since 1970.
 */
export function signCall(
  { key, keyid }: Signer,
  method: string,
  url: string,
  purpose: Purpose,
  digest: string,
  atMs: number,
): SignedCall {
  const { pathname: path, search: query } = new URL(url);
  const params = { created: Math.floor(atMs / 1_000), nonce: randomUUID(), keyid, purpose };
  const headers = signRequest(key, { method, path, query }, digest, params);
  const signature = signatureIn(headers.signature) ?? "";
  return {
    headers,
    signature,
    created: params.created,
    proofOf: ({ status, headers: sent, body }) => {
      const header = (name: string) => {
        const value = sent[name];
        return typeof value === "string" ? value : undefined;
      };
      return verifiedAnswer(answerKey(key, signature), keyid, { status, body, header });
    },
  };
}

/** A host's part of its secret, besides the code: 32 random bytes, in base64. */
export function makeSalt(): string {
  return randomBytes(32).toString("base64");
}
