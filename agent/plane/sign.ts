import { randomBytes, randomUUID } from "node:crypto";
import { answerKey, verifiedAnswer } from "../../src/signing/answer.ts";
import type { Key } from "../../src/signing/mac.ts";
import { type Purpose, type SignedHeaders, signatureIn, signRequest } from "../../src/signing/request.ts";
import type { Answer } from "./http.ts";

/** Who signs: a host by its secret, or a machine that enrolls by its code. */
export interface Signer {
  key: Key;
  keyid: string;
}

/** What is to be signed. `digest`: the value of `Content-Digest` of its body. */
export interface Signable {
  method: string;
  url: string;
  purpose: Purpose;
  digest: string;
}

/** A call that has been signed, and the proof of its answer. */
export interface SignedCall {
  headers: SignedHeaders;
  /** In base64, as it stands in the header. */
  signature: string;
  /** When it says that it was signed, in seconds since 1970. */
  created: number;
  /** When its answer was signed, in seconds since 1970; undefined if nobody knows whose answer it is. */
  proofOf(answer: Pick<Answer, "status" | "headers" | "body">): number | undefined;
}

/** Signs a call, by the sender's time in milliseconds since 1970. No two are signed the same. */
export function signCall({ key, keyid }: Signer, { method, url, purpose, digest }: Signable, atMs: number) {
  const { pathname: path, search: query } = new URL(url);
  const params = { created: Math.floor(atMs / 1_000), nonce: randomUUID(), keyid, purpose };
  const headers = signRequest(key, { method, path, query }, digest, params);
  const signature = signatureIn(headers.signature) ?? "";
  const call: SignedCall = {
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
  return call;
}

/** What a host adds to its code, to make a secret that nobody else has: 32 random bytes, in base64. */
export function makeSalt(): string {
  return randomBytes(32).toString("base64");
}
